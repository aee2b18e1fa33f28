"""Objects as YAML: readable, the same bytes for the same objects, no Secret's values."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any

import yaml

from .facts import Object, Ref
from .objects import hidden, ref

_DEFINITION = "CustomResourceDefinition"


def to_yaml(objects: Iterable[Object], *, public: Collection[Ref] = ()) -> str:
    """The objects as one YAML stream, in the given order.

    Long and multi-line strings are literal blocks, so that a dashboard stays the JSON that it is; no line is
    folded. A Secret keeps its keys and shows no value, but for those that are *public*.
    """
    return as_they_are(shown(objects, public=public))


def shown(objects: Iterable[Object], *, public: Collection[Ref] = ()) -> list[Object]:
    """The objects as they may be shown: of Secrets the keys alone, but for those that are *public*."""
    return [each if ref(each) in public else hidden(each) for each in objects]


def as_they_are(objects: Iterable[Object]) -> str:
    """The objects as `to_yaml` writes them, nothing hidden: for those that are `shown` already, or hold no secret."""
    return "".join(
        "---\n" + _dump(_leading(obj), _of_definitions if obj["kind"] == _DEFINITION else _Dumper) for obj in objects
    )


def _leading(obj: Object) -> dict[str, Any]:
    """The object with its identity first, the rest in its own order."""
    metadata = obj["metadata"]
    first = {key: metadata[key] for key in ("name", "namespace", "labels", "annotations") if key in metadata}
    identity = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": {**first, **metadata}}
    return {**identity, **obj, **identity}


def _dump(value: Any, dumper: Any) -> str:
    return yaml.dump(
        value, Dumper=dumper, sort_keys=False, default_flow_style=False, allow_unicode=True, width=2**31 - 1
    )


class _Dumper(yaml.SafeDumper):
    """PyYAML without anchors, and with quotes wherever any YAML reader would see something else than text."""

    def ignore_aliases(self, data: Any) -> bool:
        """Objects share parts; a reader should not see that."""
        return True


_LITERAL_FROM = 100  # characters; a longer string does not fit a screen, and quotes in it would be doubled

# Kubernetes' own YAML readers take more for numbers and booleans than PyYAML does (1e3, 0o7, y).
_NOT_TEXT = re.compile(
    r"[-+]?[\d_.]+(e[-+]?\d+)?|[-+]?0[xob][\da-f_]+|[-+]?\.(inf|nan)|[-+]?\d+(:\d+)+(\.\d*)?"
    r"|y|n|yes|no|on|off|true|false|null|~|<<|=",
    re.IGNORECASE,
)


_LINE_ENDS = re.compile("[\r\x85\u2028\u2029]")
"""What YAML takes for a line end beside the newline, and folds."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    if _LINE_ENDS.search(text):
        style = '"'  # the only style that writes them as escapes
    elif "\n" in text or len(text) >= _LITERAL_FROM:
        style = "|"
    elif _NOT_TEXT.fullmatch(text):
        style = "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)

_Fast: Any = getattr(yaml, "CSafeDumper", None)


class _FastDumper(_Fast or yaml.SafeDumper):  # type: ignore[misc]  # which of the two it is, is known at run time only
    """`_Dumper` through libyaml: for plain text the same bytes, five times as fast; it escapes an emoji."""

    def ignore_aliases(self, data: Any) -> bool:
        """As `_Dumper`."""
        return True


_FastDumper.add_representer(str, _represent_text)

_of_definitions = _FastDumper if _Fast else _Dumper
"""Definitions are nine tenths of a rendered stack, and English prose."""
