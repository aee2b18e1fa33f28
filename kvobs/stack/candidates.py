"""Which Prometheus object and which Grafana of those that are there can be meant. Pure.

What could never be used (OpenShift's own, one that reads no monitor) is passed over where another is left, and named
where none is. Of several that could be used none is taken: the user says which one.
"""

from __future__ import annotations

from typing import TypeVar

from ..errors import Undecided
from ..settings import Settings
from .control_plane import is_of_platform, platform_refusal
from .facts import Facts, Grafana, Prometheus
from .in_words import SECOND_STACK, found_here, kinds_named, named
from .notes import Note

_Kind = TypeVar("_Kind", Prometheus, Grafana)

_READS_ALL = "serviceMonitorSelector: {}"

_BESIDE = "; or a stack of kvobs' own beside it: --stack install"


def chosen_prometheus(facts: Facts, settings: Settings) -> tuple[Prometheus, tuple[Note, ...]]:
    """Return the Prometheus object that is meant, and what there is to say about the choice. Raises `Undecided`."""
    if settings.prometheus is not None:
        wanted = _wanted("Prometheus object", facts.prometheuses, settings.prometheus, "--prometheus", facts)
        _refuse_blind(wanted)
        return wanted, _beside(facts)
    unfit = {(each.namespace, each.name): why for each in facts.prometheuses if (why := _unfit(each))}
    fit = [each for each in facts.prometheuses if (each.namespace, each.name) not in unfit]
    if len(fit) > 1:
        raise _several("Prometheus object", fit, "--prometheus")
    if not fit:
        raise _none_fits(facts)
    notes = _beside(facts)
    if unfit:
        passed = "; ".join(f"{namespace}/{name} {why}" for (namespace, name), why in unfit.items())
        said = f"Prometheus {named(fit)} is used; passed over: {passed}. --prometheus NAMESPACE/NAME decides."
        notes = (Note("prometheus-chosen", said), *notes)
    return fit[0], notes


def chosen_grafana(facts: Facts, settings: Settings) -> Grafana | None:
    """Return the Grafana that is meant, None where none is wanted. Raises `Undecided`."""
    if settings.grafana == "none":
        return None
    if settings.grafana is not None:
        wanted = _wanted("Grafana", facts.grafanas, settings.grafana, "--grafana", facts)
        if not _loads(wanted):
            raise Undecided(
                f"Grafana {wanted.namespace}/{wanted.name} has no dashboard sidecar, so no ConfigMap reaches it",
                hint=_SIDECAR,
            )
        return wanted
    fit = [each for each in facts.grafanas if _loads(each)]
    if len(fit) > 1:
        raise _several("Grafana with a dashboard sidecar", fit, "--grafana")
    if not fit:
        hint = _SIDECAR if facts.grafanas else _NO_GRAFANA
        raise Undecided(
            f"no Grafana with a dashboard sidecar was found; on this cluster: {found_here(facts)}", hint=hint
        )
    return fit[0]


_MONITORS_ONLY = "to apply the monitors only, and load kvobs render's dashboards yourself: --grafana none"
_NO_GRAFANA = f"if one is here that nothing calls Grafana: --grafana NAMESPACE/NAME; {_MONITORS_ONLY}"
_SIDECAR = (
    "enable the sidecar in the values of its release (chart grafana: sidecar.dashboards.enabled=true;"
    " kube-prometheus-stack: grafana.sidecar.dashboards.enabled=true), if its chart has one; "
) + _MONITORS_ONLY


def _loads(grafana: Grafana) -> bool:
    """Whether dashboards reach it: through a sidecar, or as objects of its operator."""
    return grafana.sidecar is not None or grafana.operated is not None


def _unfit(prometheus: Prometheus) -> str | None:
    """Why a Prometheus object cannot be meant unless it is named; None: it can."""
    if is_of_platform(prometheus.namespace):
        return "belongs to OpenShift"
    if _is_blind(prometheus):
        return "selects no monitor (serviceMonitorSelector and podMonitorSelector are not set)"
    return None


def _is_blind(prometheus: Prometheus) -> bool:
    """Whether it reads no monitor at all: a selector that is not set selects nothing, an empty one everything."""
    return prometheus.service_monitor_selector is None and prometheus.pod_monitor_selector is None


def _refuse_blind(prometheus: Prometheus) -> None:
    if _is_blind(prometheus):
        raise Undecided(
            f"Prometheus object {prometheus.namespace}/{prometheus.name} selects nothing: neither"
            " spec.serviceMonitorSelector nor spec.podMonitorSelector is set, so that no monitor of ours would ever be"
            " read",
            hint=f"set spec.{_READS_ALL} and spec.podMonitorSelector: {{}} there, or labels that its monitors have;"
            " in the values of kube-prometheus-stack: prometheus.prometheusSpec.serviceMonitorSelectorNilUsesHelmValues"
            "=false, and podMonitorSelectorNilUsesHelmValues=false",
        )


def _none_fits(facts: Facts) -> Undecided:
    """The refusal where no Prometheus object can be meant: by what is there in its place."""
    for each in facts.prometheuses:
        if not is_of_platform(each.namespace):
            _refuse_blind(each)
    if facts.prometheuses:
        return platform_refusal(facts)
    found = f"no Prometheus object was found; on this cluster: {found_here(facts)}"
    if facts.victoria_metrics:
        return Undecided(
            f"{kinds_named(facts.victoria_metrics)} of the VictoriaMetrics operator scrapes here, and no Prometheus"
            f" object does; on this cluster: {found_here(facts)}",
            hint="its operator converts ServiceMonitors and PodMonitors, where their CRDs are there: kvobs render"
            f" --datasource prometheus=UID | kubectl apply -f -{_BESIDE}",
        )
    if facts.agents:
        return Undecided(
            f"{kinds_named(facts.agents)} sends on what it scrapes and answers no query, and no Prometheus object is"
            f" here that could; on this cluster: {found_here(facts)}",
            hint="where its metrics go to a Grafana that you have: kvobs render --datasource prometheus=UID | kubectl"
            f" apply -f -{_BESIDE}",
        )
    if facts.operators:
        return Undecided(found, hint=SECOND_STACK)
    return Undecided(found, hint="--stack install brings a stack of its own, with its own Grafana")


def _beside(facts: Facts) -> tuple[Note, ...]:
    """Say what else on the cluster reads monitors, so that a target may be scraped by both."""
    notes = []
    if facts.victoria_metrics:
        text = (
            f"{kinds_named(facts.victoria_metrics)} is here too: where the VictoriaMetrics operator converts monitors,"
            " it scrapes the targets of kvobs' monitors as well."
        )
        notes.append(Note("victoria-metrics", text))
    if facts.agents:
        text = f"{kinds_named(facts.agents)} is here too, and may scrape the targets of kvobs' monitors as well."
        notes.append(Note("prometheus-agent", text))
    return tuple(notes)


def _wanted(word: str, those: tuple[_Kind, ...], name: str, flag: str, facts: Facts) -> _Kind:
    for each in those:
        if f"{each.namespace}/{each.name}" == name:
            return each
    none = SECOND_STACK if facts.operators else "--stack install brings a stack of its own, with its own Grafana"
    raise Undecided(
        f"{flag} {name}: no such {word}; found here: {found_here(facts)}",
        hint=_NO_GRAFANA if flag == "--grafana" else none,
    )


def _several(word: str, those: list[_Kind], flag: str) -> Undecided:
    return Undecided(f"several can be meant: {word} {named(those)}", hint=f"say which one: {flag} NAMESPACE/NAME")
