"""Recognise Grafana: its sidecars, what they load, the datasources it is provisioned with."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from .facts import DatasourceFact, Grafana, LoadedDashboard, Object, Ref, Service, Sidecar
from .objects import PART_OF_LABEL, is_ours
from .provisioned import Found, files_of, read_datasources, text_of
from .selectors import matches
from .workloads import (
    containers_of,
    environment_of,
    helm_release,
    image_name,
    labels_of,
    name_of,
    namespace_of,
    selects_pod,
    template_of,
    tracked_by,
)

_IMAGES = ("grafana", "grafana-oss", "grafana-enterprise")
_PORT = 3000
_DATASOURCE_FOLDER = "provisioning/datasources"


@dataclass(frozen=True, slots=True)
class SidecarLabels:
    """What to list so that the Grafanas of a cluster can be understood."""

    dashboards: tuple[str, ...]
    """Label selectors of dashboards (`grafana_dashboard=1`)."""
    datasources: tuple[str, ...]
    """Label selectors of datasources."""
    mounted: tuple[tuple[str, str, str], ...]
    """(kind, namespace, name) of the ConfigMaps and Secrets that a Grafana mounts its datasources from."""


def sidecar_labels(
    deployments: Iterable[Object], statefulsets: Iterable[Object], *, told: str | None = None
) -> SidecarLabels:
    """Return what the Grafanas among these workloads load their dashboards and datasources by.

    The workload *told* (NAMESPACE/NAME) is one whatever it looks like.
    """
    dashboards: set[str] = set()
    sources: set[str] = set()
    mounted: set[tuple[str, str, str]] = set()
    for workload, _ in _grafanas(deployments, statefulsets, told):
        for word, found in (("dashboard", dashboards), ("datasource", sources)):
            sidecar = _sidecar(workload, word)
            if sidecar is not None:
                found.add(sidecar.selector)
        mounted.update(_mounted(workload))
    return SidecarLabels(tuple(sorted(dashboards)), tuple(sorted(sources)), tuple(sorted(mounted)))


def grafanas(
    deployments: Iterable[Object],
    statefulsets: Iterable[Object],
    *,
    raw_services: Sequence[Object],
    services: Sequence[Service],
    config_maps: Sequence[Object],
    secrets: Sequence[Object],
    unread: Found,
    told: str | None = None,
) -> tuple[Grafana, ...]:
    """Return the Grafanas among these workloads; which datasource files cannot be read goes into *unread*.

    The workload *told* (NAMESPACE/NAME) is one whatever it looks like.
    """
    headless = {
        (namespace_of(each), name_of(each))
        for each in raw_services
        if (each.get("spec") or {}).get("clusterIP") == "None"
    }
    found = []
    for workload, kind in _grafanas(deployments, statefulsets, told):
        service, port = _service(workload, services, headless)
        source = _sidecar(workload, "datasource")
        user, password = (_setting(workload, f"GF_SECURITY_ADMIN_{what}") for what in ("USER", "PASSWORD"))
        secret, key = password if isinstance(password, tuple) else (None, "admin-password")
        found.append(
            Grafana(
                namespace=namespace_of(workload),
                name=name_of(workload),
                kind=kind,
                sidecar=_sidecar(workload, "dashboard"),
                service=service,
                service_port=port,
                release=helm_release(workload),
                tracked_by=tracked_by(workload),
                admin_secret=secret,
                admin_password_key=key,
                admin_user=user or "admin",
                datasources=tuple(_datasources(workload, source, config_maps, secrets, unread)),
            )
        )
    return tuple(found)


def loaded_dashboards(
    sidecars: Sequence[Sidecar], config_maps: Iterable[Object], *, own_sets: Collection[str]
) -> tuple[LoadedDashboard, ...]:
    """Return the dashboards in *config_maps* that one of the *sidecars* writes to its Grafana.

    A file that is not a JSON object is one that Grafana cannot load either, and is left out. What is a member of
    *own_sets* (IDs of ApplySets) is ours.
    """
    found = []
    for each in config_maps:
        if not any(sidecar.looks_into("ConfigMap") and reads(sidecar, each) for sidecar in sidecars):
            continue
        for key, text in files_of(each):
            if not key.endswith(".json"):
                continue
            try:
                document = json.loads(text)
            except (ValueError, RecursionError):
                continue
            if isinstance(document, dict):
                found.append(
                    LoadedDashboard(
                        uid=text_of(document.get("uid")),
                        title=text_of(document.get("title")),
                        where=f"{namespace_of(each)}/{name_of(each)}[{key}]",
                        ours=is_ours(each, own_sets),
                        carrier=Ref("ConfigMap", namespace_of(each), name_of(each)),
                        applyset=labels_of(each).get(PART_OF_LABEL),
                    )
                )
    return tuple(found)


def _grafanas(
    deployments: Iterable[Object], statefulsets: Iterable[Object], told: str | None
) -> Iterator[tuple[Object, str]]:
    for kind, workloads in (("Deployment", deployments), ("StatefulSet", statefulsets)):
        for each in workloads:
            if f"{namespace_of(each)}/{name_of(each)}" == told or _is_grafana(each):
                yield each, kind


def _is_grafana(workload: Object) -> bool:
    """Whether it runs Grafana: by its image, else (mirrors and rebuilds have other names) by what it is called."""
    template = template_of(workload)
    labels = labels_of(workload), (template.get("metadata") or {}).get("labels") or {}
    return any(each.get("app.kubernetes.io/name") == "grafana" for each in labels) or any(
        _names_grafana(each) for each in containers_of(template.get("spec") or {}, sidecars=False)
    )


def _names_grafana(container: Object) -> bool:
    return image_name(container) in _IMAGES or container.get("name") == "grafana"


def _server(workload: Object) -> Object:
    """The container that Grafana runs in; the first that is no sidecar, where none says so."""
    containers = containers_of(template_of(workload).get("spec") or {}, sidecars=False)
    others = (each for each in containers if not _is_k8s_sidecar(each))
    return next((each for each in containers if _names_grafana(each)), next(others, {}))


def _is_k8s_sidecar(container: Object) -> bool:
    return image_name(container).endswith("k8s-sidecar") or "-sc-" in (container.get("name") or "")


def _sidecar(workload: Object, word: str) -> Sidecar | None:
    """The k8s-sidecar of *workload* for *word* (`dashboard`, `datasource`).

    The chart names it `…-sc-<word>`; by hand it may have any name, and its label then says what it is for.
    One that only runs before Grafana starts (an init container) counts where there is no other.
    """
    spec = template_of(workload).get("spec") or {}
    running = containers_of(spec)
    at_start = [each for each in spec.get("initContainers") or () if each.get("restartPolicy") != "Always"]
    for container in (*running, *at_start):
        name, environment = container.get("name") or "", environment_of(container)
        label = environment.get("LABEL")
        if not label or not _is_k8s_sidecar(container):
            continue
        said_by_name = "-sc-" in name or "dashboard" in name or "datasource" in name
        if word not in (name if said_by_name else label):
            continue
        return Sidecar(
            label=label,
            label_value=environment.get("LABEL_VALUE") or None,
            namespaces=_namespaces(environment.get("NAMESPACE"), own=namespace_of(workload)),
            folder_annotation=environment.get("FOLDER_ANNOTATION") or None,
            resource=environment.get("RESOURCE") or "configmap",
            only_at_start=container in at_start,
            unique_names=(environment.get("UNIQUE_FILENAMES") or "").lower() == "true",
        )
    return None


def _namespaces(text: str | None, *, own: str) -> tuple[str, ...] | None:
    names = tuple(name for name in (part.strip() for part in (text or "").split(",")) if name)
    if "ALL" in names:
        return None
    return names or (own,)


def _setting(workload: Object, variable: str) -> str | tuple[str, str] | None:
    """What Grafana is told by *variable*: the value, or the (Secret, key) that holds it; None: nothing known."""
    for each in _server(workload).get("env") or ():
        if each["name"] == variable:
            held = (each.get("valueFrom") or {}).get("secretKeyRef") or {}
            secret, key = text_of(held.get("name")), text_of(held.get("key"))
            return (secret, key) if secret and key else text_of(each.get("value"))
    return None


def _service(
    workload: Object, services: Sequence[Service], headless: set[tuple[str, str]]
) -> tuple[str | None, int | None]:
    """The Service (and its port) that leads to Grafana's own port, one with an address first."""
    labels = (template_of(workload).get("metadata") or {}).get("labels") or {}
    server = _server(workload)
    ports = {p.get("name"): int(p["containerPort"]) for p in server.get("ports") or ()}
    given = environment_of(server).get("GF_SERVER_HTTP_PORT", "")
    wanted = int(given) if given.isdecimal() else _PORT
    for each in sorted(services, key=lambda s: ((s.namespace, s.name) in headless, s.name)):
        if not selects_pod(each, namespace_of(workload), labels):
            continue
        for port in each.ports:
            if (ports.get(port.target) if isinstance(port.target, str) else port.target) == wanted:
                return each.name, port.port
    return None, None


