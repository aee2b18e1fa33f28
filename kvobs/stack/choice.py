"""Which Prometheus and which Grafana kvobs works for: what is there, what the user asked for, what is ours.

Nothing is guessed. A mixture that this module does not understand is an `Undecided` that names what was found
and the flag that decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..errors import Unanswered, UsageError
from ..settings import DEFAULT_NAMESPACE, DEFAULT_RELEASE, Settings
from .beside import beside_target
from .control_plane import refuse_openshift
from .facts import Facts
from .installs import first_install, parent_of
from .ours import admin_secret_name, foreign_release, our_stack, sidecar_notes
from .record import Record, read_record
from .remembered import recalled
from .reused import reused_stack
from .target import PROMETHEUS_KIND, DesiredRelease, Target

__all__ = [
    "PROMETHEUS_KIND",
    "DesiredRelease",
    "Target",
    "admin_secret_name",
    "choose",
    "foreign_release",
    "parent_of",
    "sidecar_notes",
]


def choose(facts: Facts, settings: Settings) -> Target:
    """Decide which stack is used, from live objects and the record of earlier runs.

    Raises `Undecided` or `Unanswered` (nothing is to be changed), or `UsageError` (a flag contradicts what is
    recorded).
    """
    parent = parent_of(facts, settings.namespace)
    record = read_record(parent) if parent is not None else Record()
    namespace = parent["metadata"]["namespace"] if parent is not None else settings.namespace
    if namespace is not None and (first := first_install(facts.parents, namespace)) is not None:
        _refuse_guess(facts, (PROMETHEUS_KIND,))
        return beside_target(facts, settings, record, namespace=namespace, first=first)
    settings = recalled(settings, record)
    if record.release is not None:
        _refuse_reuse(settings, f"the stack here is our own Helm release {record.release.name}")
        if settings.release not in (DEFAULT_RELEASE, record.release.name):
            raise UsageError(
                f"--release {settings.release}, but kvobs already made release {record.release.name} in namespace"
                f" {record.release.namespace}",
                hint="leave the flag out, or run kvobs uninstall first",
            )
        return our_stack(facts, settings, record, record.release.namespace, record.release.name)

    if parent is None:
        refuse_openshift(facts, settings)
    reuses = settings.stack == "reuse" or (settings.stack == "auto" and record.settings.get("stack") == "reuse")
    # A reuse needs the Prometheus object, and may be told that its operator is out of sight.
    _refuse_guess(facts, (PROMETHEUS_KIND,) if reuses else ("Deployment.apps", PROMETHEUS_KIND))
    if settings.stack == "install" or (not reuses and _nothing(facts)):
        namespace = namespace or DEFAULT_NAMESPACE
        _refuse_reuse(settings, "a stack of our own would be installed")
        if any((each.namespace, each.name) == (namespace, settings.release) for each in facts.releases):
            raise foreign_release(namespace, settings.release)
        return our_stack(facts, settings, record, namespace, settings.release)
    return reused_stack(facts, _as_before(settings, record, facts, reuses=reuses), record, namespace)


def _refuse_reuse(settings: Settings, instead: str) -> None:
    """Raise `UsageError` where a flag chooses a stack that is there, while *instead* is used."""
    flags = {
        "--stack reuse": settings.stack == "reuse",
        f"--prometheus {settings.prometheus}": settings.prometheus is not None,
        f"--grafana {settings.grafana}": settings.grafana is not None,
    }
    for flag in (flag for flag, given in flags.items() if given):
        raise UsageError(
            f"{flag} chooses what is already there, but {instead}",
            hint="leave it out; or, to use a stack that is there: kvobs uninstall, then --stack reuse",
        )


def _refuse_guess(facts: Facts, kinds: Sequence[str]) -> None:
    """Raise `Unanswered` where it is not known whether a stack is there: a second one is never a guess."""
    for kind in kinds:
        if kind in facts.unasked:
            raise Unanswered(
                f"whether a Prometheus Operator and its Prometheus are here could not be asked: {facts.unasked[kind]}",
                hint="use credentials that may list it in all namespaces",
            )


def _as_before(settings: Settings, record: Record, facts: Facts, *, reuses: bool) -> Settings:
    """*settings* with what an earlier run chose wherever this one is told nothing else.

    A Prometheus or Grafana that is gone is no longer meant.
    """
    told = record.settings
    prometheuses = {f"{each.namespace}/{each.name}" for each in facts.prometheuses}
    grafanas = {f"{each.namespace}/{each.name}" for each in facts.grafanas} | {"none"}
    prometheus, grafana = told.get("prometheus"), told.get("grafana")
    return replace(
        settings,
        stack="reuse" if reuses else settings.stack,
        prometheus=settings.prometheus or (prometheus if prometheus in prometheuses else None),
        grafana=settings.grafana or (grafana if grafana in grafanas else None),
    )


def _nothing(facts: Facts) -> bool:
    """Whether nothing is there that does a stack's work; CRDs that an uninstall left behind do not count."""
    there = (facts.operators, facts.prometheuses, facts.agents, facts.victoria_metrics, facts.grafanas)
    return not any(there)
