"""The walk over a dashboard: finds every reference, puts in what was decided, shares all that did not change.

Two kinds of places hold references: the value of a key `datasource`, wherever it stands, and any other text
with a declared name in it. The walk is the hot path of the patch: it looks at each value once, builds a path
only where a reference is found, and copies only the way down to a change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import DocumentError
from .company import Company, naming_key
from .datasources import PROMETHEUS
from .decisions import Decision, Judge
from .document import MAX_DEPTH, in_words, too_deep
from .placeholders import may_hold_placeholder, name_in, put_in
from .references import Key, Kind, Outcome, Reference, jsonpath

Only = Callable[[tuple[Key, ...]], bool]
"""Whether the reference at a place is to be looked at."""

_SCALARS = frozenset({int, float, bool, type(None)})


class Rewriter:
    """Rewrites the parts of one document, and collects what it found there."""

    def __init__(self, root: Mapping[str, Any], judge: Judge, *, is_v2: bool, only: Only | None) -> None:
        """`root` is the document that paths start from; it is only read."""
        self.references: list[Reference] = []
        self.warnings: dict[str, None] = {}
        self.left: set[str] = set()
        """The declared names that stay in the document."""
        self._judge = judge
        self._company = Company(root, judge, is_v2=is_v2)
        self._only = only
        self._short = only is None and not is_v2
        # The way to where the walk is; each level writes its key, whoever needs a path reads as far as it stands.
        self._keys: list[Key] = [""] * (MAX_DEPTH + 2)
        self._own: str | None = None
        self._walk = self._walker()

    def rewritten(self, value: Any, keys: tuple[Key, ...], *, own: str | None = None) -> Any:
        """Return a value that stands at `keys`, rewritten; the same object where nothing changed.

        `own` names the variable that the value declares.
        """
        depth = len(keys)
        self._keys[:depth] = keys
        self._own = own
        if isinstance(value, dict | list):
            return self._walk(value, depth)
        if isinstance(value, str) and may_hold_placeholder(value):
            return self._text(value, depth)
        return value

    def selected(self, keys: tuple[Key, ...]) -> bool:
        """Whether the reference at a place is to be looked at."""
        return self._only is None or self._only(keys)

    def _walker(self) -> Callable[[Any, int], Any]:
        keys, text, place, unusual = self._keys, self._text, self._place, self._unusual
        texts_matter, probe = self._judge.pattern is not None, self._judge.probe

        # Two loops of one kind: a shared one, or a call for each value, costs a third more time.
        def in_object(value: Any, depth: int) -> Any:
            if depth > MAX_DEPTH:
                raise too_deep(tuple(keys))
            changed: Any = None
            for key, old in value.items():
                of = type(old)
                if of is str:
                    if key == "datasource":
                        keys[depth] = key
                        new = place(old, value, depth + 1)
                    elif texts_matter and probe in old and ("$" in old or "[[" in old):
                        keys[depth] = key
                        new = text(old, depth + 1)
                    else:
                        continue
                elif of is dict:
                    keys[depth] = key
                    new = place(old, value, depth + 1) if key == "datasource" else in_object(old, depth + 1)
                elif of is list:
                    if not old:
                        continue
                    keys[depth] = key
                    new = in_list(old, depth + 1)
                elif old is None:
                    if key != "datasource":
                        continue
                    keys[depth] = key
                    new = place(old, value, depth + 1)
                elif of in _SCALARS:
                    continue
                else:
                    keys[depth] = key
                    new = unusual(old, depth + 1)
                if new is not old:
                    if changed is None:
                        changed = value.copy()
                    changed[key] = new
            return value if changed is None else changed

        def in_list(value: Any, depth: int) -> Any:
            if depth > MAX_DEPTH:
                raise too_deep(tuple(keys))
            changed: Any = None
            for index, old in enumerate(value):
                of = type(old)
                if of is dict:
                    keys[depth] = index
                    new = in_object(old, depth + 1)
                elif of is str:
                    if not (texts_matter and probe in old and ("$" in old or "[[" in old)):
                        continue
                    keys[depth] = index
                    new = text(old, depth + 1)
                elif of is list:
                    keys[depth] = index
                    new = in_list(old, depth + 1)
                elif of in _SCALARS:
                    continue
                else:
                    keys[depth] = index
                    new = unusual(old, depth + 1)
                if new is not old:
                    if changed is None:
                        changed = value.copy()
                    changed[index] = new
            return value if changed is None else changed

        return lambda value, depth: (in_object if isinstance(value, dict) else in_list)(value, depth)

    def _unusual(self, value: Any, depth: int) -> Any:
        """Rewrite a subclass of JSON's types; raise DocumentError for anything that is not JSON."""
        if isinstance(value, dict | list):
            return self._walk(value, depth)
        if isinstance(value, str):
            return self._text(value, depth)
        if isinstance(value, int | float):
            return value
        raise DocumentError(
            f"{jsonpath(self._keys[:depth])} holds a Python {type(value).__name__}, which is no JSON value",
            hint="give the dashboard as json.loads returns it",
        )

    def _text(self, text: str, depth: int) -> str:
        """Rewrite a text outside a data source's place: only declared names matter there."""
        pattern = self._judge.pattern
        matches = [] if pattern is None else list(pattern.finditer(text))
        if not matches:
            return text
        keys = tuple(self._keys[:depth])
        if not self.selected(keys):
            self.left.update(map(name_in, matches))
            return text
        names = map(name_in, matches)
        decisions = [self._judge.name(name, own=name == self._own) for name in names]
        new = put_in(text, matches, map(self._judge.spelled, matches, decisions))
        new = text if new == text else new
        for match, decision in zip(matches, decisions, strict=True):
            embedded = match.end() - match.start() < len(text)
            self._record(keys, decision, text, new, embedded=embedded)
        return new

    def _place(self, old: Any, holder: dict[str, Any], depth: int) -> Any:
        """Rewrite the value of a key `datasource`: null, a text or an object."""
        if isinstance(old, dict):
            if "spec" in old:
                return self._walk(old, depth)
            return self._object(old, holder, depth)
        company, keys = self._company, tuple(self._keys[:depth])
        if not self.selected(keys):
            self._leave(old)
            return old
        new: Any = old
        plugin = company.plugin_of(None, holder)
        if old is None:
            decision = company.unnamed(plugin, holder, keys, Kind.NULL)
            if decision.now is not None:
                by_name = {"name": decision.now}
                by_uid = {"type": decision.plugin or PROMETHEUS, "uid": decision.now}
                new = by_name if "group" in holder else by_uid
        else:
            decision = company.checked(self._judge.text(old, plugin), holder, keys)
            new = old if decision.now in (None, old) else decision.now
        self._record(keys, decision, old, new)
        return new

    def _object(self, old: dict[str, Any], holder: dict[str, Any], depth: int) -> Any:
        """Rewrite a reference in object form; keys that say nothing about the source stay, in order."""
        company = self._company
        named, plugin = old.get("uid"), old.get("type")
        # Nearly all are of this form: a short way for them, to the same end.
        if (
            self._short
            and len(old) == 2
            and isinstance(named, str)
            and isinstance(plugin, str)
            and not may_hold_placeholder(plugin)
            and "builtIn" not in holder
        ):
            decision = self._judge.text(named, plugin)
            now = decision.now
            new = old if now is None or now == named else {**old, "uid": now}
            self._record((*self._keys[:depth], "uid"), decision, named, new["uid"])
            return new
        keys = tuple(self._keys[:depth])
        field = naming_key(old, name_first=company.is_v2)
        # Grafana resolves an object of the classic schema by its uid alone: one with a name needs a uid as well.
        lacks_uid = field == "name" and not company.is_v2
        place = keys if field is None or lacks_uid else (*keys, field)
        named = None if field is None else old[field]
        new = self._beside(old, field, len(keys))
        if not self.selected(place):
            self._leave(named)
            return new
        plugin = company.plugin_of(old, holder)
        if field is None:
            decision = company.unnamed(plugin, holder, keys, Kind.WITHOUT_UID)
        elif isinstance(named, str):
            decision = company.checked(self._judge.text(named, plugin), holder, keys)
        else:
            decision = _senseless(named)
        now = decision.now
        if now is not None and now != named:
            new = new.copy() if new is old else new
            if field is not None:
                new[field] = now
            if field is None or lacks_uid:
                new["name" if "group" in holder else "uid"] = now
        pair = (old, new) if field is None or lacks_uid else (named, new[field])
        self._record(place, decision, *pair)
        return new

    def _beside(self, old: dict[str, Any], field: str | None, depth: int) -> dict[str, Any]:
        """Rewrite what stands in a reference beside the key that names the source."""
        if old.keys() <= {"type", field} and not may_hold_placeholder(str(old.get("type"))):
            return old
        others = {key: value for key, value in old.items() if key != field}
        new = self._walk(others, depth)
        return old if new is others else {key: new.get(key, old[key]) for key in old}

    def _leave(self, value: Any) -> None:
        if isinstance(value, str) and self._judge.pattern is not None:
            self.left.update(map(name_in, self._judge.pattern.finditer(value)))

    def _record(self, keys: tuple[Key, ...], decision: Decision, was: Any, now: Any, *, embedded: bool = False) -> None:
        kind, outcome, _, why, name, plugin, warning, left = decision
        if left:
            self.left.update(left)
        if warning is not None:
            self.warnings[warning] = None
        self.references.append(Reference(keys, kind, outcome, was, now, why, name, plugin, embedded))


def _senseless(value: Any) -> Decision:
    why = f"a data source is named by a text, not by {in_words(value)}"
    return Decision(Kind.LITERAL, Outcome.UNRESOLVED, None, why)
