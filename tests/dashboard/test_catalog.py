"""The catalogue of other people's dashboards: its rules, and what the file says."""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from kvobs.dashboard.catalog import Catalog, Upstream, read_catalog
from kvobs.errors import DocumentError

REPOSITORY = Path(__file__).parents[2]
REAL_DASHBOARDS = REPOSITORY.parent / "shared" / "dashboards"
TEXT = (REPOSITORY / "dashboards" / "catalog.toml").read_text(encoding="utf-8")
CATALOG = read_catalog(TEXT)
GOOD = {
    "name": "a-b",
    "topic": "t",
    "repository": "o/r",
    "path": "a/b.json",
    "revision": "1" * 40,
    "sha256": "0" * 64,
    "licence": "MIT",
}
ON_GRAFANA_COM = {
    "name": "g",
    "topic": "t",
    "grafana_com": 7,
    "revision": "2",
    "sha256": "unknown",
    "licence": "unknown",
}


def toml(*rows: dict[str, Any]) -> str:
    """Write rows as the file has them."""
    return "\n".join("[[dashboard]]\n" + "\n".join(f"{key} = {value!r}" for key, value in row.items()) for row in rows)


def without(*keys: str, **other: Any) -> dict[str, Any]:
    """The good row without some keys, and with others."""
    return {key: value for key, value in GOOD.items() if key not in keys} | other


