"""What the variables of a dashboard stand for when Grafana loads it: in which order, of which options, which one.

Measured against `@grafana/scenes` 9.2.2, as far as it decides (`tests/oracle/`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from .adhoc import matchers
from .board import Scope, Value, Variable, Window
from .interpolation import ALL_TEXT, interpolate, names_in
from .intervals import auto_interval_s, duration_s, interval_text
from .variable_queries import Option

ALL = "$__all"
"""How a dashboard saves that All was chosen."""
DEFAULT = "default"
"""Value of a data source variable that follows the default data source, whichever that is."""

Given = str | Sequence[str]
"""What the user chose for a variable."""

OFFERING = frozenset({"query", "custom", "datasource"})
"""Types of variables that offer options, of which one or several are chosen."""

_AUTO = "$__auto"
_CUSTOM = re.compile(r"(?:\\,|[^,])+")
_TEXT_AND_VALUE = re.compile(r"\s*(?P<text>.+)\s:\s(?P<value>.+)")
_INTERVAL = re.compile(r"([\"'])(?P<quoted>.*?)\1|(?P<word>\w+)", re.ASCII)


def in_order(variables: Sequence[Variable]) -> tuple[Variable, ...]:
    """Return the variables so that each comes after those that it names.

    In a circle the one that the dashboard lists first goes first, with what was saved for the others.

    >>> [each.name for each in in_order([Variable(name="pod", type="query", query="label_values(up{job='$job'}, pod)"),
    ...     Variable(name="job", type="query", query="label_values(job)")])]
    ['job', 'pod']
    """
    waiting = {each.name: each for each in variables}
    # What each still waits for: itself is nothing to wait for, nor what is no variable here.
    missing = {name: set(depends_on(each) & waiting.keys() - {name}) for name, each in waiting.items()}
    needed_by: dict[str, list[str]] = {}
    for name, needed in missing.items():
        for each in needed:
            needed_by.setdefault(each, []).append(name)
    places = {name: place for place, name in enumerate(waiting)}
    ready = [name for name in waiting if not missing[name]]
    ordered: list[Variable] = []
    while waiting:
        done = ready or [next(iter(waiting))]
        ordered += (waiting.pop(name) for name in done)
        ready = []
        for name in done:
            for other in needed_by.get(name, ()):
                missing[other].discard(name)
                if not missing[other] and other in waiting:
                    ready.append(other)
        ready = sorted(set(ready), key=places.__getitem__)
    return tuple(ordered)


def depends_on(variable: Variable) -> frozenset[str]:
    """Return the names of the variables that a variable's own options depend on."""
    texts = (variable.query, variable.regex, variable.source.written or "")
    return frozenset(name for text in texts for name in names_in(text))


def saved(variable: Variable) -> Value:
    """Return what was saved with the dashboard, without a look at what there is now."""
    if variable.current[:1] == (ALL,):
        return _all(variable, [Option(*each) for each in variable.options if each[1] != ALL])
    texts = variable.current_text if len(variable.current_text) == len(variable.current) else variable.current
    return _value(variable, [Option(*each) for each in zip(texts, variable.current, strict=True)])


def without_options(variable: Variable, scope: Scope, window: Window) -> Value:
    """Return what a variable stands for that offers nothing to choose from Prometheus: a constant, an interval…"""
    first = variable.current[0] if variable.current else ""
    match variable.type:
        case "constant":
            return _plain(interpolate(variable.query, scope, format=None))
        case "textbox":
            return _plain(first or variable.query)
        case "interval":
            return _interval(variable, first, window)
        case "switch":
            return _plain(first or (variable.options[1][1] if len(variable.options) > 1 else "false"))
        case "adhoc":
            return _plain(matchers(variable.filters))
        case _:
            return saved(variable)


def custom_options(variable: Variable, scope: Scope) -> list[Option]:
    r"""Return the options of a custom variable: values by commas, `text : value` where both differ.

    >>> custom_options(Variable(name="x", type="custom", query=r"a, Half : 0.5, b\,c"), {})
    [Option(text='a', value='a'), Option(text='Half', value='0.5'), Option(text='b,c', value='b,c')]
    """
    return list(_custom(interpolate(variable.query, scope, format=None)))


