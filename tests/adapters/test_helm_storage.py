"""Helm's record of a release is read from its Secret, by name; what is no record is an error that quotes nothing."""

from __future__ import annotations

import base64
import gzip
import json
import traceback
from dataclasses import dataclass, field
from typing import Any

import pytest

from kvobs.adapters.helm_storage import LARGEST, stored_release
from kvobs.errors import HelmError

SECRET = "correct-horse-battery"
MANIFEST = f"---\nkind: Secret\nmetadata: {{name: a}}\nstringData: {{x: {SECRET}}}\n---\nkind: Service\n"


def document(revision: int, **changes: Any) -> dict[str, Any]:
    """Return a revision as Helm writes it."""
    written = {
        "name": "r",
        "namespace": "m",
        "version": revision,
        "info": {"status": "deployed"},
        "chart": {"metadata": {"name": "stack", "version": "88.5.3"}},
        "config": {"password": SECRET},
        "manifest": MANIFEST,
    }
    return {**written, **changes}


def packed(document: Any) -> str:
    """Return what stands in the Secret's data."""
    return base64.b64encode(base64.b64encode(gzip.compress(json.dumps(document).encode()))).decode()


@dataclass
class Secrets:
    """A namespace with Helm's Secrets."""

    contents: dict[int, Any]
    """Revision -> data of its Secret."""
    asked: list[str] = field(default_factory=list)

    def list(
        self, kind: str, *, namespace: str | None = None, labels: str | None = None, metadata_only: bool = False
    ) -> list[Any]:
        """Give their labels; their content is never asked for in a list."""
        assert (kind, namespace, labels, metadata_only) == ("Secret", "m", "owner=helm,name=r", True)
        self.asked.append("list")
        return [{"metadata": {"name": "x", "labels": {"version": str(each)}}} for each in self.contents]

    def get(self, kind: str, name: str, namespace: str | None = None) -> Any:
        """Give one whole."""
        assert (kind, namespace) == ("Secret", "m")
        self.asked.append(name)
        revision = int(name.removeprefix("sh.helm.release.v1.r.v"))
        if revision not in self.contents:
            return None
        return {"metadata": {"name": name, "namespace": "m"}, "data": self.contents[revision]}


def revisions(*numbers: int) -> Secrets:
    """Return the Secrets of these revisions."""
    return Secrets({each: {"release": packed(document(each))} for each in numbers})


def test_newest() -> None:
    """The newest revision is found by number, and no other Secret is read."""
    secrets = revisions(2, 10, 9)
    release = stored_release(secrets, "r", "m")

    assert release is not None
    assert (release.name, release.namespace, release.revision, release.status) == ("r", "m", 10, "deployed")
    assert (release.chart_version, release.values) == ("88.5.3", {"password": SECRET})
    assert [each["kind"] for each in release.manifest] == ["Secret", "Service"]
    assert secrets.asked == ["list", "sh.helm.release.v1.r.v10"]
    assert SECRET not in repr(release)


def test_a_known_revision() -> None:
    """A revision whose number is known is read without a list."""
    secrets = revisions(2)

    assert stored_release(secrets, "r", "m", revision=2) == stored_release(revisions(2), "r", "m")
    assert stored_release(secrets, "r", "m", revision=3) is None
    assert secrets.asked == ["sh.helm.release.v1.r.v2", "sh.helm.release.v1.r.v3"]


def test_none() -> None:
    """No record is no release."""
    assert stored_release(revisions(), "r", "m") is None


def test_not_compressed_and_without_values() -> None:
    """Helm's oldest records are not compressed; one without values has none."""
    plain = base64.b64encode(base64.b64encode(json.dumps(document(1, config=None)).encode())).decode()
    release = stored_release(Secrets({1: {"release": plain}}), "r", "m")

    assert release is not None
    assert (release.chart_version, release.values) == ("88.5.3", {})


GOOD = packed(document(1))
BOMB = base64.b64encode(base64.b64encode(gzip.compress(b" " * (LARGEST + 1)))).decode()


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"release": "not base64!"},
        {"release": base64.b64encode(SECRET.encode()).decode()},
        {"release": base64.b64encode(base64.b64encode(SECRET.encode())).decode()},
        {"release": base64.b64encode(base64.b64decode(GOOD)[:-24]).decode()},
        {"release": BOMB},
        {"release": packed([SECRET])},
        {"release": packed({"name": SECRET})},
        {"release": packed(document(1, version="one"))},
        {"release": packed(document(1, chart=None))},
        {"release": packed(document(1, info=SECRET))},
    ],
)
def test_not_as_helm_writes_it(data: Any) -> None:
    """A record that cannot be read is said to be so; nothing of it is repeated, in the whole chain of errors."""
    with pytest.raises(HelmError, match=r"m/sh\.helm\.release\.v1\.r\.v1 is not a release") as refused:
        stored_release(Secrets({1: data}), "r", "m")

    told = "".join(traceback.format_exception(refused.value))
    assert SECRET not in told
    assert refused.value.__cause__ is None
