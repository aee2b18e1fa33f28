"""What a run may be told, typed and frozen; the only place with defaults.

The command line (or a script) makes one `Settings` and passes it on; nothing below reads the environment.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .errors import UsageError

CHART = "oci://ghcr.io/prometheus-community/charts/kube-prometheus-stack"
CHART_VERSION = "88.5.3"
DEFAULT_NAMESPACE = "monitoring"
DEFAULT_RELEASE = "kube-prometheus-stack"

Stack = Literal["auto", "install", "reuse"]
Dcgm = Literal["auto", "operator", "exporter", "none"]

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
"""A DNS label (RFC 1123), which names a namespace; Helm takes 53 characters for a release."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Everything that `install`, `render`, `status` and `uninstall` may be told.

    What an install was told of the chart, the values, DCGM, vLLM and datasources holds for later ones too, until
    one is told something else. Values may hold secrets, and are in no repr.
    """

    kubeconfig: str | None = None
    """Path of the kubeconfig; None: kubectl's own search order ($KUBECONFIG, ~/.kube/config, in-cluster)."""
    context: str | None = None
    """Context of the kubeconfig; None: its current one."""
    namespace: str | None = None
    """Where the stack and kvobs' own objects go, created if it is missing; None: where kvobs already is, else
    where the reused Prometheus is, else `DEFAULT_NAMESPACE`."""
    release: str = DEFAULT_RELEASE
    """Name of the Helm release that kvobs makes when there is no stack yet."""

    stack: Stack = "auto"
    """auto: reuse what is there, install where nothing is; install: always our own release; reuse: never one."""
    prometheus: str | None = None
    """NAMESPACE/NAME of the Prometheus object to use, where there are several."""
    grafana: str | None = None
    """NAMESPACE/NAME of the Grafana to use, where there are several; `none`: monitors only, no dashboards."""

    chart: str | None = None
    """kube-prometheus-stack: an OCI reference or the path of a chart; None: `CHART`."""
    chart_version: str | None = None
    """Version of the chart; None: the one kvobs is tested with for `CHART`, whatever it holds for another."""
    values: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    """Helm values of the user, as documents, the last one wins. With neither these nor `set_values`, those that the
    release has are kept; an empty document drops them."""
    set_values: tuple[str, ...] = field(default=(), repr=False)
    """Helm's `--set` expressions, read as Helm reads them, after `values`."""
    helm: str = "helm"
    """The helm executable, looked up on PATH when it is a bare name."""

    datasources: tuple[str, ...] = ()
    """TYPE=UID[:NAME] of the Grafana datasources to use, where those that are found do not decide it."""
    dashboards: tuple[str, ...] = ()
    """Dashboard files or folders to load beside the shipped ones."""
    dcgm: Dcgm | None = None
    """How GPU metrics are scraped; `operator` takes the field of a ClusterPolicy even where another owns it.
    None: `auto`."""
    vllm_namespace: str | None = None
    """Look for vLLM in this namespace only. Here and in the next two, an empty text takes back an earlier run's."""
    vllm_selector: str | None = None
    """Label selector of the Services in front of vLLM; given, no other Service or pod counts as vLLM."""
    vllm_port: str | None = None
    """Name or number of the port that serves /metrics, where it is not recognised by itself."""

    wait: bool = True
    """Wait until the workloads are ready and the Prometheus object is Available."""
    timeout_s: int = 600
    """How long Helm and the wait may take, each, in seconds."""
    request_timeout_s: float = 30.0
    """How long one request to the API server may take, in seconds."""

    def __post_init__(self) -> None:
        for flag in ("prometheus", "grafana"):
            given = getattr(self, flag)
            if given is None or (flag == "grafana" and given == "none"):
                continue
            namespace, slash, name = given.partition("/")
            if not (namespace and slash and name) or "/" in name:
                raise UsageError(f"{flag}: {given!r} is not NAMESPACE/NAME", hint="for example: monitoring/k8s")
        for flag, name, longest in (("namespace", self.namespace, 63), ("release", self.release, 53)):
            if name is not None and not (len(name) <= longest and _NAME.fullmatch(name)):
                raise UsageError(
                    f"--{flag}: {name!r} is no name that Kubernetes takes",
                    hint=f"small letters, digits and '-', at most {longest}, a letter or digit at both ends",
                )
        if self.timeout_s <= 0 or self.request_timeout_s <= 0:
            raise UsageError("a time-out must be more than 0 seconds", hint="for example --timeout 10m")

    @property
    def wanted_chart(self) -> str:
        """The chart to ask for: the user's, else the default one."""
        return self.chart or CHART

    @property
    def pinned_chart_version(self) -> str | None:
        """The version to ask for: the user's, else the pinned one for the default chart."""
        return self.chart_version or (CHART_VERSION if self.wanted_chart == CHART else None)
