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
KUBERNETES_VERSION = "1.36.3"
"""What a render tells the chart of the cluster that it does not see; what kvobs is tested on."""
DEFAULT_NAMESPACE = "monitoring"
DEFAULT_RELEASE = "kube-prometheus-stack"

Stack = Literal["auto", "install", "reuse"]
Dcgm = Literal["auto", "operator", "exporter", "none"]
Way = Literal["auto", "proxy", "port-forward"]

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
"""A DNS label (RFC 1123), which names a namespace; Helm takes 53 characters for a release."""
_SUBDOMAIN = re.compile(rf"{_NAME.pattern}(\.{_NAME.pattern})*")
"""What names a Secret: labels with dots between them."""
_REGISTRY = re.compile(
    r"(\[[0-9a-fA-F:]+\]|[a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?)(:\d+)?(/[a-z0-9]+((\.|__?|-+)[a-z0-9]+)*)*"
)
"""Where images are, as the reference of an image begins: a host, a port, parts of a path."""


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
    insecure_skip_tls_verify: bool = False
    """Do not verify the API server's certificate: whoever is on the way may read and change everything."""
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
    image_registry: str | None = None
    """HOST[:PORT][/PATH] that every image of the stack comes from, over what the values say; "" takes it back."""
    image_pull_secrets: tuple[str, ...] = ()
    """Secrets, in the stack's namespace, that every pod of the stack pulls its images with; an only "" takes them
    back."""
    kube_version: str = KUBERNETES_VERSION
    """The Kubernetes that `render` renders the chart for; where there is a cluster, it says itself."""
    helm: str = "helm"
    """The helm executable, looked up on PATH when it is a bare name."""

    datasources: tuple[str, ...] = ()
    """TYPE=UID[:NAME] of the Grafana datasources to use, where those that are found do not decide it."""
    dashboards: tuple[str, ...] = field(default=(), repr=False)
    """Dashboards to load beside the shipped ones: files, folders, names of the catalogue, `grafana:ID@REV`, https
    addresses (which may hold credentials, hence in no repr)."""
    offline: bool = False
    """Download no dashboard: what is named must be a file, or in the cache."""
    ca_file: str | None = None
    """PEM file of authorities that a download trusts beside the system's."""
    dcgm: Dcgm | None = None
    """How GPU metrics are scraped; `operator` takes the field of a ClusterPolicy even where another owns it.
    None: `auto`."""
    vllm_namespace: str | None = None
    """Look for vLLM in this namespace only. Here and in the next two, an empty text takes back an earlier run's."""
    vllm_selector: str | None = None
    """Label selector of the Services in front of vLLM; given, no other Service or pod counts as vLLM."""
    vllm_port: str | None = None
    """Name or number of the port that serves /metrics, where it is not recognised by itself."""

    ignored_checks: tuple[str, ...] = ()
    """Ids of checks that a check and an install leave out (`kvobs check --list`)."""

    take_ownership: bool = False
    """Take over objects of our names that nobody looks after, and fields of our own objects that others have taken;
    this run only. What a Helm release, a GitOps tool, an operator or another ApplySet looks after is never taken."""

    wait: bool = True
    """Wait until the workloads are ready and the Prometheus object is Available."""
    verify: bool = True
    """After that wait, ask for every panel of the loaded dashboards whether it is lit."""
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
        _check_images(self.image_registry, self.image_pull_secrets)
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Reach:
    """How a Prometheus is reached; credentials come from the environment or a file."""

    url: str | None = field(default=None, repr=False)
    """Its address, with the path in front of `/api/v1`; may hold user and password. None: that of the cluster."""
    way: Way = "auto"
    """How that of the cluster is reached. proxy: the API server's, for Services, which passes no credentials on;
    port-forward: to one of its pods, with the credentials that there are; auto: by a port-forward where it has no
    Service, where the right to the proxy is missing, or where it asks for credentials and there are some."""
    token_file: str | None = None
    """File with a bearer token; read again when the server takes it no longer."""
    ca_file: str | None = None
    """PEM file of authorities that are trusted beside the system's."""
    insecure: bool = False
    """Do not verify its certificate."""
    tenant: str | None = None
    """`X-Scope-OrgID`, for a Mimir with several tenants."""
    timeout_s: float = 30.0
    """How long one try of a question may take, in seconds."""
    patience_s: float = 20.0
    """How long a server that restarts is asked again, in seconds."""

    def __post_init__(self) -> None:
        if self.url is not None and self.way != "auto":
            raise UsageError(
                f"--reach {self.way} is for the cluster's Prometheus, and --prometheus names an address",
                hint="leave one of them out",
            )
        if self.way == "proxy" and (self.token_file is not None or self.tenant is not None):
            raise UsageError(
                "--reach proxy takes neither --token-file nor --tenant: the API server's proxy passes neither on",
                hint="--reach port-forward does",
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class Verification:
    """What `verify` may be told beside how to reach a cluster, which `Settings` says."""

    sources: tuple[str, ...] = field(default=(), repr=False)
    """Dashboards to verify: files, folders, https addresses, names of the catalogue. None: those that are loaded."""
    reach: Reach = field(default_factory=lambda: Reach())
    """How the Prometheus is reached that answers queries."""
    grafana_url: str | None = field(default=None, repr=False)
    """Address of a Grafana whose dashboards are verified, by its API."""

    at: str | None = None
    """When the question is asked: what `now` means. RFC 3339, seconds or milliseconds since 1970, or `now-8h`."""
    start: str | None = None
    """Start of the time range, in place of each dashboard's own; as `at`, or relative to it."""
    end: str | None = None
    """End of the time range, likewise."""
    variables: tuple[str, ...] = ()
    """NAME=VALUE: what a variable is, in place of what Grafana would choose; given again, it has several values."""

    wait_s: float = 0.0
    """How long to ask again while anything is broken, unknown, or lacks no more than the next scrapes (a new target
    needs two), in seconds."""
    until_lit: bool = False
    """Ask again until no panel is dark any more, those without traffic included; `wait_s` is the deadline."""
    expect: str | None = None
    """Path of a file that accepts named dark panels, each with its reason."""
    min_severity: Literal["broken", "unknown", "dark", "expected"] = "expected"
    """The least severity that the report shows."""
    fail_on: Literal["broken", "unknown", "dark", "expected"] = "broken"
    """The least severity that makes the run fail."""

    in_flight: int = 8
    """How many queries are asked at a time."""

    def __post_init__(self) -> None:
        if self.in_flight < 1 or self.reach.timeout_s <= 0 or self.wait_s < 0:
            raise UsageError(
                "verify needs at least one query in flight, and times that are not negative",
                hint="for example --in-flight 8 --request-timeout 30s --wait 2m",
            )
        for each in self.variables:
            name, equals, _ = each.partition("=")
            if not (name and equals):
                raise UsageError(f"--var: {each!r} is not NAME=VALUE", hint="for example --var namespace=llm")


def _check_images(registry: str | None, pull_secrets: tuple[str, ...]) -> None:
    """Raise `UsageError` for a registry or the name of a pull secret that no image could be pulled with."""
    if registry and not _REGISTRY.fullmatch(registry):
        raise UsageError(
            f"--image-registry: {registry!r} is not HOST[:PORT][/PATH]",
            hint="as an image's name begins, without https:// and without / at its end: registry.example.com/mirror",
        )
    for name in pull_secrets if pull_secrets != ("",) else ():
        if not (len(name) <= 253 and _SUBDOMAIN.fullmatch(name)):
            raise UsageError(
                f"--image-pull-secret: {name!r} is no name of a Secret",
                hint="the name alone, as kubectl get secrets shows it",
            )
