"""One decision for each reference: what it means by the dashboard's declarations, and what stands there next.

The table that this module writes down:

====================================  ==================================================================
class                                 what happens
====================================  ==================================================================
input, its type or name given         the UID
input of a type nothing was given for left and reported; never filled with another type's UID
input of the expression engine        `__expr__`
constant input                        the given text, else its default
input with a variable of its name     the variable wins: the reference stays (its `current` is pinned)
variable                              stays
undeclared                            of a type that was given: the UID, with a warning; else left, reported
literal that Grafana holds            stays
literal that Grafana lacks            remapped by type when asked, else reported; "" is never held
null, or "default"                    stays where the default source is Prometheus, else the Prometheus UID
object without uid                    the same within its type; a panel follows its targets
built-in                              stays
====================================  ==================================================================
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

from ..errors import DocumentError, UsageError
from .datasources import BUILTIN_TYPES, BUILTIN_UIDS, EXPRESSION, PROMETHEUS, Sources
from .declarations import Declarations, Input
from .placeholders import formatted, holds_any, name_in, pattern_of, probe_of, put_in, whole_name
from .references import Kind, Outcome

_ROOM_FOR_VALUES = 64 * 1024 * 1024
"""How many characters all values put into one document may have: constants may name constants, and a hostile
file lets them multiply."""


class Decision(NamedTuple):
    """What a reference is, the text that stands there next, and why.

    `now` is None where nothing is to be put in.
    """

    kind: Kind
    outcome: Outcome
    now: str | None
    why: str
    name: str | None = None
    plugin: str | None = None
    warning: str | None = None
    left: tuple[str, ...] = ()
    """The declared inputs that stay in the text: their declarations have to stay too."""


class Judge:
    """Decides the references of one dashboard; equal questions are answered once."""

    def __init__(self, declared: Declarations, sources: Sources, types_in_use: Callable[[], frozenset[str]]) -> None:
        """`types_in_use` says which source types the document names; asked where a type must be guessed."""
        self._declared = declared
        self._sources = sources
        self._types_in_use = types_in_use
        self._texts: dict[tuple[str, str | None], Decision] = {}
        self._names: dict[tuple[str, bool], Decision] = {}
        self._open: set[str] = set()
        self._room = _ROOM_FOR_VALUES
        variables = declared.variables
        given = sources.given_names - variables.keys()
        datasources = {name for name, variable in variables.items() if variable.is_datasource}
        names = {*declared.inputs, *datasources, *given}
        self.pattern = pattern_of(names)
        """Finds every name that is a reference, wherever it stands."""
        self.probe = probe_of(names)
        """Stands in every text in which `pattern` finds something: the cheap question, asked first."""
        self._resolvable = pattern_of((declared.inputs.keys() | given) - variables.keys())

    def name(self, name: str, *, own: bool = False) -> Decision:
        """Decide what a name that `pattern` found means.

        `own` says that it stands inside the variable of that name: a declaration cannot refer to itself, so
        there the name means the input.
        """
        answer = self._names.get((name, own))
        if answer is None:
            answer = self._names[name, own] = self._named(name, own)
        return answer

    def text(self, text: str, plugin: str | None) -> Decision:
        """Decide a text in a data source's place (UID, name or placeholder), of a type if that is known."""
        answer = self._texts.get((text, plugin))
        if answer is None:
            answer = self._texts[text, plugin] = self._placed(text, plugin)
        return answer

    def default(self, plugin: str | None, kind: Kind) -> Decision:
        """Decide a reference that names no source, hence the default one, of a type if that is known."""
        wanted, default = plugin or PROMETHEUS, self._sources.default
        if wanted in BUILTIN_TYPES:
            return Decision(kind, Outcome.KEPT, None, "built into Grafana, by its type", plugin=wanted)
        if self._sources.default_is(wanted):
            why = f"it means the default source, which is of type {wanted}"
            return Decision(kind, Outcome.KEPT, None, why, plugin=wanted)
        state = "is not known" if default is None else f"is of type {default.get('type')}"
        why = f"it means the default source, which {state}"
        source = self._sources.of_type(wanted)
        if source is None:
            outcome = Outcome.UNCHECKED if default is None else Outcome.UNRESOLVED
            return Decision(kind, outcome, None, f"{why}; no source of type {wanted} was given", plugin=wanted)
        return Decision(kind, Outcome.RESOLVED, source.uid, f"{why}; set to the {wanted} source", plugin=wanted)

    def spelled(self, match: re.Match[str], decision: Decision) -> str:
        """Return what stands in the place of a placeholder that `pattern` found: the value, or itself."""
        if decision.now is None:
            return match[0]
        value = formatted(match, decision.now)
        self._room -= len(value)
        if self._room < 0:
            raise DocumentError(
                f"the inputs of the dashboard fill in more than {_ROOM_FOR_VALUES} characters",
                hint="a constant among its __inputs names others, again and again, or is very long",
            )
        return value

    def _named(self, name: str, own: bool) -> Decision:
        declaration = self._declared.inputs.get(name)
        variable = self._declared.variables.get(name)
        if declaration is None and variable is not None:
            why = f"variable {name} decides"
            return Decision(Kind.VARIABLE, Outcome.KEPT, None, why, name, variable.plugin)
        if declaration is None:
            return self._unasked(name)
        if variable is not None and not own:
            why = f"input {name} has a variable of the same name, which decides"
            return Decision(Kind.SHADOWED, Outcome.KEPT, None, why, name, declaration.plugin)
        if declaration.is_constant:
            decision = self._constant(declaration)
        elif variable is not None and variable.is_datasource:
            decision = self._input(replace(declaration, plugin=variable.plugin))
        else:
            decision = self._input(declaration)
        return decision if variable is None else decision._replace(kind=Kind.SHADOWED)

    def _unasked(self, name: str) -> Decision:
        value = self._sources.text_for(name) or ""
        if holds_any(value):
            raise UsageError(
                f"the dashboard declares no input {name}, and the value given for it holds a placeholder",
                hint="only a constant that the dashboard declares may have such a value",
            )
        return Decision(Kind.UNDECLARED, Outcome.RESOLVED, value, f"a value was given for {name}", name)

    def _placed(self, text: str, plugin: str | None) -> Decision:
        match = None if self.pattern is None else self.pattern.fullmatch(text)
        whole = whole_name(text) if match is None else name_in(match)
        declaration = None if whole is None else self._declared.inputs.get(whole)
        if whole in self._declared.variables or (declaration is not None and not declaration.is_constant):
            assert whole is not None
            return self.name(whole)
        found = None if self._resolvable is None else self._resolvable.search(text)
        if found is None:
            return self._plain(text, plugin)
        first = self.name(name_in(found))
        filled, left = self._filled(text)
        if left:
            return first._replace(outcome=Outcome.UNRESOLVED, now=filled, left=left)
        after = self._plain(filled, plugin)
        fine = after.outcome in (Outcome.KEPT, Outcome.RESOLVED)
        return Decision(
            first.kind,
            Outcome.RESOLVED if fine else after.outcome,
            filled if after.now is None else after.now,
            first.why if after.now in (None, filled) and fine else f"{first.why}; {after.why}",
            first.name,
            first.plugin or after.plugin,
            after.warning,
        )

    def _filled(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Return a text with every input in it that has a value filled in, and the names of the others."""
        if self._resolvable is None:
            return text, ()
        matches = list(self._resolvable.finditer(text))
        decisions = [self.name(name_in(match)) for match in matches]
        values = map(self.spelled, matches, decisions)
        return put_in(text, matches, values), tuple(name for decision in decisions for name in decision.left)

    def _plain(self, text: str, plugin: str | None) -> Decision:
        """Decide a text without inputs: a variable, a name that nothing declares, or a literal."""
        name = whole_name(text)
        if name in self._declared.variables:
            assert name is not None
            return self.name(name)
        if name is not None:
            return self._undeclared(text, name, plugin)
        if holds_any(text):
            why = "Grafana puts it together when the dashboard is shown"
            return Decision(Kind.LITERAL, Outcome.UNCHECKED, text, why, plugin=plugin)
        return self._literal(text, plugin)

    def _undeclared(self, text: str, name: str, plugin: str | None) -> Decision:
        source = self._sources.of_type(plugin)
        if source is None:
            reason = "nothing says its type" if plugin is None else f"no source of type {plugin} was given"
            why = f"nothing declares {name}, and {reason}"
            return Decision(Kind.UNDECLARED, Outcome.UNRESOLVED, text, why, name, plugin)
        why = f"nothing declares {name}; by its type it became the {plugin} source"
        return Decision(Kind.UNDECLARED, Outcome.RESOLVED, source.uid, why, name, plugin, warning=why)

    def _literal(self, text: str, plugin: str | None) -> Decision:
        def decision(outcome: Outcome, why: str) -> Decision:
            return Decision(Kind.LITERAL, outcome, text, why, plugin=plugin)

        if text in BUILTIN_UIDS:
            return decision(Outcome.KEPT, "built into Grafana")._replace(kind=Kind.BUILTIN)
        if plugin in BUILTIN_TYPES:
            return decision(Outcome.KEPT, "built into Grafana, by its type")
        if text and self._sources.holds(text):
            return decision(Outcome.KEPT, "Grafana has a source of that UID or name")
        if text == "default":
            return self.default(plugin, Kind.LITERAL)
        shown = f"source {text!r}" if text else "source with an empty UID"
        if self._sources.remap_foreign:
            return self._remapped(text, shown, plugin)
        if text and self._sources.known is None:
            return decision(Outcome.UNCHECKED, f"nobody said whether Grafana has a {shown}")
        return decision(Outcome.UNRESOLVED, f"Grafana has no {shown}")

    def _remapped(self, text: str, shown: str, plugin: str | None) -> Decision:
        warning = None
        if plugin is None:
            plugin = _single(self._types_in_use() or (PROMETHEUS,))
            warning = f"nothing says the type of the {shown}; it was taken for {plugin}"
        source = self._sources.of_type(plugin)
        if source is None:
            reason = "nothing says its type" if plugin is None else f"no source of type {plugin} was given"
            why = f"Grafana has no {shown}, and {reason}"
            return Decision(Kind.LITERAL, Outcome.UNRESOLVED, text, why, plugin=plugin)
        why = f"Grafana has no {shown}; remapped to the {plugin} source"
        return Decision(Kind.LITERAL, Outcome.RESOLVED, source.uid, why, None, plugin, warning)

    def _constant(self, declaration: Input) -> Decision:
        name = declaration.name
        given = self._sources.text_for(name)
        raw = declaration.default if given is None else given
        if raw is None:
            why = f"constant {name} has no default, and no value was given"
            return Decision(Kind.CONSTANT, Outcome.UNRESOLVED, None, why, name, left=(name,))
        # A constant may name other inputs, in a circle too. If one of them has no value, this has none either: it
        # stays whole, with the declarations of all.
        left: tuple[str, ...] = (name,)
        if name not in self._open:
            self._open.add(name)
            value, left = self._filled(raw)
            self._open.remove(name)
        if left:
            why = f"constant {name} holds {left[-1]}, which has no value"
            return Decision(Kind.CONSTANT, Outcome.UNRESOLVED, None, why, name, left=(name, *left))
        why = f"constant {name} has {'its default' if given is None else 'the given'} value"
        return Decision(Kind.CONSTANT, Outcome.RESOLVED, value, why, name)

    def _input(self, declaration: Input) -> Decision:
        name, plugin = declaration.name, declaration.plugin
        if declaration.is_expression:
            why = f"input {name} stands for the expression engine"
            return Decision(Kind.EXPRESSION, Outcome.RESOLVED, EXPRESSION, why, name, EXPRESSION)
        source = self._sources.for_input(name, plugin)
        what = "of no stated type" if plugin is None else f"of type {plugin}"
        if source is None:
            why = f"input {name} is {what}, and no such source was given"
            return Decision(Kind.INPUT, Outcome.UNRESOLVED, None, why, name, plugin, left=(name,))
        given = name in self._sources.given_names
        why = f"a source was given for input {name}" if given else f"input {name} is {what}"
        return Decision(Kind.INPUT, Outcome.RESOLVED, source.uid, why, name, plugin)


def _single(types: Iterable[str]) -> str | None:
    """Return the only one, or None where there are several."""
    several = tuple(types)
    return several[0] if len(several) == 1 else None