REFUSED = {
    "no-toml": ("[[dashboard", "not TOML"),
    "another-table": ("[other]\n" + toml(GOOD), "something beside"),
    "no-table": ("dashboard = [1]", "entry 1 is no table"),
    "unknown-key": (toml(GOOD | {"licens": "MIT"}), r"entry 1 \(a-b\): licens is not known"),
    "missing-key": (toml(without("sha256", "licence")), "licence, sha256 is missing"),
    "name-that-is-a-path": (toml(GOOD | {"name": "../a"}), "name = '../a' has not the form"),
    "name-of-ours": (toml(GOOD | {"name": "vllm"}), "'vllm' is a topic's or one of kvobs' own"),
    "name-of-a-topic": (toml(GOOD | {"name": "t"}), "'t' is a topic's"),
    "short-commit": (toml(GOOD | {"revision": "1" * 12}), "full commit"),
    "branch": (toml(GOOD | {"revision": "main"}), "revision = 'main' has not the form"),
    "short-checksum": (toml(GOOD | {"sha256": "ab"}), "sha256 = 'ab' has not the form"),
    "number-for-a-text": (toml(GOOD | {"title": 3}), "title = 3 has not the form"),
    "truth-for-a-number": (toml(GOOD) + "\ngrafana_com = true", "grafana_com = True has not the form"),
    "path-upwards": (toml(GOOD | {"path": "a/../../b.json"}), "path = 'a/../../b.json' has not the form"),
    "path-absolute": (toml(GOOD | {"path": "/b.json"}), "has not the form"),
    "path-no-json": (toml(GOOD | {"path": "a.yaml"}), "has not the form"),
    "repository-address": (toml(GOOD | {"repository": "https://x/y"}), "has not the form"),
    "path-alone": (toml(without("repository")), "repository and path belong together"),
    "upstream-alone": (toml(ON_GRAFANA_COM | {"upstream": "a/b"}), "upstream belongs to a repository"),
    "nowhere": (toml(without("repository", "path", revision="3")), "neither a repository nor a number"),
    "commit-on-grafana-com": (toml(ON_GRAFANA_COM | {"revision": "1" * 40}), "Grafana.com's is a number"),
    "name-twice": (toml(GOOD, GOOD | {"path": "c.json", "sha256": "1" * 64}), "the name 'a-b' stands twice"),
    "bytes-twice": (toml(GOOD, GOOD | {"name": "c", "path": "c.json"}), "the sha256 '0+' stands twice"),
    "place-twice": (toml(GOOD, GOOD | {"name": "c", "sha256": "1" * 64}), "the place .* stands twice"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_catalogue_that_breaks_a_rule(name: str) -> None:
    """A slip in the file is an error that names the entry and the rule."""
    text, said = REFUSED[name]
    with pytest.raises(DocumentError, match=said):
        read_catalog(text)


def test_two_kinds_of_place() -> None:
    """A file at a commit is downloaded from its project, a number from Grafana.com."""
    fork = GOOD | {"name": "f", "upstream": "up/stream", "sha256": "2" * 64}
    file, copy, number = read_catalog(toml(GOOD, fork, ON_GRAFANA_COM))

    assert file.url == f"https://raw.githubusercontent.com/o/r/{'1' * 40}/a/b.json"
    assert copy.url == f"https://raw.githubusercontent.com/up/stream/{'1' * 40}/a/b.json"
    assert number.url == "https://grafana.com/api/dashboards/7/revisions/2/download"
    assert [each.sha256 for each in (file, number)] == ["0" * 64, None]
    assert [each.place for each in (file, copy, number)] == ["o/r", "up/stream", "grafana.com 7"]


def test_looking_up() -> None:
    """Entries are found by name, by topic, and by number and revision."""
    catalog = read_catalog(toml(GOOD, ON_GRAFANA_COM, GOOD | {"name": "z", "path": "z.json", "sha256": "3" * 64}))

    assert catalog.named("a-b") == catalog.entries[0]
    assert catalog.named("t") is None
    assert len(catalog.of_topic("t")) == len(catalog) == 3
    assert catalog.on_grafana_com(7, 2) == catalog.entries[1]
    assert catalog.on_grafana_com(7, 3) is None
    assert catalog.topics == ("t",)


def test_every_known_family_is_there() -> None:
    """NVIDIA's, vLLM's, llm-d's, production-stack's, KServe's, Ray's, AIBrix' and Dynamo's can be named."""
    wanted = {"dcgm", "vllm", "llm-d", "production-stack", "kserve", "ray", "aibrix", "dynamo"}

    assert wanted <= set(CATALOG.topics)
    assert {each.repository for each in CATALOG.of_topic("dcgm")} >= {"NVIDIA/gpu-monitoring-tools", None}


def test_12239() -> None:
    """The dashboard that most GPU clusters load is known by number and revision, and by its copies' uid."""
    assert [each.revision for each in CATALOG if (each.repository, each.grafana_com) == (None, 12239)] == ["1", "2"]
    copies = {each.name for each in CATALOG if each.uid == "Oxed_c6Wz"}
    assert {"nvidia-gpu-monitoring-tools", "grafana-com-12239-2"} <= copies


@pytest.mark.parametrize("known", CATALOG.entries, ids=lambda known: known.name)
def test_licence(known: Upstream) -> None:
    """Each entry states the licence of its repository; only Grafana.com states none."""
    allowed = {"Apache-2.0", "BSD-3-Clause", "MIT", "MIT-0"} if known.repository else {"unknown"}
    assert known.licence in allowed


def test_the_file_is_facts_alone() -> None:
    """The file holds no more keys than an entry has, and every one of its rows is an entry."""
    assert len(tomllib.loads(TEXT)["dashboard"]) == len(CATALOG)
    assert isinstance(CATALOG, Catalog)


SEEN_IN_GIT = {
    *(f"aibrix-{each}" for each in ("batch", "control-plane-runtime", "gateway-plugins", "metadata")),
    *(f"kuberay-{each}" for each in ("apiserver", "data", "data-llm", "operator", "serve-deployment", "train")),
    *("aibrix-modelclaim-runtime", "kserve-epp-pd-disaggregation", "kserve-epp-routing"),
}
"""Entries whose checksum was taken of the blob in a clone of their repository."""


@pytest.mark.skipif(not REAL_DASHBOARDS.is_dir(), reason="the real dashboards are not beside this checkout")
def test_checksums_are_of_bytes_that_were_seen() -> None:
    """Every checksum is that of a file as it was fetched, whose uid and title the entry has, or of a blob in git."""
    contents = [path.read_bytes() for path in REAL_DASHBOARDS.glob("*.json")]
    fetched = {hashlib.sha256(content).hexdigest(): content for content in contents}
    assert {each.name for each in CATALOG if each.sha256 and each.sha256 not in fetched} == SEEN_IN_GIT
    for known in CATALOG:
        if known.sha256 in fetched:
            document = json.loads(fetched[known.sha256])
            assert (document.get("uid"), document["title"]) == (known.uid, known.title), known.name
