"""Dark (and healthy) panels as files, see `tests/data/dark/README.md`; judged on a real Prometheus."""

from __future__ import annotations

import json
from base64 import b64encode
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Self

import yaml

from kvobs.adapters.prometheus import Address, Prometheus
from kvobs.health.loading import LoadedBoard, read_board, with_clashes
from kvobs.health.sources import Sources, sources_of
from kvobs.health.verdict import BoardVerdict
from kvobs.settings import Settings, Verification
from kvobs.stack.facts import DatasourceFact, Object
from kvobs.stack.objects import kind_of
from kvobs.stack.recognise import Snapshot, facts
from kvobs.stack.selectors import matches, parse_selector
from kvobs.stack.workloads import labels_of, name_of, namespace_of
from kvobs.use_cases.look import Discovery
from kvobs.use_cases.progress import Silent
from kvobs.use_cases.verifying.cluster_boards import boards_of_cluster
from kvobs.use_cases.verifying.cluster_evidence import cluster_evidence
from kvobs.use_cases.verifying.datasource_probe import unreachable_sources
from kvobs.use_cases.verifying.one_round import one_round
from kvobs.use_cases.verifying.scene import Scene

from ..prometheus_server import Binary, PrometheusServer
from .replay import Scrape, replayed
from .told import Told

DATA = Path(__file__).parents[1] / "data"
DARK = DATA / "dark"
VERSION = "v1.36.3"
NOW_S = 1_767_225_600.0
"""When the cases' dashboards are looked at, unless they say otherwise."""
_MOST_SERVERS = 4
"""Servers that are kept running for the cases to come."""


@dataclass(frozen=True)
class Case:
    """One folder."""

    folder: Path
    expected: dict[str, Any]

    @property
    def name(self) -> str:
        """Its cause and its name."""
        return f"{self.folder.parent.name}/{self.folder.name}"

    @property
    def now_s(self) -> float:
        """When the dashboard is looked at."""
        return float(self.expected.get("now", NOW_S))

    def series(self) -> list[str]:
        """What the server holds, as OpenMetrics text."""
        texts = [path.read_text() for path in sorted(self.folder.glob("*.om"))]
        for each in self.expected.get("scrapes", ()):
            rest = dict(each)
            text = "\n".join(self.exposition(name) for name in _listed(rest.pop("exposition")))
            texts.append(replayed(Scrape(text=text, **rest), self.now_s))
        return texts

    def exposition(self, name: str) -> str:
        """The text of an exposition that the case names."""
        own = self.folder / name
        return (own if own.exists() else DATA / "metrics" / name).read_text()


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


@cache
def cases() -> list[Case]:
    """Every case."""
    folders = sorted(path.parent for path in DARK.glob("*/*/expected.yaml"))
    return [Case(folder, yaml.safe_load((folder / "expected.yaml").read_text())) for folder in folders]


