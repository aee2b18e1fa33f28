"""Which Prometheus and which Grafana kvobs works for: what is there, what the user asked for, what is ours.

Nothing is guessed. A mixture that this module does not understand is an `Undecided` that names what was found
and the flag that decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ..errors import Unanswered, Undecided, UsageError
from ..settings import DEFAULT_NAMESPACE, DEFAULT_RELEASE, Settings
from .applyset import PARENT_NAME, Record, read_record
from .datasources import chosen_datasources, given_datasources, known_datasources, unled_datasource
from .facts import Facts, Grafana, Object, Prometheus, Ref, Sidecar, Workload
from .notes import Note
from .remembered import recalled
from .values import (
    deep_merge,
    grafana_of,
    prometheus_of,
    set_integers,
    stack_values,
    user_values,
    value_at,
    wants_admin_secret,
)

PROMETHEUS_KIND = "Prometheus.monitoring.coreos.com"

_SECOND_STACK = (
    "to bring a Prometheus and a Grafana for the operator that is there: --stack install"
    " --set prometheusOperator.enabled=false --set crds.enabled=false"
)

_Kind = TypeVar("_Kind", Prometheus, Grafana)


@dataclass(frozen=True, kw_only=True, slots=True)
class DesiredRelease:
    """The Helm release that kvobs makes and keeps."""

    namespace: str
    name: str
    chart: str
    version: str | None
    """None: whatever version the chart at that place has."""
    values: Mapping[str, Any] = field(repr=False)
    """The user's values over kvobs' own; may hold secrets of the user, hence in no repr."""
    set_integers: tuple[str, ...] = field(default=(), repr=False)
    """Those of the user's `--set` that Helm has to read itself (`stack.values.set_integers`)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """What monitors and dashboards are made for."""

    namespace: str
    """Where kvobs' own objects go."""
    prometheus: Prometheus
    grafana: Grafana | None
    """None: not there yet, or none wanted."""
    sidecar: Sidecar | None
    """None: dashboards are not loaded."""
    datasources: Mapping[str, tuple[str, str | None]]
    """Datasource type -> (UID, name): what references of that type are patched to."""
    known: tuple[Mapping[str, Any], ...] | None
    """The datasources of the live Grafana as `patch_dashboard` wants them; None: unknown."""
    release: DesiredRelease | None
    """Our own release, where the stack is (or becomes) ours."""
    admin_secret: str | None
    """Name of the Secret with Grafana's administrator that kvobs makes; None where somebody else takes care."""
    live: bool
    """Whether `prometheus` was seen, or is what the chart will make."""
    record: Record
    notes: tuple[Note, ...] = ()


def parent_of(facts: Facts, namespace: str | None) -> Object | None:
    """Return kvobs' ApplySet parent in *namespace*, or for None the only one there is.

    Raises `Undecided` where none is named and there are several.
    """
    _refuse_unseen_parent(facts, namespace)
    by_namespace = {parent["metadata"]["namespace"]: parent for parent in facts.parents}
    if namespace is None:
        if len(by_namespace) > 1:
            raise Undecided(
                f"kvobs is installed in several namespaces: {', '.join(sorted(by_namespace))}",
                hint="say which one with --namespace",
            )
        return next(iter(by_namespace.values()), None)
    return by_namespace.get(namespace)


def _refuse_unseen_parent(facts: Facts, namespace: str | None) -> None:
    """Raise `Unanswered` where a parent may be there unseen: its record would be overwritten by one without a past."""
    key = "ConfigMap" if namespace is None else str(Ref("ConfigMap", namespace, PARENT_NAME))
    seen = namespace is None and facts.parents
    if key in facts.unasked and not seen:
        raise Unanswered(
            f"whether kvobs is installed here could not be asked: {facts.unasked[key]}",
            hint="say where with --namespace NAME, or use credentials that may read ConfigMaps",
        )


