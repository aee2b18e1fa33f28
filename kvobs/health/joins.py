"""Why the two sides of an operator do not meet, and by which labels they would. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from .answers import Answer, Result, Series
from .causes import found
from .evidence import Lost
from .label_matchers import twins
from .promql import Matching, Part
from .texts import short
from .verdict import Finding

_MOST_LABELS = 8


def join_finding(lost: Lost) -> Finding:
    """Return why an operator finds no two series that belong together."""
    part = lost.part
    apart, fix = _apart(part, lost.sides)
    return found(
        "KVO-803",
        subject=short(part.expr),
        said=f"both sides of `{part.name}` have series, and none of them meet" + (f": {apart}" if apart else ""),
        fix=fix,
        evidence=tuple(_told(text, answer) for text, answer in zip(part.sides, lost.sides, strict=False)),
    )


def _told(expr: str, answer: Answer) -> str:
    labels = ", ".join(sorted(label_names(answer))) or "(none)"
    return f"{short(expr)}: {len(series_of(answer))} series, labels {labels}"


def meet(part: Part, sides: Sequence[Answer]) -> bool:
    """Whether series of two sides have equal labels, so that only their values, or times, can keep them apart."""
    return len(sides) < 2 or bool(_keys(sides[0], part.matching) & _keys(sides[1], part.matching))


def label_names(answer: Answer) -> frozenset[str]:
    """Labels that any series of an answer has, the name left out."""
    return frozenset(name for each in series_of(answer) for name, value in each.labels.items() if value) - {"__name__"}


def series_of(answer: Answer) -> tuple[Series, ...]:
    """The series of an answer, where it is one."""
    return answer.series if isinstance(answer, Result) else ()


def _keys(answer: Answer, matching: Matching | None) -> frozenset[tuple[tuple[str, str], ...]]:
    """What the series are compared by."""
    return frozenset(
        tuple(sorted((name, value) for name, value in each.labels.items() if value and _compared(name, matching)))
        for each in series_of(answer)
    )


def _compared(label: str, matching: Matching | None) -> bool:
    return label != "__name__" and (matching is None or matching.counts(label))


def _apart(part: Part, sides: Sequence[Answer]) -> tuple[str, str | None]:
    """Say what keeps two sides apart, and what would bring them together."""
    if len(sides) < 2:
        return "", None
    if meet(part, sides):
        return "their labels are equal, and they are never there at the same time", "Choose a range in which both ran"
    return _why_apart(part, sides), _together(part, sides)


def _why_apart(part: Part, sides: Sequence[Answer]) -> str:
    compared = [frozenset(each for each in label_names(side) if _compared(each, part.matching)) for side in sides]
    only = [sorted(compared[0] - compared[1]), sorted(compared[1] - compared[0])]
    if any(only):
        said = [
            f"only the {side} one has {_listed(names)}"
            for side, names in zip(("left", "right"), only, strict=True)
            if names
        ]
        return " and ".join(said)
    for name in sorted(compared[0]):
        one, other = _values(sides[0], name), _values(sides[1], name)
        if not one & other:
            return f'`{name}` is "{min(one)}" on the left and "{min(other)}" on the right'
    return ""


def _together(part: Part, sides: Sequence[Answer]) -> str | None:
    if (renamed := _under_another_name(part, sides)) is not None:
        side, label, other = renamed
        where = ("left", "right")[side]
        return f'In the query: label_replace(…, "{label}", "$1", "{other}", "(.+)") around the {where} side'
    both = sorted(label_names(sides[0]) & label_names(sides[1]))
    equal = [each for each in both if _values(sides[0], each) & _values(sides[1], each)]
    matching = Matching("on", frozenset(equal))
    if not equal or not _keys(sides[0], matching) & _keys(sides[1], matching):
        return None
    several = (
        "" if part.name in ("and", "unless") else "; group_left or group_right, where several on that side meet one"
    )
    return f"In the query: on ({', '.join(equal)}), or fewer of these labels, which have equal values{several}"


def _under_another_name(part: Part, sides: Sequence[Answer]) -> tuple[int, str, str] | None:
    """(side, label, another): where what `on (label)` compares stands in another label of one side."""
    wanted = sorted(part.matching.labels) if part.matching is not None and part.matching.how == "on" else []
    for label in wanted:
        for side, facing in ((0, 1), (1, 0)):
            values = _values(sides[facing], label)
            for other in sorted(twins(label) & label_names(sides[side])):
                if values & _values(sides[side], other):
                    return side, label, other
    return None


def _values(answer: Answer, label: str) -> frozenset[str]:
    return frozenset(each.labels[label] for each in series_of(answer) if each.labels.get(label))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{each}`" for each in names[:_MOST_LABELS])
