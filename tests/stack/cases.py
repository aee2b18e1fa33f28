"""Whole clusters as files: `tests/data/clusters/<case>/`, from what a look lists to the plan. See the README there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from kvobs import errors
from kvobs.settings import Settings
from kvobs.stack.applyset import PART_OF_LABEL
from kvobs.stack.choice import choose
from kvobs.stack.facts import Facts, Object
from kvobs.stack.objects import MANAGED_BY, OURS, PART_OF, kind_of, ref
from kvobs.stack.plan import Plan, Step, make_plan
from kvobs.stack.record import ABSENT
from kvobs.stack.targets import ENDPOINTS
from kvobs.use_cases.inputs import read_dashboards, shipped_monitors
from kvobs.use_cases.look import look

from .listed import BUILT_IN, Listed

ROOT = Path(__file__).parents[1] / "data" / "clusters"
PARTS = ROOT / "_parts"

_CLUSTER_KEYS = {"parts", "without", "served", "denied"}
_PLAN_KEYS = {"namespace", "prometheus", "grafana", "datasource", "steps", "notes"}
_OPTIONAL_PLAN_KEYS = {"release", "sidecar", "refused", "scraped"}
_ERROR_KEYS = {"class", "exit_code", "message", "hint"}
_NOT_TOLD = {MANAGED_BY: OURS, PART_OF: OURS}
"""Labels that everything of ours has."""
_SHIPPED = "15s"
"""How often a monitor scrapes as it is shipped."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One folder: what stands on a cluster, what kvobs is told, what it is to plan."""

    name: str
    why: str
    objects: tuple[Object, ...]
    served: frozenset[str]
    denied: frozenset[str]
    """Kinds that may not be listed."""
    settings: Settings
    told: Mapping[str, Any]
    """What `settings.yaml` says."""
    plan: Mapping[str, Any] | None
    error: Mapping[str, Any] | None

    def look(self, settings: Settings | None = None) -> Facts:
        """Return the facts, as a look at this cluster makes them."""
        return look(Listed(self.objects, self.served, self.denied), settings or self.settings)

    def planned(self, settings: Settings | None = None) -> Plan:
        """Return the plan for this cluster."""
        settings = settings or self.settings
        facts = self.look(settings)
        return make_plan(
            facts,
            choose(facts, settings),
            settings,
            dashboards=read_dashboards(settings.dashboards).documents,
            monitors=shipped_monitors(),
        )


def folders() -> list[Path]:
    """Return the folder of every case."""
    return sorted(path for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith("_"))


@cache
def load(folder: Path) -> Case:
    """Read a case; a key or file that nothing reads is an error."""
    files = {path.name: path for path in folder.iterdir()}
    cluster = _mapping(files.pop("cluster.yaml", None), _CLUSTER_KEYS)
    told = _mapping(files.pop("settings.yaml", None), {each.name for each in fields(Settings)})
    expected = _mapping(files.pop("expected.yaml"), {"why", "plan", "error"})
    assert ("plan" in expected) != ("error" in expected), f"{folder.name}: a plan or an error"
    plan, error = expected.get("plan"), expected.get("error")
    if plan is not None:
        _refuse_unknown(folder, plan, needed=_PLAN_KEYS, optional=_OPTIONAL_PLAN_KEYS)
    if error is not None:
        _refuse_unknown(folder, error, needed=_ERROR_KEYS)
        assert issubclass(getattr(errors, error["class"]), errors.KvobsError)
    paths = [PARTS / f"{part}.yaml" for part in cluster.get("parts", ())]
    assert all(name.endswith(".yaml") for name in files), f"{folder.name}: not YAML: {sorted(files)}"
    paths += [files[name] for name in sorted(files)]
    objects = [each for path in paths for each in yaml.safe_load_all(path.read_text()) if each]
    without = set(cluster.get("without", ()))
    gone = {in_words(each) for each in objects} & without
    assert gone == without, f"{folder.name}: not there to be left out: {sorted(without - gone)}"
    objects = [each for each in objects if in_words(each) not in without]
    return Case(
        name=folder.name,
        why=expected["why"],
        objects=(*_namespaces(objects), *objects),
        served=frozenset({*BUILT_IN, *map(kind_of, objects), *cluster.get("served", ())}),
        denied=frozenset(cluster.get("denied", ())),
        settings=Settings(**{key: tuple(v) if isinstance(v, list) else v for key, v in told.items()}),
        told=told,
        plan=plan,
        error=error,
    )


def _mapping(path: Path | None, keys: set[str]) -> dict[str, Any]:
    if path is None:
        return {}
    read = yaml.safe_load(path.read_text())
    assert isinstance(read, dict), f"{path}: not a mapping"
    assert set(read) <= keys, f"{path}: unknown: {sorted(set(read) - keys)}"
    return read


def _refuse_unknown(folder: Path, given: Mapping[str, Any], *, needed: set[str], optional: Iterable[str] = ()) -> None:
    odd = (set(given) ^ needed) - set(optional)
    assert not odd, f"{folder.name}: lacks or has too much: {sorted(odd)}"


def _namespaces(objects: Sequence[Object]) -> list[Object]:
    """The namespaces that *objects* live in and that they do not bring themselves."""
    brought = {each["metadata"]["name"] for each in objects if each["kind"] == "Namespace"}
    used = {each["metadata"]["namespace"] for each in objects if "namespace" in each["metadata"]}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        for name in sorted((used | {"default"}) - brought)
    ]


