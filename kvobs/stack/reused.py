"""A stack that somebody else made: which of its parts are meant, and what keeps them from being used. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import Undecided, UsageError
from ..settings import DEFAULT_NAMESPACE, Settings
from .candidates import chosen_grafana, chosen_prometheus
from .control_plane import is_of_platform
from .datasources import chosen_datasources, datasource_notes, given_datasources, known_datasources
from .facts import Facts, Grafana, Prometheus
from .grafana_operator import instances_for
from .images import image_values
from .notes import Note
from .record import Record
from .target import Target


def reused_stack(facts: Facts, settings: Settings, record: Record, home: str | None) -> Target:
    """Return the target where the stack is somebody else's; our objects go to *home*, None: to its namespace.

    Raises `Undecided` where it is not clear what is meant, or `UsageError`.
    """
    prometheus, notes = chosen_prometheus(facts, settings)
    grafana = chosen_grafana(facts, settings)
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
    if image_values(settings.image_registry, settings.image_pull_secrets):
        raise UsageError(
            "--image-registry and --image-pull-secret are for a stack of kvobs' own, but Prometheus"
            f" {prometheus.namespace}/{prometheus.name} is reused, and beside it kvobs runs nothing that has an image",
            hint="leave them out, or set global.imageRegistry and global.imagePullSecrets in the values of its release",
        )
    datasources = chosen_datasources(grafana, prometheus, settings) if grafana else given_datasources(settings)
    return Target(
        # OpenShift's Prometheus for user workloads reads no monitor from its own namespace.
        namespace=home or (DEFAULT_NAMESPACE if is_of_platform(prometheus.namespace) else prometheus.namespace),
        prometheus=prometheus,
        grafana=grafana,
        sidecar=grafana.sidecar if grafana else None,
        datasources=datasources,
        known=known_datasources(grafana),
        release=None,
        admin_secret=None,
        live=True,
        record=record,
        instances=_instances(grafana, datasources),
        notes=(*notes, *_grafana_notes(grafana, prometheus, settings)),
    )


def _instances(grafana: Grafana | None, datasources: Mapping[str, tuple[str, str | None]]) -> Mapping[str, Any] | None:
    if grafana is None or grafana.operated is None or grafana.sidecar is not None:
        return None
    return instances_for(grafana, datasources.get("prometheus", (None,))[0])


def _grafana_notes(grafana: Grafana | None, prometheus: Prometheus, settings: Settings) -> tuple[Note, ...]:
    if grafana is None:
        return (Note("no-grafana", "No dashboards are loaded, as --grafana none asks; kvobs render has them."),)
    return datasource_notes(grafana, prometheus, settings)
