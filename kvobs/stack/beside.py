"""A further install on a cluster: the same Prometheus as the first one, and only the monitors that it lacks. Pure."""

from __future__ import annotations

from ..errors import Undecided, UsageError
from ..settings import DEFAULT_RELEASE, Settings
from .facts import Facts, Object
from .installs import BESIDE, beside_notes
from .record import Record, read_record
from .target import Target
from .workloads import namespace_of


def beside_target(facts: Facts, settings: Settings, record: Record, *, namespace: str, first: Object) -> Target:
    """Return the target of an install in *namespace* that keeps to the one whose parent is *first*.

    Raises `UsageError` for a flag that only the first one can be told, `Undecided` where what it works for is gone.
    """
    at = namespace_of(first)
    told = read_record(first).settings
    _refuse_flags(settings, namespace=namespace, first=at, told={key: str(told.get(key)) for key in _CHOSEN})
    prometheus = next((p for p in facts.prometheuses if f"{p.namespace}/{p.name}" == told.get("prometheus")), None)
    if prometheus is None:
        raise Undecided(
            f"kvobs in namespace {at} works for Prometheus {told.get('prometheus')}, which is not there",
            hint=f"finish or mend that install first: kvobs install --namespace {at}",
        )
    uids = told.get("uids") or {}
    record_here = Record(settings={**record.settings, BESIDE: at})
    return Target(
        namespace=namespace,
        prometheus=prometheus,
        grafana=next((g for g in facts.grafanas if f"{g.namespace}/{g.name}" == told.get("grafana")), None),
        sidecar=None,
        datasources={str(kind): (str(uid), None) for kind, uid in uids.items()},
        known=None,
        release=None,
        admin_secret=None,
        live=True,
        record=record,
        beside=at,
        notes=beside_notes(facts.parents, namespace, record_here),
    )


_CHOSEN = ("prometheus", "grafana")


def _refuse_flags(settings: Settings, *, namespace: str, first: str, told: dict[str, str]) -> None:
    """Raise `UsageError` for what would be in force nowhere: passing over it would let the user believe otherwise."""
    flags = {
        "--stack install": settings.stack == "install",
        f"--prometheus {settings.prometheus}": settings.prometheus not in (None, told["prometheus"]),
        f"--grafana {settings.grafana}": settings.grafana not in (None, "none", told["grafana"]),
        "--datasource": bool(settings.datasources),
        "--dashboard": bool(settings.dashboards),
        f"--dcgm {settings.dcgm}": settings.dcgm not in (None, "none"),
        "--values and --set": bool(settings.values or settings.set_values),
        "--chart and --chart-version": bool(settings.chart or settings.chart_version),
        "--image-registry and --image-pull-secret": bool(settings.image_registry or settings.image_pull_secrets),
        f"--release {settings.release}": settings.release != DEFAULT_RELEASE,
    }
    for flag in (flag for flag, given in flags.items() if given):
        raise UsageError(
            f"{flag}: kvobs is installed in namespace {first}, and an install in {namespace} keeps to the stack, the"
            " dashboards and the GPU metrics of that one",
            hint=f"give it to that one: kvobs install --namespace {first} …; or leave it out",
        )
