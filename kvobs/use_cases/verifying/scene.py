"""What does not change while panels are asked again and again: which Prometheus, which Grafana, which dashboards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from ...adapters.cluster import Cluster
from ...errors import ActionError, KubeconfigError, Unanswered
from ...health.elsewhere import led_elsewhere, same_server
from ...health.evidence import ClusterEvidence
from ...health.loading import LoadedBoard
from ...health.sources import Sources, sources_of
from ...health.verdict import Finding
from ...settings import Reach, Settings, Verification
from ...stack.candidates import chosen_prometheus
from ...stack.choice import parent_of
from ...stack.datasources import leads_to
from ...stack.facts import Facts, Grafana, Prometheus
from ...stack.notes import Note
from ...stack.record import read_record
from ..connect import cluster_of
from ..look import look
from ..one_look import OneLook
from ..progress import Progress
from .cluster_evidence import cluster_evidence
from .connect_grafana import connect_grafana
from .connect_prometheus import connect_prometheus
from .datasource_probe import unreachable_sources
from .seam import Asked
from .sources import boards_to_verify

if TYPE_CHECKING:
    from ...adapters.grafana_api import GrafanaApi

_Kind = TypeVar("_Kind", Prometheus, Grafana)


@dataclass(frozen=True, kw_only=True, slots=True)
class Scene:
    """What verify looks at."""

    asked: Asked
    prometheus: str
    """What is asked, as it may be shown."""
    way: Callable[[], str] | None = None
    """The same once it was asked: which way was open is known by then."""
    boards: tuple[LoadedBoard, ...]
    sources: Sources
    """The data sources that references lead to."""
    unreachable: Mapping[str, Finding] = field(default_factory=dict)
    """UID of a data source -> why no query that goes to it arrives."""
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    """UID of a data source that leads to another Prometheus than the one that is asked -> where it leads."""
    cluster: ClusterEvidence | None = None
    notes: tuple[Note, ...] = ()


def look_at_scene(
    settings: Settings,
    verification: Verification,
    *,
    environ: Mapping[str, str],
    opened: ExitStack,
    progress: Progress,
    cluster: Cluster | None = None,
    seen: OneLook | None = None,
    own: bool = False,
) -> Scene:
    """Find what is to be asked and what is to be verified; what is opened for it closes with *opened*.

    *seen*: a look at *cluster* that was taken already, where nothing was changed since. *own*: among the dashboards of
    the cluster only those are verified that kvobs' install loaded.

    Raises `Unanswered` where that cannot be found out, and UsageError for what was told wrongly.
    """
    reach = verification.reach
    api = _grafana_api(verification, environ, opened)
    alone = reach.url is not None and (verification.sources or api is not None)
    if cluster is None and not alone:
        cluster = _cluster(settings)
    facts, prometheus, grafana = None, None, None
    if cluster is not None and not alone:
        if seen is None:
            progress.step("look at the cluster")
            seen = OneLook(cluster)
        try:
            facts = look(seen, settings)
            prometheus = _prometheus(facts, settings, needed=reach.url is None)
            grafana = _grafana(facts, settings)
        except ActionError as error:
            # A question that only a flag can decide was not answered; nothing was to be changed.
            raise Unanswered(str(error), hint=error.hint) from error
    asked = opened.enter_context(closing(connect_prometheus(reach, environ, cluster=cluster, prometheus=prometheus)))
    progress.step("read the dashboards")
    unread: dict[str, str] = {}
    boards = boards_to_verify(
        settings,
        named=verification.sources,
        api=api,
        cluster=seen,
        facts=facts,
        own=own,
        unread=unread,
        progress=progress,
    )
    sources, notes = _sources(verification, api, grafana)
    elsewhere, said = _elsewhere(sources, reach, grafana, prometheus, asked.place)
    unreachable = {}
    if not verification.sources:
        unreachable = unreachable_sources(
            sources.known or (),
            grafana=grafana if api is None else None,  # that of an address is judged by its own word alone
            prometheus=prometheus,
            facts=facts,
            cluster=seen,
            api=api,
        )
    evidence = cluster_evidence(seen, facts, prometheus) if seen is not None and facts is not None else None
    return Scene(
        asked=asked,
        prometheus=asked.place,
        way=lambda: asked.place,
        boards=tuple(boards),
        sources=sources,
        unreachable=unreachable,
        elsewhere=elsewhere,
        cluster=evidence,
        notes=(*notes, *said, *_unread(evidence, unread)),
    )


def _cluster(settings: Settings) -> Cluster:
    try:
        return cluster_of(settings)
    except KubeconfigError as error:
        without = "without a cluster: kvobs verify FILE --prometheus URL"
        raise KubeconfigError(str(error), hint=f"{error.hint}; {without}" if error.hint else without) from error


def _unread(evidence: ClusterEvidence | None, of_boards: Mapping[str, str]) -> Iterable[Note]:
    """What could not be read of the cluster, where one is looked at; *of_boards*: what its dashboards stand in."""
    told = {**evidence.facts.unasked, **evidence.unread, **of_boards} if evidence is not None else {}
    return [Note("not-asked", f"{kind} could not be read: {why}") for kind, why in sorted(told.items())]


def _grafana_api(verification: Verification, environ: Mapping[str, str], opened: ExitStack) -> GrafanaApi | None:
    if verification.grafana_url is None:
        return None
    reach = verification.reach
    return opened.enter_context(
        connect_grafana(verification.grafana_url, environ, ca_file=reach.ca_file, insecure=reach.insecure)
    )


def _sources(
    verification: Verification, api: GrafanaApi | None, grafana: Grafana | None
) -> tuple[Sources, tuple[Note, ...]]:
    if verification.sources and grafana is None and api is None:
        return Sources(known=None), ()
    if verification.sources:
        said = (
            "Files are taken as kvobs install would load them: each reference that may mean a Prometheus means the one"
            " that is asked. What a Grafana has is judged where its own dashboards are verified."
        )
        return Sources(known=None), (Note("files-meant", said),)
    if api is not None:
        return Sources(known=tuple(api.datasources()), complete=True, where=f"Grafana {api.url}"), ()
    return sources_of(grafana), ()


def _prometheus(facts: Facts, settings: Settings, *, needed: bool) -> Prometheus | None:
    """The one that is told, else the one of the install, else the only one; None where none is *needed* to ask."""
    recorded = _recorded(facts, settings, "prometheus")
    if settings.prometheus is not None or recorded is not None:
        named = _named(facts.prometheuses, settings.prometheus or recorded)
        if named is not None:
            return named
        if settings.prometheus is not None:
            raise Unanswered(
                f"there is no Prometheus object {settings.prometheus} on this cluster",
                hint=f"here are: {_names(facts.prometheuses)}",
            )
    if len(facts.prometheuses) == 1:
        return facts.prometheuses[0]
    if not needed:
        return None
    return chosen_prometheus(facts, settings)[0]


def _grafana(facts: Facts, settings: Settings) -> Grafana | None:
    """The one that is told, else the one of the install, else the only one; None: no Grafana is looked at."""
    if settings.grafana == "none":
        return None
    wanted = settings.grafana or _recorded(facts, settings, "grafana")
    named = _named(facts.grafanas, wanted)
    if named is None and settings.grafana is not None:
        raise Unanswered(
            f"there is no Grafana {settings.grafana} on this cluster", hint=f"here are: {_names(facts.grafanas)}"
        )
    return named or (facts.grafanas[0] if len(facts.grafanas) == 1 else None)


def _recorded(facts: Facts, settings: Settings, what: str) -> str | None:
    """NAMESPACE/NAME of what an install recorded, or made by its release."""
    parent = parent_of(facts, settings.namespace)
    if parent is None:
        return None
    record = read_record(parent)
    told = record.settings.get(what)
    if record.release is None:
        return told
    those: Sequence[Prometheus | Grafana] = facts.prometheuses if what == "prometheus" else facts.grafanas
    made = [_name(each) for each in those if each.release == (record.release.namespace, record.release.name)]
    return told if told in made else next(iter(made), told)


def _named(those: Iterable[_Kind], name: str | None) -> _Kind | None:
    return next((each for each in those if _name(each) == name), None)


def _name(each: Prometheus | Grafana) -> str:
    return f"{each.namespace}/{each.name}"


def _names(those: Iterable[Prometheus | Grafana]) -> str:
    return ", ".join(map(_name, those)) or "none"


def _elsewhere(
    sources: Sources, reach: Reach, grafana: Grafana | None, prometheus: Prometheus | None, asked: str
) -> tuple[dict[str, str], tuple[Note, ...]]:
    """The data sources that lead to another server than the one that is asked, and what is to be said."""
    address = reach.url
    if address is not None:
        return led_elsewhere(sources, lambda url: same_server(url, address), asked=asked)
    if prometheus is None:
        return {}, ()
    ours, near = prometheus, grafana.namespace if grafana is not None else ""
    return led_elsewhere(
        sources,
        lambda url: leads_to(url, ours, seen_from=near),
        asked=f"Prometheus {_name(prometheus)}",
        hint="--prometheus URL asks what they lead to.",
    )
