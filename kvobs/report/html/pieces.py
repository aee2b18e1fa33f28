"""Small parts that several sections have."""

from __future__ import annotations

from collections.abc import Mapping

from ...health.remedy import Step, steps
from ...health.verdict import Finding, State
from ..verify import title_of
from .markup import Markup, joined, tag

SHAPES: Mapping[State, str] = {
    "lit": "✓",
    "broken": "✕",
    "unknown": "?",
    "dark": "◐",
    "expected": "○",
    "not checked": "–",
}
"""What tells a state where colours do not; its word stands beside it."""


def state_class(state: State) -> str:
    """The class of a state."""
    return f"s-{state.replace(' ', '-')}"


def mark(state: State) -> Markup:
    """The shape of a state, for the eye alone."""
    return tag("span", SHAPES[state], class_=f"mark {state_class(state)}", aria_hidden="true")


def bar(counts: Mapping[State, int]) -> Markup:
    """The shares of the states, for the eye alone: the numbers stand beside it."""
    whole = sum(counts.values())
    parts: list[Markup] = []
    start = 0.0
    for state, number in counts.items():
        if number:
            width, fill = 100 * number / whole, f"fill-{state_class(state)}"
            parts.append(tag("rect", x=f"{start:.2f}%", width=f"{width:.2f}%", height="100%", class_=fill))
            start += width
    return tag("svg", *parts, class_="bar", aria_hidden="true")


def named(finding: Finding) -> Markup:
    """A cause by id and title."""
    title = title_of(finding.cause)
    return joined(tag("span", finding.cause, class_="id"), f" {title}" if title else "")


def fix(finding: Finding) -> Markup:
    """What mends it: sentences to be read, commands to be copied, one by one."""
    if not finding.fix:
        return tag("p", "There is nothing to mend.", class_="quiet")
    return joined(*map(_step, steps(finding.fix)))


def _step(step: Step) -> Markup:
    if not step.command:
        return tag("p", step.text, dir="auto", class_="said")
    remark = tag("p", step.remark, dir="auto", class_="quiet") if step.remark else ""
    return joined(tag("div", tag("pre", tag("code", step.text), dir="ltr"), class_="fix"), remark)


def evidence(finding: Finding) -> Markup:
    """What it was told from."""
    if not finding.evidence:
        return Markup()
    return tag("ul", *(tag("li", each, dir="auto") for each in finding.evidence), class_="evidence")
