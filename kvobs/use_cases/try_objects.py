"""Ask the API server whether it would take objects, without a change: a dry-run of each.

What would differ from what stands is another question (`compare`); here it is who refuses, and who does not answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from ..errors import ApiError, Conflict, Forbidden, KvobsError, Unanswered
from ..stack.checks.evidence import DryRun, Refusal, RefusalKind, Slow
from ..stack.facts import Facts, Object, Ref
from ..stack.objects import OURS, kind_of, ref
from ..stack.ownership import TAKE
from ..stack.rights import Right
from ..stack.secret_names import masked

_LATER = ("NotFound",)
"""Reasons that speak of something that an earlier step makes: a namespace, the role of a binding."""
_GRANTS = "attempting to grant"
_NO_DRY_RUN = "does not support dry run"
_BUSY = (429, 500, 502, 503, 504)

SLOW_S = 5.0
"""What takes longer waits for somebody. The API server waits for a webhook 10 s, or as long as that says."""
_ENOUGH = 3
"""After so many slow kinds no more are asked about: each may take half a minute."""


class TryCluster(Protocol):
    """What a dry-run needs of an API server."""

    def apply(
        self, obj: Object, *, dry_run: bool = False, force: bool = False, field_manager: str = OURS
    ) -> Object: ...


def try_objects(
    cluster: TryCluster,
    objects: Iterable[Object],
    facts: Facts,
    *,
    lacking: Iterable[Right] = (),
    force: bool = False,
    field_manager: str = OURS,
    secrets: Sequence[str] = (),
    clock: Callable[[], float] = time.monotonic,
) -> DryRun:
    """Return what the API server says of *objects*; *force*: as if no field belonged to anybody else.

    The server quotes what it refuses: texts among *secrets* are left out of what it says.
    Those that take a right which is *lacking* are not asked about, nor the others of a kind about which an answer
    took long or did not come.
    """
    taken = 0
    later: list[Ref] = []
    forbidden: list[Ref] = []
    without = {(each.kind, each.namespace) for each in lacking}
    refusals: list[Refusal] = []
    slow: dict[str, Slow] = {}
    silent: set[str] = set()
    for each in objects:
        at = ref(each)
        if at.kind in slow or at.kind in silent:
            continue
        if not _can_be_asked(at, facts):
            later.append(at)
            continue
        if (at.kind, at.namespace) in without:
            forbidden.append(at)
            continue
        if len(slow) == _ENOUGH:
            silent.add(at.kind)
            said = f"{at} was not asked about, since the API server takes long to answer"
            refusals.append(Refusal(ref=at, kind="no answer", said=said))
            continue
        began = clock()
        try:
            # A namespace is never taken over.
            taking = force and at.kind != "Namespace"
            cluster.apply(each, dry_run=True, force=taking, field_manager=field_manager)
        except Unanswered as error:
            silent.add(at.kind)
            refusals.append(_refusal(at, "no answer", error, secrets))
        except ApiError as error:
            if error.status in _BUSY and "webhook" not in str(error):
                silent.add(at.kind)
                refusals.append(_refusal(at, "no answer", error, secrets))
            elif error.reason in _LATER or _NO_DRY_RUN in str(error):
                later.append(at)
            else:
                refusals.append(_refusal(at, _kind(error), error, secrets))
        else:
            taken += 1
        if (seconds := clock() - began) > SLOW_S:
            slow[at.kind] = Slow(ref=at, seconds=seconds)
    return DryRun(
        taken=taken,
        later=tuple(later),
        forbidden=tuple(forbidden),
        refusals=tuple(refusals),
        slow=tuple(slow.values()),
    )


def together(*runs: DryRun) -> DryRun:
    """Return several dry-runs as one."""
    return DryRun(
        taken=sum(each.taken for each in runs),
        later=tuple(at for each in runs for at in each.later),
        forbidden=tuple(at for each in runs for at in each.forbidden),
        refusals=tuple(refusal for each in runs for refusal in each.refusals),
        slow=tuple(slow for each in runs for slow in each.slow),
    )


def _can_be_asked(at: Ref, facts: Facts) -> bool:
    """Whether its kind and its namespace are there."""
    known = not at.namespace or at.namespace in facts.namespaces or "Namespace" in facts.unasked
    return at.kind in facts.kinds and known


def _kind(error: ApiError) -> RefusalKind:
    return "grants" if isinstance(error, Forbidden) and _GRANTS in str(error) else "refused"


def _refusal(at: Ref, kind: RefusalKind, error: KvobsError, secrets: Sequence[str]) -> Refusal:
    said, hint = str(error), error.hint or ""
    if kind == "no answer":
        said = f"{at}, asked about without a change: {said}"
    if isinstance(error, Conflict) and error.fields and at.kind != "Namespace":
        hint = f"{hint}; {TAKE}" if hint else TAKE
    return Refusal(ref=at, kind=kind, said=masked(said, secrets), hint=masked(hint, secrets))


_EACH = ("apps", "batch", "rbac.authorization.k8s.io")
"""Groups of which every object is worth a question: policies tell workloads apart, roles differ in what they grant."""
_NEVER = ("Secret",)
"""What a chart makes up for a Secret does not travel for a question."""


def worth_trying(objects: Iterable[Object]) -> list[Object]:
    """Return of a chart's *objects* every workload and role, and one of each other kind."""
    chosen: list[Object] = []
    seen: set[str] = set()
    for each in objects:
        kind = kind_of(each)
        if kind in _NEVER:
            continue
        if kind.partition(".")[2] in _EACH or kind not in seen:
            seen.add(kind)
            chosen.append(each)
    return chosen
