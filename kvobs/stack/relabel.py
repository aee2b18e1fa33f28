"""What a monitor's metricRelabelings make of a metric's name, as Prometheus applies them. Pure.

KServe's own monitor, for one, puts `kserve_` in front of every name: it scrapes a server, and no dashboard of vLLM's
lights up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .facts import Object

_NAME = "__name__"
_GROUP = re.compile(r"\$(?:\$|(\w+)|\{(\w+)\})")


def stored_name(name: str, endpoint: Object) -> str | None:
    """Return how the metric *name* of a scrape through *endpoint* is stored, None where it is dropped.

    Only what is decided by the name alone is seen; a step that looks at another label is taken to let it pass, and so
    is one whose expression cannot be read here.

    >>> stored_name("vllm:x", {"metricRelabelings": [
    ...     {"sourceLabels": ["__name__"], "targetLabel": "__name__", "replacement": "kserve_$1"}]})
    'kserve_vllm:x'
    >>> keep = {"sourceLabels": ["__name__"], "action": "keep", "regex": "up|DCGM_FI_.*"}
    >>> stored_name("vllm:x", {"metricRelabelings": [keep]})
    """
    stored: str | None = name
    for step in endpoint.get("metricRelabelings") or ():
        if stored is None:
            return None
        stored = _after(stored, step)
    return stored


def _after(name: str, step: Mapping[str, Any]) -> str | None:
    if list(step.get("sourceLabels") or ()) != [_NAME]:
        return name
    try:
        found = re.fullmatch(str(step.get("regex") or "(.*)"), name, flags=re.DOTALL)
    except re.error:  # RE2 knows forms that this engine does not
        return name
    action = str(step.get("action") or "replace").lower()
    if action == "keep":
        return name if found else None
    if action == "drop":
        return None if found else name
    if action != "replace" or step.get("targetLabel") != _NAME or found is None:
        return name
    template = str(step.get("replacement", "$1"))
    return _GROUP.sub(lambda m: "$" if m[0] == "$$" else _group(found, m[1] or m[2]), template) or None


def _group(found: re.Match[str], key: str) -> str:
    try:
        return found[int(key) if key.isdecimal() else key] or ""
    except IndexError:
        return ""


def keeps_any(names: Iterable[str], endpoint: Object) -> bool:
    """Whether any metric of *names* is stored under its own name."""
    return not endpoint.get("metricRelabelings") or any(stored_name(each, endpoint) == each for each in names)
