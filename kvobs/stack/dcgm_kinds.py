"""The packagings of dcgm-exporter that are known, as data: how each is recognised, and what is to be said of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

IMAGE = "dcgm-exporter"
"""What the name of the exporter's image ends with; GKE's is called gke-dcgm-exporter."""

WEB_CONFIG_FLAG = "--web-config-file"
WEB_CONFIG_VARIABLE = "DCGM_EXPORTER_WEB_CONFIG_FILE"
"""How the exporter is told of a certificate, of passwords, or of both."""


DRA_EXPORTER = "nvidia-dcgm-exporter-dra"
"""What the GPU Operator calls the exporter that its GPUCluster asks for, its Service and its ServiceMonitor."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """One packaging of the exporter."""

    id: str
    labels: tuple[Mapping[str, str], ...]
    """Any of these sets of a pod's labels tells it."""
    manager: str = ""
    """Who sets back what others change of it; "" where nobody does."""
    limits: str = ""
    """What it exports less than NVIDIA's defaults, and so which panels of ours stay dark."""
    remedy: str = ""
    """How to have more than that."""
    closed: bool = False
    """Whether its namespace is the manager's alone, so that no object of ours may be there."""


_OWN = "run NVIDIA's exporter in its place (GPU Operator, or chart dcgm-exporter), and run this again"

KINDS = (
    Kind(
        id="gke",
        labels=({"app.kubernetes.io/name": "gke-managed-dcgm-exporter"},),
        manager="GKE",
        limits="which fields it exports is Google's choice, and a panel on another one stays dark",
        remedy=(
            "for a choice of your own take DCGM out of the packages that `gcloud container clusters update CLUSTER"
            f" --monitoring=…` enables, and {_OWN}"
        ),
        closed=True,
    ),
    Kind(
        id="cloudwatch",
        # `component` alone is on NVIDIA's chart too, `managed-by` on everything that this operator makes.
        labels=tuple(
            {"app.kubernetes.io/component": "dcgm-exporter", key: value}
            for key, value in (
                ("k8s-app", "dcgm-exporter"),
                ("app.kubernetes.io/managed-by", "amazon-cloudwatch-agent-operator"),
            )
        ),
        manager="the operator of the CloudWatch agent (EKS add-on amazon-cloudwatch-observability)",
        limits=(
            "it exports utilisation, framebuffer, temperatures and power only, so that the panels Tensor activity,"
            " Memory bandwidth active, Graphics engine active, SM clock, Last Xid error and PCIe replays stay dark"
        ),
        remedy=f"for those, {_OWN}",
    ),
    Kind(id="operator-dra", labels=({"app": DRA_EXPORTER},)),
    Kind(
        id="nvidia",
        labels=tuple(
            {key: name}
            for key in ("app", "app.kubernetes.io/name")
            for name in ("nvidia-dcgm-exporter", "dcgm-exporter")
        ),
    ),
)
"""The most specific first: a managed exporter may carry the chart's labels too."""


def kind_of_exporter(labels: Mapping[str, str]) -> Kind | None:
    """The packaging that a pod's labels tell, None where they tell none."""
    return next((each for each in KINDS if any(told.items() <= labels.items() for told in each.labels)), None)


def managed_kind(kind: str) -> Kind | None:
    """The packaging of that id if somebody manages it, else None."""
    return next((each for each in KINDS if each.id == kind and each.manager), None)


MIG_RESOURCE = "nvidia.com/mig-"
MIG_PRODUCT = "-MIG-"
"""In a node's product label where every GPU of it is sliced alike: NVIDIA-A100-SXM4-80GB-MIG-1g.10gb."""
PRODUCT_LABEL = "nvidia.com/gpu.product"

MIG_LACKS = ("GPU_UTIL", "MEM_COPY_UTIL", "ENC_UTIL", "DEC_UTIL")
"""Fields (after `DCGM_FI_DEV_`) that DCGM does not have for a slice."""

NODE_LABEL = ("kubernetes.azure.com/dcgm-exporter", "enabled")
"""On nodes of AKS's managed GPU pools: their exporter is a service of the node's own, in no pod."""
NODE_PORT = 19400