def in_words(each: Object) -> str:
    """An object as the files name it: `Service mon/prometheus`."""
    return str(ref(each))


# --- a plan in short ---


@dataclass(frozen=True, kw_only=True)
class Short:
    """What the files say of a plan."""

    head: dict[str, Any]
    """Namespace, Prometheus, Grafana, datasource, release, sidecar: by their names in `expected.yaml`."""
    steps: dict[str, dict[str, Any]]
    """Step -> what it applies or sets -> the labels (the value) that decide."""
    notes: dict[str, str]
    """Id -> the texts."""
    refused: str
    """Why dashboards are refused, all reasons together."""
    order: tuple[str, ...] = field(default=())


def in_short(plan: Plan) -> Short:
    """Return what the files say of *plan*."""
    target = plan.target
    sidecar = target.sidecar
    steps: dict[str, dict[str, Any]] = {}
    for step in plan.steps:
        steps.setdefault(step.id, {}).update(_of_step(step))
    notes: dict[str, list[str]] = {}
    for note in plan.notes:
        notes.setdefault(note.id, []).append(note.text)
    return Short(
        head={
            "namespace": target.namespace,
            "prometheus": f"{target.prometheus.namespace}/{target.prometheus.name}",
            "grafana": f"{target.grafana.namespace}/{target.grafana.name}" if target.grafana else None,
            "datasource": target.datasources.get("prometheus", (None,))[0],
            "release": f"{target.release.namespace}/{target.release.name}" if target.release else None,
            "sidecar": sidecar
            and {
                "label": sidecar.label,
                "value": sidecar.label_value,
                "namespaces": sidecar.namespaces and list(sidecar.namespaces),
                "folder_annotation": sidecar.folder_annotation,
            },
        },
        steps=steps,
        notes={key: "\n".join(texts) for key, texts in notes.items()},
        refused="\n".join(plan.refused.values()),
        order=tuple(steps),
    )


def _of_step(step: Step) -> dict[str, Any]:
    if step.secret is not None:
        return {str(step.secret): {}}
    if step.release is not None:
        return {f"Release {step.release.namespace}/{step.release.name}": {}}
    if step.fields:
        objects = {str(each.ref) for each in step.fields}
        return {
            at: {".".join(each.path): each.value for each in step.fields if str(each.ref) == at}
            for at in sorted(objects)
        }
    return in_short_objects(step.objects, alike=step.id == "dashboards")


def in_short_objects(objects: Iterable[Object], *, alike: bool = False) -> dict[str, Any]:
    """Return what the files say of *objects*; those that are *alike* are one, `KIND NAMESPACE/*`."""
    short = {}
    for each in objects:
        metadata = each["metadata"]
        labels = {
            key: value
            for key, value in (metadata.get("labels") or {}).items()
            if key != PART_OF_LABEL and _NOT_TOLD.get(key) != value
        }
        said: dict[str, Any] = dict(labels)
        if metadata.get("annotations"):
            said["annotations"] = dict(metadata["annotations"])
        if "instanceSelector" in (each.get("spec") or {}):
            said["instances"] = each["spec"]["instanceSelector"]
        if each["kind"] in ENDPOINTS:
            (interval,) = {endpoint["interval"] for endpoint in each["spec"][ENDPOINTS[each["kind"]]]}
            said |= {} if interval == _SHIPPED else {"interval": interval}
        name = f"{each['kind']} {metadata['namespace']}/*" if alike else in_words(each)
        assert short.setdefault(name, said) == said, f"{name} are not alike"
    return short


# --- the same cluster after the plan was carried out ---


def after(case: Case, plan: Plan, parent: Object) -> Case:
    """Return the cluster of *case* as a second run finds it: with what *plan* applied, and the ApplySet's parent."""
    changed = {str(each.ref): each for step in plan.steps for each in step.fields}
    objects = [each for each in case.objects if in_words(each) not in changed]
    for name in changed:
        live = next(each for each in case.objects if in_words(each) == name)
        objects.append(_with_fields(live, plan, name))
    made = [each for step in plan.steps for each in step.objects]
    kinds = {*case.served, *map(kind_of, made)}
    return Case(
        name=case.name, why=case.why, objects=(*objects, *made, parent), served=frozenset(kinds), denied=case.denied,
        settings=case.settings, told=case.told, plan=case.plan, error=case.error,
    )  # fmt: skip


def _with_fields(live: Object, plan: Plan, name: str) -> Object:
    document: Any = yaml.safe_load(yaml.safe_dump(live))
    owned: dict[str, Any] = {}
    for change in (each for step in plan.steps for each in step.fields if str(each.ref) == name):
        assert change.value is not ABSENT
        here, mine = document, owned
        for key in change.path[:-1]:
            here, mine = here.setdefault(key, {}), mine.setdefault(f"f:{key}", {})
        here[change.path[-1]] = change.value
        mine[f"f:{change.path[-1]}"] = {}
    entry = {"manager": OURS, "operation": "Apply", "apiVersion": live["apiVersion"], "fieldsV1": owned}
    document["metadata"].setdefault("managedFields", []).append(entry)
    return document  # type: ignore[no-any-return]
