"""What the checks judge: one look at a cluster, and what else was asked. A part that is None was not asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ..facts import Facts, Object, Ref
from ..plan import Plan
from ..rights import Right

RefusalKind = Literal["refused", "grants", "no answer"]


@dataclass(frozen=True, slots=True)
class Trouble:
    """An error of ours as a value: what was wrong, and what to do."""

    said: str
    hint: str = ""
    asked: bool = True
    """Whether it is an answer; else the question could not be asked."""


@dataclass(frozen=True, slots=True)
class Permit:
    """One verb of a role's rule."""

    verb: str
    group: str
    resource: str
    """A plural with its subresource, or a path that is no resource (`/metrics`)."""
    namespace: str
    """"" for the whole cluster."""

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}{f'.{self.group}' if self.group else ''}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """What the API server said against one object."""

    ref: Ref
    kind: RefusalKind
    """grants: a role grants what the credentials do not hold; no answer: nobody knows whether it would be taken."""
    said: str
    hint: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Slow:
    """An object about which the API server took long to answer, whatever it said."""

    ref: Ref
    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class DryRun:
    """What the API server says of objects that it was asked to apply without doing it."""

    taken: int = 0
    """How many it takes."""
    later: tuple[Ref, ...] = ()
    """Those that cannot be asked about, since their namespace or kind comes with an earlier step."""
    forbidden: tuple[Ref, ...] = ()
    """Those that the credentials may not make or see, so that nothing else is known about them."""
    refusals: tuple[Refusal, ...] = ()
    slow: tuple[Slow, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Crd:
    """A CustomResourceDefinition of the Prometheus Operator."""

    name: str
    operator_version: str | None
    """Version of the operator that it was written for, by its annotation."""
    owner: str | None
    """Who keeps it, in words: `Helm release ns/name`, `Argo CD application x`."""
    holders: tuple[str, ...] = ()
    """Field managers that own its content, but for Helm's own server-side apply."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Webhook:
    """An admission webhook that is asked about objects which the plan makes."""

    configuration: str
    """Kind and name of its configuration, as kubectl takes them."""
    name: str
    service: str
    """`namespace/name` of the Service that should answer."""
    refuses: bool
    """Whether what it is asked about is refused while it does not answer (`failurePolicy: Fail`)."""
    ready: bool
    """Whether a ready pod stands behind the Service."""
    conditional: bool = False
    """Whether it has match conditions, which only the API server can evaluate."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Quotas:
    """The ResourceQuotas of the namespace, and whether a LimitRange gives pods what they do not say."""

    hard: Mapping[str, tuple[str, ...]]
    """Name of the quota -> what it limits: `requests.cpu`, `count/configmaps`."""
    defaults: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """All that one run of the checks has found out."""

    server: str = ""
    """The API server's address, as it may be shown."""
    kubeconfig: Trouble | None = None
    """Why no cluster is named."""
    unreached: Trouble | None = None
    """Why the API server could not be asked."""
    facts: Facts | None = None
    plan: Plan | None = None
    undecided: Trouble | None = None
    """Why there is no plan."""
    lacking: tuple[Right, ...] | Trouble | None = None
    """The rights that the plan takes and the credentials have not."""
    proof: bool | None = None
    """Whether the credentials may ask the Prometheus through the API server; None: not asked, or not told."""
    ungranted: tuple[Permit, ...] = ()
    """What the roles that were refused would grant, and the credentials do not hold."""
    helm: str | Trouble | None = None
    """Helm's version."""
    first_release: bool = False
    """Whether Helm is to install, and not to upgrade."""
    chart: str | Trouble | None = None
    """The chart's version."""
    rendered: tuple[Object, ...] | Trouble | None = field(default=None, repr=False)
    """The objects of the chart; may hold a password that the chart made up."""
    dry_run: DryRun | None = None
    crds: tuple[Crd, ...] | Trouble | None = None
    chart_crds: Mapping[str, str | None] | None = None
    """Name of each CRD of the chart -> its operator's version; asked for where some that are there may differ."""
    webhooks: tuple[Webhook, ...] | Trouble | None = None
    quotas: Quotas | Trouble | None = None
    storage_classes: Mapping[str, bool] | Trouble | None = None
    """Name -> whether it is the default one."""
