"""Whose an object of our name is, and which of its fields are somebody else's. Pure.

What nobody looks after (applied by hand, by `kvobs render`, by a kvobs whose record was lost) may be taken over where
the user says so. What a Helm release, a GitOps tool, an operator or another ApplySet looks after may not, whatever the
user says: its owner would put it back, or delete it with everything else of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from .facts import Object
from .objects import PART_OF_LABEL, kind_of
from .workloads import helm_release, labels_of, tracked_by

TAKE = "to have it as kvobs makes it: --take-ownership"
"""What to do about an object, or a field of one of ours, that may be taken."""

_SHOWN = 60
"""Characters of a value that are shown: a dashboard is a value too."""


def looked_after_by(live: Object) -> str | None:
    """Return in words who looks after *live*, an object that is not ours, and would undo what we make of it.

    >>> meta = {"annotations": {"meta.helm.sh/release-name": "obs", "meta.helm.sh/release-namespace": "mon"}}
    >>> looked_after_by({"metadata": meta}), looked_after_by({"metadata": {}})
    ('Helm release mon/obs', None)
    """
    if tool := tracked_by(live):
        return tool
    if release := helm_release(live):
        return f"Helm release {'/'.join(release)}"
    if other := labels_of(live).get(PART_OF_LABEL):
        return f"another ApplySet ({other})"
    for owner in live["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            return f"{owner['kind']} {owner['name']}"
    return None


def may_be_taken(live: Object) -> bool:
    """Whether *live*, an object that is not ours, is taken over where the user says so; a Secret's content never is."""
    return kind_of(live) != "Secret" and looked_after_by(live) is None


def fields_named(fields: Iterable[tuple[str, str]], live: Object) -> str:
    """Say of each (field, manager) of a conflict whose it is and what stands there.

    >>> fields_named([(".spec.a", "kubectl")], {"spec": {"a": [1, 2]}})
    '.spec.a belongs to field manager "kubectl", which has it at [1, 2]'
    """
    return "; ".join(
        f'{path} belongs to field manager "{manager}"'
        + (f", which has it at {value}" if (value := _shown_at(live, path)) is not None else "")
        for path, manager in fields
    )


def _shown_at(live: Object, path: str) -> str | None:
    """The value at a path as the API server writes one, shortened; None where it leads into a list, or nowhere."""
    here: Any = live
    rest = path.removeprefix(".")
    while rest:
        key = _first_key(here, rest)
        if key is None:
            return None
        here, rest = here[key], rest[len(key) :].removeprefix(".")
    return shown(here)


def shown(value: Any) -> str:
    """Return *value* as JSON, shortened.

    >>> shown({"a": 1}), len(shown("x" * 100))
    ('{"a": 1}', 60)
    """
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _first_key(here: Any, path: str) -> str | None:
    """The key that *path* begins with: keys hold dots, and the API server does not mark them."""
    if not isinstance(here, Mapping):
        return None
    fitting = [key for key in here if path == key or path.startswith(f"{key}.")]
    return max(fitting, key=len, default=None)