class Servers:
    """Servers for cases; those that hold the same share one, since nothing is written. A few are kept."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[object, ...], PrometheusServer] = OrderedDict()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self._kept:
            self._kept.popitem()[1].__exit__()

    def of(self, case: Case, binary: Binary) -> PrometheusServer:
        """Return a server that runs and holds what the case says."""
        series, flags = case.series(), tuple(case.expected.get("flags", ()))
        key = (binary, "".join(series), flags)
        if key not in self._kept:
            self._kept[key] = PrometheusServer(binary=binary, om_text=series, flags=flags).__enter__()
        self._kept.move_to_end(key)
        while len(self._kept) > _MOST_SERVERS:
            self._kept.popitem(last=False)[1].__exit__()
        return self._kept[key]

    def without_one(self, case: Case, binary: Binary) -> str:
        """Return the address of a server that was stopped."""
        with PrometheusServer(binary=binary, om_text=case.series()) as server:
            server.stop()
            return server.url


def judged(case: Case, servers: Servers, binary: Binary = "3") -> tuple[BoardVerdict, ...]:
    """Return the verdict of each dashboard of a case."""
    url = servers.without_one(case, binary) if case.expected.get("away") else servers.of(case, binary).url
    prometheus = Prometheus.at(Address(url=url), patience_s=0.5)
    try:
        return one_round(_scene(case, prometheus), _verification(case), now_s=case.now_s, progress=Silent()).boards
    finally:
        prometheus.close()


def _verification(case: Case) -> Verification:
    return Verification(variables=tuple(case.expected.get("variables", ())))


def _scene(case: Case, prometheus: Prometheus) -> Scene:
    objects = _objects(case)
    cluster = None if objects is None else _Objects(objects)
    known = None if objects is None else facts(_snapshot(objects), settings=Settings())
    owner = known.prometheuses[0] if known and known.prometheuses else None
    grafana = known.grafanas[0] if known and known.grafanas else None
    scene = Scene(
        asked=Told(prometheus, case.folder, case.exposition),
        prometheus=prometheus.place,
        boards=_boards(case),
        sources=_sources(case),
    )
    if cluster is None or known is None:
        return scene
    evidence = cluster_evidence(cluster, known, owner)
    scene = replace(scene, cluster=replace(evidence, **case.expected.get("versions", {})))
    if not case.expected.get("loaded"):
        return scene
    sources = sources_of(grafana)
    return replace(
        scene,
        boards=tuple(boards_of_cluster(cluster, known)),
        sources=sources,
        unreachable=unreachable_sources(sources.known or (), grafana=grafana, prometheus=owner, facts=known),
    )


def _boards(case: Case) -> tuple[LoadedBoard, ...]:
    read = [
        read_board(_text(case, path), source=path.name, edit=f"$EDITOR {path.name}", way="file")
        for path in sorted(case.folder.glob("dashboard*.json"))
    ]
    return tuple(with_clashes(read))


def _text(case: Case, path: Path) -> str:
    """A dashboard's text, made larger where the case says so: a file of that size is none to keep here."""
    text = path.read_text()
    document = json.loads(text) if path.name in case.expected.get("padded", {}) else None
    if document is None:
        return text
    for number in range(case.expected["padded"][path.name]):
        document["panels"].append({"type": "text", "title": f"Text {number}", "options": {"content": "x" * 1000}})
    return json.dumps(document)


def _sources(case: Case) -> Sources:
    told = case.expected.get("datasources")
    if told is None:
        return Sources(known=None)
    plain = {"type": "prometheus", "url": "http://prometheus:9090", "is_default": False, "where": "a Secret"}
    return Sources(known=tuple(DatasourceFact(**{**plain, **each}) for each in told), complete=True)


class _Objects:
    """The objects of a case, as a cluster lists them."""

    def __init__(self, objects: Mapping[str, list[Object]]) -> None:
        self._objects = objects

    def server_version(self) -> str:
        """The API server's version."""
        return VERSION

    def discover(self) -> Discovery:
        """Not asked: a case that wants it has to bring it."""
        raise AssertionError("no case says which kinds are served")

    def list(
        self,
        kind: str,
        *,
        namespace: str | None = None,
        labels: str | None = None,
        metadata_only: bool = False,
    ) -> list[Object]:
        """The objects of a kind, in one namespace or in all."""
        selector = parse_selector(labels) if labels else {}
        return [
            each
            for each in self._objects.get(kind, ())
            if namespace in (None, namespace_of(each)) and matches(selector, labels_of(each))
        ]

    def get(self, kind: str, name: str, namespace: str | None = None) -> Object | None:
        """One object."""
        return next((each for each in self.list(kind, namespace=namespace) if name_of(each) == name), None)

    def proxy_get(self, namespace: str, service: str, port: str | int, path: str) -> tuple[int, bytes]:
        """Not asked: a case that wants it has to bring it."""
        raise AssertionError("no case has a service that answers")


def _objects(case: Case) -> dict[str, list[Object]] | None:
    files = sorted((case.folder / "cluster").glob("*.yaml"))
    files += [DATA / "snapshots" / "_parts" / f"{part}.yaml" for part in case.expected.get("parts", ())]
    if not files:
        return None
    objects: dict[str, list[Object]] = {}
    for each in (each for file in files for each in yaml.safe_load_all(file.read_text())):
        if f"{each['kind']} {each['metadata']['name']}" not in case.expected.get("drop", ()):
            objects.setdefault(kind_of(each), []).append(_as_stored(each))
    return objects


def _as_stored(each: Object) -> Object:
    """An object as the API server keeps it: what a Secret says as text is base64 beside its other data."""
    texts: Mapping[str, str] = each.get("stringData") or {}
    if not texts:
        return each
    stored = {key: b64encode(text.encode()).decode() for key, text in texts.items()}
    return {**{key: value for key, value in each.items() if key != "stringData"}, "data": stored}


def _snapshot(objects: Mapping[str, list[Object]]) -> Snapshot:
    return Snapshot(server_version=VERSION, kinds=frozenset(objects), objects=objects)
