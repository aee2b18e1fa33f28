"""The machines of the bed: one with CPUs only, one with GPUs, labelled as real ones are."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from tests.cluster.api import Api, Object

KUBELET_PORT = 10250


@dataclass(frozen=True)
class Machine:
    """One node."""

    name: str
    ip: str
    gpus: int = 0

    @property
    def labels(self) -> dict[str, str]:
        """What the kubelet, the cloud, and on a GPU machine NVIDIA's feature discovery put on the node."""
        common = {
            "kubernetes.io/hostname": self.name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
            "topology.kubernetes.io/zone": "zone-a",
            "node.kubernetes.io/instance-type": "gpu-8x" if self.gpus else "cpu-16",
        }
        if not self.gpus:
            return common
        return common | {
            "feature.node.kubernetes.io/pci-10de.present": "true",
            "nvidia.com/gpu.present": "true",
            "nvidia.com/gpu.count": str(self.gpus),
            "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
            "nvidia.com/gpu.memory": "81559",
            "nvidia.com/gpu.family": "hopper",
            "nvidia.com/gpu.compute.major": "9",
            "nvidia.com/mig.capable": "true",
            "nvidia.com/gpu.deploy.dcgm-exporter": "true",
        }


CPU_MACHINE = Machine("cpu-node", "10.2.0.1")
GPU_MACHINE = Machine("gpu-node", "10.2.0.2", gpus=8)


def now() -> str:
    """Return the time as Kubernetes writes it."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def register(api: Api, machine: Machine) -> None:
    """Do what a kubelet does when its machine joins: the Node, its status, and the first heartbeat."""
    node: Object = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": machine.name, "labels": machine.labels},
        "spec": {},
    }
    api.create(node)
    room: Object = {"cpu": "64", "memory": "256Gi", "pods": "250", "ephemeral-storage": "500Gi"}
    if machine.gpus:
        room["nvidia.com/gpu"] = str(machine.gpus)
    conditions = {"MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False", "Ready": "True"}
    status = {
        "capacity": room,
        "allocatable": room,
        "addresses": [
            {"type": "InternalIP", "address": machine.ip},
            {"type": "Hostname", "address": machine.name},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": KUBELET_PORT}},
        "nodeInfo": {
            "architecture": "amd64", "operatingSystem": "linux", "osImage": "simulated", "kernelVersion": "6.1.0",
            "kubeletVersion": "v1.36.3", "kubeProxyVersion": "", "containerRuntimeVersion": "containerd://2.1.0",
            "machineID": machine.name, "systemUUID": machine.name, "bootID": machine.name,
        },
        "conditions": [
            {
                "type": name, "status": value, "reason": "Simulated", "message": "",
                "lastHeartbeatTime": now(), "lastTransitionTime": now(),
            }
            for name, value in conditions.items()
        ],
    }  # fmt: skip
    api.merge(node, {"status": status}, subresource="status")
    beat(api, machine)
    # The controller-manager would lift the taint of a new node too, but only some seconds later.
    api.merge(node, {"spec": {"taints": None}})


def beat(api: Api, machine: Machine) -> None:
    """Renew the node's lease: without it the controller-manager takes the node for lost after 50 s."""
    moment = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    api.apply(
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": machine.name, "namespace": "kube-node-lease"},
            "spec": {"holderIdentity": machine.name, "leaseDurationSeconds": 40, "renewTime": moment},
        },
        manager="kubelet",
    )