def choose(facts: Facts, settings: Settings) -> Target:
    """Decide which stack is used, from live objects and the record of earlier runs.

    Raises `Undecided` or `Unanswered` (nothing is to be changed), or `UsageError` (a flag contradicts what is
    recorded).
    """
    parent = parent_of(facts, settings.namespace)
    if parent is None and facts.parents:
        there = ", ".join(sorted(each["metadata"]["namespace"] for each in facts.parents))
        raise Undecided(
            f"kvobs is already installed in namespace {there}; a second install in {settings.namespace} would load"
            " every dashboard and scrape every target twice",
            hint="leave --namespace out, or run kvobs uninstall there first",
        )
    record = read_record(parent) if parent is not None else Record()
    settings = recalled(settings, record)
    if record.release is not None:
        _refuse_reuse(settings, f"the stack here is our own Helm release {record.release.name}")
        if settings.release not in (DEFAULT_RELEASE, record.release.name):
            raise UsageError(
                f"--release {settings.release}, but kvobs already made release {record.release.name} in namespace"
                f" {record.release.namespace}",
                hint="leave the flag out, or run kvobs uninstall first",
            )
        return _ours(facts, settings, record, record.release.namespace, record.release.name)

    home = parent["metadata"]["namespace"] if parent is not None else settings.namespace
    reuses = settings.stack == "reuse" or (settings.stack == "auto" and record.settings.get("stack") == "reuse")
    # A reuse needs the Prometheus object, and may be told that its operator is out of sight.
    _refuse_guess(facts, (PROMETHEUS_KIND,) if reuses else ("Deployment.apps", PROMETHEUS_KIND))
    if settings.stack == "install" or (not reuses and _nothing(facts)):
        namespace = home or DEFAULT_NAMESPACE
        _refuse_reuse(settings, "a stack of our own would be installed")
        if any((each.namespace, each.name) == (namespace, settings.release) for each in facts.releases):
            raise foreign_release(namespace, settings.release)
        return _ours(facts, settings, record, namespace, settings.release)
    return _reused(facts, _as_before(settings, record, facts, reuses=reuses), record, home)


def foreign_release(namespace: str, name: str) -> Undecided:
    """The refusal of a Helm release that has our name and is not ours."""
    return Undecided(
        f"Helm release {name} already exists in namespace {namespace}, and kvobs did not make it",
        hint="choose another name with --release, or another place with --namespace",
    )


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
    """Whether no stack is there; CRDs that an earlier uninstall left behind do not count."""
    return not (facts.operators or facts.prometheuses or facts.grafanas)


def _ours(facts: Facts, settings: Settings, record: Record, namespace: str, name: str) -> Target:
    given = user_values(settings.values, settings.set_values)
    values = stack_values(given, admin_secret=admin_secret_name(name))
    theirs = [each for each in facts.operators if each.release != (namespace, name)]
    # Where ours runs already, the other one came second: refusing would only keep ours from being kept.
    first = len(theirs) == len(facts.operators)
    if theirs and first and value_at(values, "prometheusOperator.enabled", True) is not False:
        raise Undecided(
            f"{_named(theirs)} runs here; a second Prometheus Operator would fight with it over every object",
            hint=_SECOND_STACK,
        )
    live = next((each for each in facts.prometheuses if each.release == (namespace, name)), None)
    prometheus = live or prometheus_of(name, namespace, values)
    if prometheus is None:
        raise UsageError(
            "the values switch Prometheus off, so there is nothing that monitors and dashboards could be made for",
            hint="leave prometheus.enabled out, or use the Prometheus that you have: --stack reuse",
        )
    seen = next((each for each in facts.grafanas if each.release == (namespace, name)), None)
    foretold = grafana_of(name, namespace, values)
    grafana = (
        seen
        if seen is None or seen.datasources or foretold is None
        else replace(seen, datasources=foretold.datasources)
    )
    grafana = grafana or foretold
    if grafana is not None and wants_admin_secret(given) and isinstance(grafana.admin_user, tuple):
        grafana = replace(grafana, admin_user="admin")  # as the Secret has it that kvobs makes
    sidecar = grafana.sidecar if grafana else None
    return Target(
        namespace=namespace,
        prometheus=prometheus,
        grafana=grafana,
        sidecar=sidecar,
        datasources=chosen_datasources(grafana, prometheus, settings) if sidecar else given_datasources(settings),
        known=known_datasources(grafana),
        release=DesiredRelease(
            namespace=namespace,
            name=name,
            chart=settings.wanted_chart,
            version=settings.pinned_chart_version,
            values=values,
            set_integers=set_integers(deep_merge(*settings.values), settings.set_values),
        ),
        admin_secret=admin_secret_name(name) if wants_admin_secret(given) else None,
        live=live is not None,
        record=record,
        notes=(*sidecar_notes(grafana), *(unled_datasource(grafana, prometheus, settings) if sidecar else ())),
    )


