"""A manifest's YAML is read as Helm sends it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from kvobs.adapters.helm_manifests import manifest_objects

SCALARS: list[tuple[str, Any]] = [
    ("2026-11-29", "2026-11-29"),
    ("2026-11-29T10:00:00Z", "2026-11-29T10:00:00Z"),
    ("=", "="),
    ("1e+06", 1e6),
    ("1.5e3", 1500.0),
    ('"1e+06"', "1e+06"),
    ("10", 10),
    ("0o7", "0o7"),
    ("true", True),
    ("~", None),
    ("a1e5", "a1e5"),
]


@pytest.mark.parametrize(("written", "read"), SCALARS)
def test_scalars(written: str, read: Any) -> None:
    """A date stays the text that it is, and a number that Go's templates wrote with an exponent is one."""
    (obj,) = manifest_objects(f"kind: X\nvalue: {written}\n")

    assert obj["value"] == read
    assert type(obj["value"]) is type(read)


def test_documents() -> None:
    """Templates that render to nothing are no objects, and a list's items are objects of their own."""
    text = (
        "---\n# Source: a.yaml\n---\nkind: A\n---\napiVersion: v1\nkind: List\nitems:\n- kind: B\n- kind: C\n"
        "---\nkind: RoleList\nitems:\n- kind: Role\n---\nkind: PriorityList\n"
    )

    assert [each["kind"] for each in manifest_objects(text)] == ["A", "B", "C", "Role", "PriorityList"]
    assert manifest_objects(b"") == ()


@pytest.mark.parametrize("text", ["- a\n", "a: 1\n", "text", "kind: {\n"])
def test_no_object(text: str) -> None:
    """What is no manifest is refused."""
    with pytest.raises((ValueError, yaml.YAMLError)):
        manifest_objects(text)
