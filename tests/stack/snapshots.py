"""Clusters as files: `tests/data/snapshots/<case>/` holds raw objects and what must be made of them.

`objects.yaml`: the objects, as an API server lists them. `expected.yaml`: `says` (what must hold, one sentence),
`parts` (files of `_parts/` that are on the cluster too), `settings`, `drop` (objects of the parts that are not), and
what is expected: `facts`, `vllm`, `dcgm`. Expected mappings may name fewer keys than there are; lists are complete.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, is_dataclass, replace
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from kvobs.settings import Settings
from kvobs.stack.facts import Facts, Object, Prometheus
from kvobs.stack.objects import kind_of
from kvobs.stack.recognise import Snapshot, facts
from kvobs.stack.targets import monitor_of

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "snapshots"
TEMPLATES: dict[str, Object] = {
    path.stem: yaml.safe_load(path.read_text()) for path in (ROOT / "servicemonitors").glob("*.yaml")
}


@dataclass(frozen=True)
class Case:
    name: str
    expected: dict[str, Any]
    settings: Settings
    facts: Facts

    @property
    def prometheus(self) -> Prometheus:
        """The Prometheus object that the case is about."""
        return self.facts.prometheuses[0]


@cache
def load(folder: Path) -> Case:
    """Read a case."""
    expected = yaml.safe_load((folder / "expected.yaml").read_text())
    files = [DATA / "_parts" / f"{part}.yaml" for part in expected.get("parts", ())]
    files += [path for path in [folder / "objects.yaml"] if path.exists()]
    objects: dict[str, list[Object]] = {}
    for each in (each for file in files for each in yaml.safe_load_all(file.read_text())):
        if f"{each['kind']} {each['metadata']['name']}" not in expected.get("drop", ()):
            objects.setdefault(kind_of(each), []).append(each)
    settings = Settings(**expected.get("settings", {}))
    snapshot = Snapshot(server_version="v1.36.3", kinds=frozenset(objects), objects=objects)
    return Case(folder.name, expected, settings, facts(snapshot, settings=settings))


def cases(what: str) -> list[Case]:
    """The cases that expect something of *what*."""
    folders = sorted(path for path in DATA.iterdir() if not path.name.startswith("_"))
    return [case for case in map(load, folders) if what in case.expected]


def plain(value: Any) -> Any:
    """A value as YAML would hold it."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, frozenset):
        return sorted(map(plain, value))
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    return value


def as_far_as(expected: Any, actual: Any) -> Any:
    """*actual* cut down to the keys that *expected* names, so that the two can be compared as a whole."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        return {key: as_far_as(expected[key], each) for key, each in actual.items() if key in expected}
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        return [as_far_as(want, have) for want, have in zip(expected, actual, strict=True)]
    return actual


def applied(facts: Facts, objects: tuple[Object, ...]) -> Facts:
    """The facts after *objects* were applied by us."""
    ours = [monitor_of(each, each["kind"], ours=True) for each in objects]
    return replace(facts, monitors=(*facts.monitors, *ours))