def reads(sidecar: Sidecar, each: Object) -> bool:
    """Whether *sidecar* looks at an object with these labels, in this namespace."""
    if sidecar.namespaces is not None and namespace_of(each) not in sidecar.namespaces:
        return False
    if sidecar.label_value is None:
        return sidecar.label in labels_of(each)
    return matches({"matchLabels": {sidecar.label: sidecar.label_value}}, labels_of(each))


def mounted_dashboards(workload: Object) -> set[str]:
    """Names of the ConfigMaps that *workload* mounts dashboards from; none where it is no Grafana."""
    if not _is_grafana(workload):
        return set()
    paths = {mount["name"]: mount.get("mountPath", "") for mount in _server(workload).get("volumeMounts") or ()}
    found: set[str] = set()
    for volume in (template_of(workload).get("spec") or {}).get("volumes") or ():
        if "dashboard" not in paths.get(volume["name"], "").lower():
            continue
        held = [volume, *((volume.get("projected") or {}).get("sources") or ())]
        found.update(each["configMap"]["name"] for each in held if (each.get("configMap") or {}).get("name"))
    return found


def _mounted(workload: Object) -> set[tuple[str, str, str]]:
    """The ConfigMaps and Secrets that Grafana mounts into its datasource folder."""
    server = _server(workload)
    volumes = {
        mount["name"] for mount in server.get("volumeMounts") or () if _DATASOURCE_FOLDER in mount.get("mountPath", "")
    }
    found = set()
    for volume in (template_of(workload).get("spec") or {}).get("volumes") or ():
        if volume["name"] not in volumes:
            continue
        if "configMap" in volume:
            found.add(("ConfigMap", namespace_of(workload), volume["configMap"]["name"]))
        elif "secret" in volume:
            found.add(("Secret", namespace_of(workload), volume["secret"]["secretName"]))
    return found


def _datasources(
    workload: Object,
    sidecar: Sidecar | None,
    config_maps: Sequence[Object],
    secrets: Sequence[Object],
    unread: Found,
) -> Iterator[DatasourceFact]:
    mounted = _mounted(workload)
    for kind, objects in (("ConfigMap", config_maps), ("Secret", secrets)):
        watching = sidecar if sidecar is not None and sidecar.looks_into(kind) else None
        for each in objects:
            place = (kind, namespace_of(each), name_of(each))
            if place not in mounted and not (watching is not None and reads(watching, each)):
                continue
            for key, text in files_of(each, encoded=kind == "Secret"):
                if key.endswith((".yaml", ".yml")):
                    where = f"{kind} {namespace_of(each)}/{name_of(each)}[{key}]"
                    yield from read_datasources(text, where, unread)
