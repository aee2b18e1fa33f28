"""The dashboards of a cluster as they are really loaded, and those that somebody meant to be and that are not.

ConfigMaps and Secrets that a sidecar reads, ConfigMaps that a Grafana mounts, objects of the Grafana Operator. No other
Secret is read, since its content is not ours to read: one that looks as if a sidecar should see it is not told.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterator, Mapping, Sequence

from ...errors import Forbidden
from ...health.causes import found
from ...health.loading import LoadedBoard, may_hold_dashboards, read_board, unseen, with_clashes
from ...health.verdict import Finding
from ...stack.facts import Facts, Grafana, Object, Sidecar
from ...stack.grafana import mounted_dashboards, reads
from ...stack.grafana_operator import DASHBOARD_KIND
from ...stack.objects import kind_of
from ...stack.provisioned import Found, files_of
from ...stack.selectors import matches
from ...stack.workloads import annotations_of, name_of, namespace_of
from ..look import ReadCluster
from .secret_boards import edit_secret, secrets_with_dashboards

MOST = 100
"""How many ConfigMaps are read of those that nobody loads and that look as if somebody should."""
_MAX_UNPACKED = 10 * 1024 * 1024


def boards_of_cluster(
    cluster: ReadCluster, facts: Facts, *, own: bool = False, unread: Found | None = None
) -> list[LoadedBoard]:
    """Return the dashboards that the cluster's Grafanas load, then those that none loads, with why.

    With *own* only those among the loaded ones that kvobs brought; others are looked at for clashes alone.
    What may not be listed is in the facts' `unasked`, and is passed over here; Secrets with dashboards, which nobody
    asked for before, are put into *unread*.
    """
    seen = {(namespace_of(each), name_of(each)): each for each in _read_by_sidecars(cluster, facts.grafanas)}
    mounted = {(namespace_of(each), name_of(each)): each for each in _mounted(cluster)}
    ours = {each.where for each in facts.dashboards if each.ours}
    secrets = secrets_with_dashboards(cluster, facts.grafanas, {} if unread is None else unread)
    loaded = [board for each in seen.values() for board in _boards(each, facts.grafanas, ours)]
    loaded += [board for each in secrets for board in _boards(each, facts.grafanas, ours)]
    loaded += [board for key, each in mounted.items() if key not in seen for board in _boards(each, (), ours)]
    loaded += _operated(cluster, facts, ours)
    known = with_clashes(loaded)
    if own:
        return [each for each in known if each.ours]
    return [*known, *_not_loaded(cluster, facts.grafanas, {*seen, *mounted})]


# --- ConfigMaps and Secrets ---


def _list(cluster: ReadCluster, kind: str, **how: str | bool | None) -> list[Object]:
    try:
        return cluster.list(kind, **how)  # type: ignore[arg-type]
    except Forbidden:
        return []


def _read_by_sidecars(cluster: ReadCluster, grafanas: Sequence[Grafana]) -> Iterator[Object]:
    for sidecar in dict.fromkeys(each.sidecar for each in grafanas if each.sidecar):
        if sidecar.looks_into("ConfigMap"):
            found = _list(cluster, "ConfigMap", labels=sidecar.selector)
            yield from (each for each in found if reads(sidecar, each))


def _mounted(cluster: ReadCluster) -> Iterator[Object]:
    """The ConfigMaps that a Grafana mounts its dashboards from, as kube-prometheus has it."""
    names: dict[str, set[str]] = {}
    for kind in ("Deployment.apps", "StatefulSet.apps"):
        for workload in _list(cluster, kind):
            for name in mounted_dashboards(workload):
                names.setdefault(namespace_of(workload), set()).add(name)
    for namespace, wanted in names.items():
        yield from (each for each in _list(cluster, "ConfigMap", namespace=namespace) if name_of(each) in wanted)


def _boards(each: Object, grafanas: Sequence[Grafana], ours: set[str]) -> Iterator[LoadedBoard]:
    kind, namespace, name = kind_of(each), namespace_of(each), name_of(each)
    sidecars = (grafana.sidecar for grafana in grafanas if grafana.sidecar)
    sidecar = next((one for one in sidecars if one.looks_into(kind) and reads(one, each)), None)
    for key, text in files_of(each, encoded=kind == "Secret"):
        if not _json(key):
            continue
        where, edit = f"{namespace}/{name}[{key}]", f"kubectl -n {namespace} edit configmap {name}   # key {key}"
        if kind == "Secret":
            where, edit = f"Secret {where}", edit_secret(namespace, name, key)
        board = read_board(text, source=where, edit=edit, way="provisioned")
        yield LoadedBoard(
            source=board.source,
            document=board.document,
            findings=board.findings,
            folder=_folder(each, sidecar),
            file_name=key if sidecar is not None and not sidecar.unique_names else None,
            ours=where in ours,
        )


def _folder(each: Object, sidecar: Sidecar | None) -> str | None:
    if sidecar is None:
        return None
    annotation = sidecar.folder_annotation
    return annotations_of(each).get(annotation, "") if annotation else ""


def _not_loaded(
    cluster: ReadCluster, grafanas: Sequence[Grafana], loaded: set[tuple[str, str]]
) -> Iterator[LoadedBoard]:
    """The ConfigMaps with dashboards that no sidecar sees; only those are read that look like it by their metadata."""
    if not any(each.sidecar for each in grafanas):
        return
    looked_at = 0
    for head in _list(cluster, "ConfigMap", metadata_only=True):
        at = (namespace_of(head), name_of(head))
        finding = unseen(head, grafanas) if at not in loaded and may_hold_dashboards(head, grafanas) else None
        if finding is None or looked_at == MOST:
            continue
        looked_at += 1
        try:
            whole = cluster.get("ConfigMap", at[1], at[0])
        except Forbidden:
            continue
        for key, text in files_of(whole or {}):
            board = read_board(text, source=f"{at[0]}/{at[1]}[{key}]", edit="", way="file") if _json(key) else None
            if board is not None and board.document is not None:
                yield LoadedBoard(source=board.source, document=board.document, findings=(finding,))


def _json(key: str) -> bool:
    return key.endswith(".json")


# --- the Grafana Operator ---


def _operated(cluster: ReadCluster, facts: Facts, ours: set[str]) -> Iterator[LoadedBoard]:
    instances = [each for each in facts.grafanas if each.operated is not None]
    for each in _list(cluster, DASHBOARD_KIND):
        where = f"GrafanaDashboard {namespace_of(each)}/{name_of(each)}"
        edit = f"kubectl -n {namespace_of(each)} edit grafanadashboard {name_of(each)}"
        spec: Mapping[str, object] = each.get("spec") or {}
        text = _text(cluster, namespace_of(each), spec)
        if text is None:
            told = [key for key in ("url", "grafanaCom", "jsonnet", "jsonnetLib", "configMapRef") if spec.get(key)]
            said = (
                f"{where} takes its dashboard from its {' and '.join(told) or 'spec, which names none'}: not read here"
            )
            unread = found("KVO-901", subject=where, said=said, fix="kvobs verify --grafana URL")
            yield LoadedBoard(source=where, document=None, findings=(unread,), ours=where in ours)
            continue
        board = read_board(_with_inputs(text, spec), source=where, edit=edit, way="api")
        findings = board.findings
        if not any(_is_for(each, spec, grafana) for grafana in instances):
            findings = (*findings, _for_nobody(where, edit, spec, instances))
        folder = spec.get("folder")
        yield LoadedBoard(
            source=where,
            document=board.document,
            findings=findings,
            folder=folder if isinstance(folder, str) else None,
            ours=where in ours,
        )


def _text(cluster: ReadCluster, namespace: str, spec: Mapping[str, object]) -> str | bytes | None:
    if isinstance(spec.get("json"), str) and spec["json"]:
        return str(spec["json"])
    packed = spec.get("gzipJson")
    if isinstance(packed, str) and packed:
        try:
            unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
            return unpacker.decompress(base64.b64decode(packed, validate=True), _MAX_UNPACKED)
        except (binascii.Error, zlib.error):
            return ""
    held = spec.get("configMapRef")
    if isinstance(held, Mapping) and held.get("name") and held.get("key"):
        try:
            config_map = cluster.get("ConfigMap", str(held["name"]), namespace)
        except Forbidden:
            return None
        return dict(files_of(config_map or {})).get(str(held["key"]))
    return None


def _with_inputs(text: str | bytes, spec: Mapping[str, object]) -> str | bytes:
    """The text with the data sources put in that the object names for inputs: as the operator does, as plain text."""
    mapped = spec.get("datasources")
    for each in mapped if isinstance(mapped, list) else ():
        if isinstance(each, Mapping) and each.get("inputName"):
            name, source = f"${{{each['inputName']}}}", str(each.get("datasourceName") or "")
            text = text.replace(name, source) if isinstance(text, str) else text.replace(name.encode(), source.encode())
    return text


def _is_for(each: Object, spec: Mapping[str, object], grafana: Grafana) -> bool:
    near = namespace_of(each) == grafana.namespace or spec.get("allowCrossNamespaceImport") is True
    selector = spec.get("instanceSelector")
    return near and matches(selector if isinstance(selector, Mapping) else None, grafana.operated or {})


def _for_nobody(where: str, edit: str, spec: Mapping[str, object], instances: Sequence[Grafana]) -> Finding:
    here = ", ".join(f"{each.namespace}/{each.name} (labels {dict(each.operated or {})})" for each in instances)
    return found(
        "KVO-104",
        subject=where,
        said=f"{where} is for no Grafana here: its instanceSelector or its namespace fits none",
        fix=f"{edit}   # instanceSelector, allowCrossNamespaceImport",
        evidence=(f"instanceSelector: {spec.get('instanceSelector')}", f"Grafanas: {here or 'none'}"),
    )
