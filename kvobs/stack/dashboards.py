"""Dashboards as a plan has them: patched, and in the object that brings each of them to Grafana. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..dashboard.configmap import Loaded, conflicts, dashboard_configmap, dashboard_name, with_uid
from ..dashboard.patch import Datasource, PatchedDashboard, patch_dashboard
from ..errors import ActionError, DocumentError
from .facts import Facts, Object, Ref
from .grafana_operator import grafana_dashboard
from .notes import Note
from .objects import ref
from .target import Target

FOLDER = "kvobs"
"""The folder of Grafana that dashboards go into, where it can be said."""

_FOLDER_VALUES = (
    "grafana.sidecar.dashboards.folderAnnotation=grafana_folder and"
    " grafana.sidecar.dashboards.provider.foldersFromFilesStructure=true"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedDashboard:
    """One dashboard: where it came from, what the patch did, and the object that carries it."""

    source: str
    patched: PatchedDashboard
    config_map: Ref
    """A ConfigMap for a sidecar, or a GrafanaDashboard."""

    @property
    def uid(self) -> str:
        """The dashboard's uid (the patch refuses one without)."""
        return str(self.patched.document["uid"])

    @property
    def title(self) -> str:
        """The dashboard's title."""
        return str(self.patched.document["title"])


def plan_dashboards(
    facts: Facts, target: Target, dashboards: Sequence[tuple[str, Any]]
) -> tuple[list[tuple[PlannedDashboard, Object]], dict[str, str]]:
    """Patch each document and put it into a ConfigMap; say for each refused source why."""
    if target.sidecar is None and target.instances is None:
        return [], {}
    if target.sidecar is not None and target.sidecar.resource == "secret":
        return [], dict.fromkeys((source for source, _ in dashboards), _secrets_only(target))
    sources = {kind: Datasource(uid, name or "") for kind, (uid, name) in target.datasources.items()}
    planned: list[tuple[PlannedDashboard, Object]] = []
    refused: dict[str, str] = {}
    for source, document in dashboards:
        try:
            patched = patch_dashboard(document, datasources=sources, known=target.known, remap_foreign=True)
            if not patched.loadable:
                raise DocumentError(patched.not_loadable_because)
            patched = replace(patched, document=with_uid(patched.document))
            carrier = _carrier(facts, target, patched.document)
        except DocumentError as error:
            refused[source] = str(error)
            continue
        planned.append((PlannedDashboard(source=source, patched=patched, config_map=ref(carrier)), carrier))
    # What stands in an object of the very name that ours gets is not loaded beside it: whose it is, is asked later.
    made = {each.config_map for each, _ in planned}
    theirs = [
        Loaded(each.uid, each.title, each.where)
        for each in facts.dashboards
        if not each.ours and each.carrier not in made
    ]
    clashes = conflicts([Loaded(each.uid, each.title, each.source) for each, _ in planned], theirs)
    if clashes:
        raise ActionError(
            "Grafana loads no two dashboards with one uid or one title: " + "; ".join(clashes),
            hint="leave one of them out, or give it another uid and title"
            + ("" if target.release else "; to apply the monitors only: --grafana none"),
        )
    return planned, refused


def _carrier(facts: Facts, target: Target, document: Mapping[str, Any]) -> Object:
    """The object that brings one dashboard to Grafana; raises `DocumentError` where none can."""
    name = dashboard_name(document)
    sidecar = target.sidecar
    if sidecar is None:
        assert target.instances is not None  # or no dashboard is planned at all
        assert target.grafana is not None
        return grafana_dashboard(
            document, name=name, namespace=target.grafana.namespace, instances=target.instances, folder=FOLDER
        )
    namespace = target.namespace
    if sidecar.namespaces is not None and namespace not in sidecar.namespaces:
        namespace = next((each for each in sidecar.namespaces if each in facts.namespaces), sidecar.namespaces[0])
    return dashboard_configmap(
        document,
        name=name,
        namespace=namespace,
        label=sidecar.label,
        label_value=sidecar.label_value or "1",
        folder_annotation=sidecar.folder_annotation,
        folder=FOLDER,
    )


_RESOURCE = "grafana.sidecar.dashboards.resource"


def _secrets_only(target: Target) -> str:
    """Why no dashboard is loaded by a sidecar that looks into no ConfigMap, and what mends it."""
    how = (
        f"install again with the --values and --set of earlier runs, and --set {_RESOURCE}=both"
        if target.release
        else f"set {_RESOURCE}=both in the values of its release"
    )
    return f"it would go into a ConfigMap, and Grafana's dashboard sidecar reads Secrets only (RESOURCE=secret): {how}"


def kept_dashboards(
    facts: Facts, planned: Sequence[tuple[PlannedDashboard, Object]], *, applyset: str
) -> frozenset[Ref]:
    """Return the dashboards of earlier runs that stay although this plan does not make them.

    A dashboard that could not be had this time may be one of them: a server that is away for a moment takes nothing
    off the cluster. What would clash with one that is made goes; so does all where no dashboard is made.
    """
    made = {ref(carrier) for _, carrier in planned}
    uids = {each.uid for each, _ in planned}
    titles = {each.title.strip().casefold() for each, _ in planned}
    return frozenset(
        each.carrier
        for each in facts.dashboards
        if planned and each.carrier is not None and each.carrier not in made and each.applyset == applyset
        if each.uid not in uids and (each.title or "").strip().casefold() not in titles
    )


def kept_notes(kept: Collection[Ref]) -> tuple[Note, ...]:
    """Say which dashboards stay as an earlier run made them."""
    if not kept:
        return ()
    text = (
        f"{', '.join(map(str, sorted(kept)))} of an earlier run stays as it is: a dashboard that was asked for could"
        " not be had, and it may be that one."
    )
    return (Note("dashboards-kept", text),)


def dashboard_notes(target: Target) -> tuple[Note, ...]:
    """Say what is other with the dashboards of a plan than one may expect."""
    return (*_loaded_at_start(target), *_without_folder(target))


def _without_folder(target: Target) -> tuple[Note, ...]:
    """Say where dashboards of ours have no folder, since the sidecar of somebody's release looks for no annotation."""
    grafana, sidecar = target.grafana, target.sidecar
    if grafana is None or sidecar is None or sidecar.folder_annotation or target.release is not None:
        return ()
    return (
        Note(
            "no-folder",
            "Dashboards go into no folder of their own: the sidecar of Grafana"
            f" {grafana.namespace}/{grafana.name} reads no annotation for one; {_FOLDER_VALUES} in the values of its"
            " release would change that.",
        ),
    )


def _loaded_at_start(target: Target) -> tuple[Note, ...]:
    """Say where dashboards wait for Grafana's next start."""
    grafana = target.grafana
    if grafana is None or target.sidecar is None or not target.sidecar.only_at_start:
        return ()
    restart = f"kubectl -n {grafana.namespace} rollout restart {grafana.kind.lower()}/{grafana.name}"
    return (
        Note(
            "sidecar-at-start",
            f"The dashboard sidecar of Grafana {grafana.namespace}/{grafana.name} runs before Grafana starts and not"
            f" beside it; dashboards that are new or changed are loaded after: {restart}",
        ),
    )
