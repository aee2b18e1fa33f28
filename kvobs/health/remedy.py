"""The steps of a fix, told apart: sentences for a person, and commands for a shell. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PROGRAM = r"(?:kvobs|kubectl|helm|curl) "
_COMMAND = re.compile(rf"(?P<text>{_PROGRAM}(?:'[^']*'|[^'])*?)(?:\s+# (?P<remark>.*))?")
"""A quoted text is one piece, whatever is in it."""
_WITHIN = re.compile(rf"(?<=[:?]) (?={_PROGRAM})")
_PROSE = re.compile(r"(?:, then|;| shows| says|, with) ")
"""How a sentence that began with a command goes on."""
_QUOTED = re.compile(r"'[^']*'")


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One step: a command, or a sentence."""

    text: str
    command: bool
    """Whether it can be given to a shell as it stands; words in capitals stand for names that are not known."""
    remark: str = ""
    """What is to be said beside a command."""


def steps(fix: str) -> tuple[Step, ...]:
    r"""Return the steps of a fix. A line that begins with a program is a command, ` # ` its remark; so is what a
    sentence ends with behind a colon or a question mark. All else is for a person.

    >>> [(step.text, step.command, step.remark) for step in steps("kvobs install   # adds a monitor\nChoose a range")]
    [('kvobs install', True, 'adds a monitor'), ('Choose a range', False, '')]
    >>> [step.text for step in steps("is it running? curl http://p:9090/-/ready") if step.command]
    ['curl http://p:9090/-/ready']
    >>> [step.command for step in steps("kubectl get pods shows whether it runs")]
    [False]
    """
    return tuple(step for line in fix.splitlines() for step in _steps(line.strip()))


def _steps(line: str) -> tuple[Step, ...]:
    whole = _command(line)
    if whole is not None:
        return (whole,)
    *_, behind = _WITHIN.split(line)
    command = _command(behind)
    if command is not None:
        return (Step(text=line.removesuffix(behind).rstrip(), command=False), command)
    return (Step(text=line, command=False),) if line else ()


def _command(text: str) -> Step | None:
    """Return the command that a text is; None where it is none."""
    match = _COMMAND.fullmatch(text)
    if match is None or _PROSE.search(_QUOTED.sub("''", match["text"])):
        return None
    return Step(text=match["text"], command=True, remark=match["remark"] or "")
