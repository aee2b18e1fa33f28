"""The cluster and the Helm that settings name, where a caller brings none."""

from __future__ import annotations

from ..adapters.cluster import Cluster
from ..adapters.helm import Helm
from ..settings import Settings


def cluster_of(settings: Settings) -> Cluster:
    """The API server that *settings* lead to; nothing is asked yet. Raises `KubeconfigError` or `Unauthenticated`."""
    return Cluster.connect(
        settings.kubeconfig,
        settings.context,
        request_timeout_s=settings.request_timeout_s,
        insecure=settings.insecure_skip_tls_verify,
    )


def helm_of(settings: Settings) -> Helm:
    """The Helm of *settings*, for the same cluster; making it runs nothing, so that a run without Helm needs none."""
    return Helm(
        executable=settings.helm,
        kubeconfig=settings.kubeconfig,
        context=settings.context,
        insecure=settings.insecure_skip_tls_verify,
        timeout_s=settings.timeout_s,
    )
