"""A stack of kvobs' own: the Helm release that it makes and keeps. Pure."""

from __future__ import annotations

from dataclasses import replace

from ..errors import Undecided, UsageError
from ..settings import Settings
from .chart_versions import newer_than_known, refuse_too_old
from .control_plane import managed_notes
from .datasources import chosen_datasources, datasource_notes, given_datasources, known_datasources
from .facts import DatasourceFact, Facts, Grafana, Prometheus
from .images import image_values
from .in_words import SECOND_STACK, named
from .notes import Note
from .record import Record
from .target import DesiredRelease, Target
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


def foreign_release(namespace: str, name: str) -> Undecided:
    """The refusal of a Helm release that has our name and is not ours."""
    return Undecided(
        f"Helm release {name} already exists in namespace {namespace}, and kvobs did not make it",
        hint="choose another name with --release, or another place with --namespace",
    )


def our_stack(facts: Facts, settings: Settings, record: Record, namespace: str, name: str) -> Target:
    """Return the target where the stack is, or becomes, Helm release *name* of ours in *namespace*.

    Raises `Undecided` or `UsageError` where that cannot be.
    """
    refuse_too_old(settings.wanted_chart, settings.pinned_chart_version)
    given = user_values(settings.values, settings.set_values)
    values = deep_merge(
        stack_values(given, admin_secret=admin_secret_name(name), control_plane=facts.control_plane),
        # The user's own flags, and more to the point than what a values file says of the same.
        image_values(settings.image_registry, settings.image_pull_secrets),
    )
    theirs = [each for each in facts.operators if each.release != (namespace, name)]
    # Where ours runs already, the other one came second: refusing would only keep ours from being kept.
    first = len(theirs) == len(facts.operators)
    if theirs and first and value_at(values, "prometheusOperator.enabled", True) is not False:
        raise Undecided(
            f"{named(theirs)} runs here; a second Prometheus Operator would fight with it over every object",
            hint=SECOND_STACK,
        )
    live = next((each for each in facts.prometheuses if each.release == (namespace, name)), None)
    prometheus = _upgraded(live, prometheus_of(name, namespace, values))
    if prometheus is None:
        raise UsageError(
            "the values switch Prometheus off, so there is nothing that monitors and dashboards could be made for",
            hint="leave prometheus.enabled out, or use the Prometheus that you have: --stack reuse",
        )
    seen = next((each for each in facts.grafanas if each.release == (namespace, name)), None)
    foretold = grafana_of(name, namespace, values)
    grafana = replace(seen, datasources=_told(seen, foretold)) if seen and foretold else seen or foretold
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
        notes=(
            *newer_than_known(settings.wanted_chart, settings.pinned_chart_version),
            *managed_notes(facts, values),
            *sidecar_notes(grafana),
            *(datasource_notes(grafana, prometheus, settings) if sidecar else ()),
        ),
    )


def _upgraded(live: Prometheus | None, foretold: Prometheus | None) -> Prometheus | None:
    """The Prometheus that is there, scraping as often as the values say: Helm comes before what is made for it."""
    return replace(live, scrape_interval=foretold.scrape_interval) if live and foretold else live or foretold


def _told(seen: Grafana, foretold: Grafana) -> tuple[DatasourceFact, ...]:
    """The datasources of the Grafana that is there; the chart's own has the scrape interval of the values."""
    intervals = {each.uid: each.time_interval for each in foretold.datasources}
    return (
        tuple(replace(each, time_interval=intervals.get(each.uid, each.time_interval)) for each in seen.datasources)
        or foretold.datasources
    )


def sidecar_notes(grafana: Grafana | None) -> tuple[Note, ...]:
    """Say why no dashboard is loaded by *grafana*, where that is so; None: there is none, by the values."""
    if grafana is not None and (grafana.sidecar is not None or grafana.operated is not None):
        return ()
    what = f"Grafana {grafana.namespace}/{grafana.name} has" if grafana else "the values leave Grafana with"
    return (Note("no-sidecar", f"No dashboards are loaded: {what} no dashboard sidecar."),)


def admin_secret_name(release: str) -> str:
    """Name of the Secret with the Grafana admin's password that kvobs makes for *release*."""
    return f"{release}-grafana-admin"
