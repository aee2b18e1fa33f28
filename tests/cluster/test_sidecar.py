"""What Grafana's real dashboard sidecar makes of ConfigMaps, where ``KVOBS_TEST_SIDECAR`` says how to run one."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.api import Object
from tests.cluster.bed import Bed, ForeignCluster
from tests.cluster.sidecar import files_written, sidecar_command

TEXT = '{"title":"Größe","panels":[],"refresh":1e-9}'
ANNOTATION = "grafana_folder"


def dashboard(name: str, *, namespace: str = "default", value: str = "1") -> Object:
    """Return a ConfigMap with one dashboard, with the label that the chart's sidecar looks for."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {"grafana_dashboard": value},
            "annotations": {ANNOTATION: "GPU"},
        },
        "data": {f"{name}.json": TEXT},
    }


if sidecar_command() is not None:  # no sidecar, no such tests: they would only be skipped

    def test_writes_what_the_config_map_holds(cluster: Bed | ForeignCluster, tmp_path: Path) -> None:
        """Labelled ConfigMaps of every namespace become files, byte for byte; one with another value does not.

        The annotation that names a folder does nothing, because the chart gives the sidecar no FOLDER_ANNOTATION.
        """
        boards = [dashboard("here"), dashboard("there", namespace="kube-public"), dashboard("not", value="2")]
        cluster.api.apply(*boards)

        written = files_written(cluster.kubeconfig, tmp_path)

        assert {name: written.get(name) for name in ("here.json", "there.json", "not.json", "GPU/here.json")} == {
            "here.json": TEXT.encode(),
            "there.json": TEXT.encode(),
            "not.json": None,
            "GPU/here.json": None,
        }

    def test_folder_annotation(cluster: Bed | ForeignCluster, tmp_path: Path) -> None:
        """With FOLDER_ANNOTATION set, the annotation's value is the folder in which the file lands."""
        cluster.api.apply(dashboard("sorted"))

        written = files_written(cluster.kubeconfig, tmp_path, folder_annotation=ANNOTATION)

        assert written["GPU/sorted.json"] == TEXT.encode()
