"""What the cases came to, as tables for the README: fault x step, and signal x step."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.cluster.faults.kills import SIGNALS, Stop
from tests.cluster.faults.kinds import Kind
from tests.cluster.faults.sweep import Result

BEGIN, END = "<!-- faults -->", "<!-- /faults -->"
PART = re.compile(r"^<!-- faults: (\S+) -->\n", re.MULTILINE)
README = Path(__file__).parents[3] / "README.md"
DIRECTION = (
    "A cell: runs that ended well / runs that ended in a plain error (exit 3 or 4, what to do, no secret)."
    " After each of them a run without a fault ended as if there had been none."
)


def fault_table(results: Iterable[Result]) -> list[str]:
    """Return a Markdown table of runs, by step and kind of fault."""
    counted: dict[str, dict[Kind, Counter[bool]]] = {}
    for each in results:
        row = counted.setdefault(named(each.action, each.step), {kind: Counter() for kind in Kind})
        row[each.fault.kind][each.error is None] += 1
    rows = [[step, *(_cell(row[kind]) for kind in Kind)] for step, row in sorted(counted.items())]
    return _markdown(["step", *(kind.value for kind in Kind)], rows)


def kill_table(stops: Iterable[Stop]) -> list[str]:
    """Return a Markdown table of stopped runs, by step and signal."""
    counted: Counter[tuple[str, str]] = Counter()
    for each in stops:
        counted[named(each.action, each.step or ""), each.number.name] += 1
    steps = sorted({step for step, _ in counted})
    rows = [[step, *(str(counted[step, each.name] or "-") for each in SIGNALS)] for step in steps]
    return _markdown(["stopped in", *(each.name for each in SIGNALS)], rows)


def named(action: str, step: str) -> str:
    """Return a row's name: a step without what differs from install to install.

    >>> named("install", "Helm release kube-prometheus-stack: install"), named("install", "namespace monitoring")
    ('install: Helm release: install', 'install: namespace')
    """
    return f"{action}: " + re.sub(r" (kube-prometheus-stack|monitoring)\b", "", step)


def part(sentence: str, lines: Sequence[str]) -> str:
    """Return the text of one part: what it stands for, and its table."""
    return "\n".join([f"{sentence}:", "", *lines])


def written(readme: str, name: str, text: str, *, order: Sequence[str]) -> str:
    """Return the README with the *text* of one part in the place of an older one; the other parts stay as they are.

    >>> readme = ""
    >>> for name, text in (("kills", "some"), ("stack", "more"), ("kills", "all")):
    ...     readme = written(readme, name, text, order=["stack", "kills"])
    >>> readme.splitlines()[2:]
    ['', '<!-- faults: stack -->', 'more', '', '<!-- faults: kills -->', 'all', '', '<!-- /faults -->']
    """
    head, _, rest = readme.partition(BEGIN) if BEGIN in readme else (f"{readme.rstrip()}\n\n".lstrip(), "", f"{END}\n")
    old, _, tail = rest.partition(END)
    names = PART.split(old)[1:]
    parts = {**dict(zip(names[::2], names[1::2], strict=True)), name: text}
    told = [f"<!-- faults: {each} -->\n{parts[each].strip()}" for each in order if each in parts]
    return "\n\n".join([f"{head}{BEGIN}\n{DIRECTION}", *told, f"{END}{tail}"])


def untold(name: str, steps: Iterable[str]) -> str | None:
    """Say which *steps* one part of the README does not tell of, and what to run; None: none."""
    block = README.read_text().partition(BEGIN)[2].partition(END)[0]
    parts = PART.split(block)[1:]
    text = dict(zip(parts[::2], parts[1::2], strict=True)).get(name, "")
    missing = {each for each in steps if f"| {each} |" not in text}
    if not missing:
        return None
    what = f"the README's table {name!r} has no row for {', '.join(sorted(missing))}"
    return f"{what}; if they are meant: make faults FAULTS_ARGS='--only {name} --write'"


def _cell(ends: Counter[bool]) -> str:
    return f"{ends[True]} / {ends[False]}" if ends.total() else "-"


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return [f"| {' | '.join(line)} |" for line in lines]