def _custom(text: str) -> Iterator[Option]:
    for part in _CUSTOM.findall(text):
        plain = part.replace("\\,", ",")
        both = _TEXT_AND_VALUE.fullmatch(plain)
        yield Option(both["text"].strip(), both["value"].strip()) if both else Option(plain.strip(), plain.strip())


def chosen(variable: Variable, options: Sequence[Option], given: Given | None = None) -> Value:
    """Return what a variable stands for among its options: what the user gave, else what was saved where that is
    still among them, else All where it offers All, else the first.

    >>> variable = Variable(name="x", type="query", current=("b",), current_text=("b",))
    >>> chosen(variable, [Option("a", "a"), Option("b", "b")]).values, chosen(variable, [Option("a", "a")]).values
    (('b',), ('a',))
    """
    if given is not None:
        return _given(variable, options, given)
    if not options:
        # An empty list of a custom variable does not undo what is saved with it.
        lasting = variable.type == "custom" and not depends_on(variable)
        return saved(variable) if lasting else _first(variable, [])
    if variable.current[:1] == (ALL,):
        return _all(variable, options) if variable.include_all else _value(variable, options[:1])
    kept = _kept(variable, options)
    return _value(variable, kept) if kept else _first(variable, options)


def _kept(variable: Variable, options: Sequence[Option]) -> list[Option]:
    """Return the saved choice as far as it is still offered: by value; a single one by its text too."""
    by_value = {each.value: each for each in reversed(options)}
    if variable.multi:
        return [by_value[value] for value in variable.current if value in by_value]
    if not variable.current:
        return []
    if variable.current[0] in by_value:
        return [by_value[variable.current[0]]]
    text = variable.current_text[0] if variable.current_text else ""
    return [each for each in options if each.text == text][-1:]


def _first(variable: Variable, options: Sequence[Option]) -> Value:
    return _all(variable, options) if variable.include_all else _value(variable, options[:1])


def _all(variable: Variable, options: Sequence[Option]) -> Value:
    return replace(_value(variable, options), all=True, all_value=variable.all_value or None)


def _value(variable: Variable, options: Sequence[Option]) -> Value:
    return Value(
        values=tuple(each.value for each in options),
        texts=tuple(each.text for each in options),
        multi=variable.multi or variable.include_all,
        listed=variable.multi,
    )


def _plain(text: str) -> Value:
    return Value(values=(text,))


def _given(variable: Variable, options: Sequence[Option], given: Given) -> Value:
    values = (given,) if isinstance(given, str) else tuple(given)
    if variable.include_all and values in ((ALL,), (ALL_TEXT,)):
        return _all(variable, options)
    by_value = {each.value: each for each in options}
    by_text = {each.text: each for each in options}
    picked = [by_value.get(value) or by_text.get(value) or Option(value, value) for value in values]
    return _value(variable, picked)


def _interval(variable: Variable, first: str, window: Window) -> Value:
    """Return the chosen interval; `auto` is the range by a number of steps, rounded as a panel's interval is."""
    if first.startswith(_AUTO):
        steps = max(variable.auto_count, 1)
        least_s = duration_s(variable.auto_min) or 0.0
        found_s = auto_interval_s(window.end_s - window.start_s, steps, least_s)
        return Value(values=(interval_text(found_s),), texts=("auto",))
    offered = [match["word"] or match["quoted"] or "" for match in _INTERVAL.finditer(variable.query)]
    return _plain(first if first in offered else offered[0] if offered else first)


def with_default(options: Sequence[Option], variable: Variable, default_uid: str | None) -> list[Option]:
    """Return the options of a data source variable; one that was saved as `default` offers that again, beside the
    data source that it is."""
    if variable.current[:1] != (DEFAULT,) or variable.current_text[:1] != (DEFAULT,):
        return list(options)
    offered: list[Option] = []
    for each in options:
        offered.append(each)
        if each.value == default_uid:
            offered.append(Option(DEFAULT, DEFAULT))
    return offered


def names_of_empty(scope: Mapping[str, Value]) -> frozenset[str]:
    """Return the names of the variables without any value, so that what uses them finds nothing."""
    return frozenset(name for name, value in scope.items() if not value.values and not (value.all and value.all_value))