def _reused(facts: Facts, settings: Settings, record: Record, home: str | None) -> Target:
    prometheus = _one(
        "Prometheus object",
        facts.prometheuses,
        settings.prometheus,
        "--prometheus",
        found=_found(facts),
        none=_SECOND_STACK if facts.operators else "--stack install brings a stack of its own, with its own Grafana",
    )
    without_grafana = settings.grafana == "none"
    grafana: Grafana | None = None
    if not without_grafana:
        with_sidecar = tuple(each for each in facts.grafanas if each.sidecar is not None)
        grafana = _one(
            "Grafana with a dashboard sidecar",
            with_sidecar if settings.grafana is None else facts.grafanas,
            settings.grafana,
            "--grafana",
            found=_found(facts),
            none="if one is here that nothing calls Grafana: --grafana NAMESPACE/NAME; to apply the monitors only, and"
            " load kvobs render's dashboards yourself: --grafana none",
        )
        if grafana.sidecar is None:
            raise Undecided(
                f"Grafana {grafana.namespace}/{grafana.name} has no dashboard sidecar, so no ConfigMap reaches it",
                hint="enable grafana.sidecar.dashboards in its chart, or apply monitors only: --grafana none",
            )
    if settings.stack == "auto":
        tracked = prometheus.tracked_by or (grafana.tracked_by if grafana else None)
        if tracked:
            raise Undecided(
                f"{tracked} tracks the stack with Prometheus {prometheus.namespace}/{prometheus.name}, and would undo"
                " what is changed beside it",
                hint="hand it the output of kvobs render; or, to add monitors and dashboards beside it all the same:"
                " --stack reuse",
            )
        if not facts.operators:
            raise Undecided(
                f"Prometheus object {prometheus.namespace}/{prometheus.name} is here, but no Prometheus Operator was"
                " found that reads its monitors",
                hint="if one runs elsewhere or under another image name: --stack reuse",
            )
    if settings.values or settings.set_values:
        # Passing over them would let the user believe that they are in force.
        raise UsageError(
            f"--values and --set are for a stack of kvobs' own, but Prometheus {prometheus.namespace}/{prometheus.name}"
            " is reused, and its release is left alone",
            hint="leave them out, or give them to the release that made it",
        )
    return Target(
        namespace=home or prometheus.namespace,
        prometheus=prometheus,
        grafana=grafana,
        sidecar=grafana.sidecar if grafana else None,
        datasources=chosen_datasources(grafana, prometheus, settings) if grafana else given_datasources(settings),
        known=known_datasources(grafana),
        release=None,
        admin_secret=None,
        live=True,
        record=record,
        notes=unled_datasource(grafana, prometheus, settings)
        if grafana
        else (Note("no-grafana", "No dashboards are loaded, as --grafana none asks; kvobs render has them."),),
    )


def _found(facts: Facts) -> str:
    """Say in words what of a stack is there."""
    parts = [
        _counted(facts.operators, "Prometheus Operator"),
        _counted(facts.prometheuses, "Prometheus object"),
        _counted(tuple(g for g in facts.grafanas if g.sidecar), "Grafana with a dashboard sidecar"),
        _counted(tuple(g for g in facts.grafanas if not g.sidecar), "Grafana without a dashboard sidecar"),
    ]
    if PROMETHEUS_KIND not in facts.kinds:
        parts.append("no Prometheus Operator CRDs")
    return ", ".join(part for part in parts if part)


def _counted(those: Sequence[Workload | Prometheus | Grafana], word: str) -> str:
    return f"{word} {_named(those)}" if those else f"no {word}" if "without" not in word else ""


def _named(those: Sequence[Workload | Prometheus | Grafana]) -> str:
    return " and ".join(f"{each.namespace}/{each.name}" for each in those)


def _one(word: str, those: Sequence[_Kind], wanted: str | None, flag: str, *, found: str, none: str) -> _Kind:
    """Return the one of *those* that is meant; *none* is the hint for when there is none at all."""
    if wanted is not None:
        for each in those:
            if f"{each.namespace}/{each.name}" == wanted:
                return each
        raise Undecided(f"{flag} {wanted}: no such {word}; found here: {found}", hint=none)
    if len(those) > 1:
        raise Undecided(f"several can be meant: {word} {_named(those)}", hint=f"say which one: {flag} NAMESPACE/NAME")
    if not those:
        raise Undecided(f"no {word} was found; on this cluster: {found}", hint=none)
    return those[0]


def sidecar_notes(grafana: Grafana | None) -> tuple[Note, ...]:
    """Say why no dashboard is loaded by *grafana*, where that is so; None: there is none, by the values."""
    if grafana is not None and grafana.sidecar is not None:
        return ()
    what = f"Grafana {grafana.namespace}/{grafana.name} has" if grafana else "the values leave Grafana with"
    return (Note("no-sidecar", f"No dashboards are loaded: {what} no dashboard sidecar."),)


def admin_secret_name(release: str) -> str:
    """Name of the Secret with the Grafana admin's password that kvobs makes for *release*."""
    return f"{release}-grafana-admin"
