"""The text of `kvobs diff` and of `kvobs install --dry-run`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..stack.changes import ObjectChange, Verdict, by_verdict
from ..use_cases.diff import DiffReport
from ..use_cases.dry_run import DryRunReport
from ..use_cases.preview import StepPreview
from .lines import joined, notes, table
from .text import to_text
from .values import change_lines, counted

_MARKS: dict[Verdict, str] = {
    "create": "+",
    "change": "~",
    "delete": "-",
    "theirs": "!",
    "refused": "x",
    "unchanged": "=",
}

_COUNTED: dict[Verdict, str] = {
    "create": "to create",
    "change": "to change",
    "delete": "to delete",
    "refused": "refused",
    "theirs": "left as somebody else has it",
    "unchanged": "as before",
}


@to_text.register
def _(report: DiffReport, *, verbose: bool = False) -> str:
    lines = [] if report.differs else ["No differences."]
    for step in report.steps:
        lines += _step(step, verbose=verbose)
    lines += [f"! dashboard {source}: {why}" for source, why in report.refused]
    return joined(lines, _sum(report.steps), notes(report.notes) if verbose else [])


@to_text.register
def _(report: DryRunReport, *, verbose: bool = False) -> str:
    lines = [
        f"kvobs on Kubernetes {report.server_version}, namespace {report.namespace}: nothing was changed",
        *table([("stack", report.stack), ("Prometheus", report.prometheus), ("Grafana", report.grafana or "none")]),
    ]
    steps = [line for step in report.steps for line in _step(step, verbose=verbose)]
    if report.stopped is not None:
        what, how = report.stopped
        steps += ["", f"x install would stop before its first change: {what}"]
        steps += [f"    what to do: {how}"] if how else []
    steps += [f"! dashboard {source}: {why}" for source, why in report.refused]
    return joined(lines, steps, _sum(report.steps), notes(report.notes))


def _step(step: StepPreview, *, verbose: bool) -> Iterator[str]:
    yield f"Step {step.number}: {step.title}" + (f": {step.detail}" if step.detail else "")
    same = [each for each in step.objects if each.verdict == "unchanged"]
    for each in step.objects:
        if verbose or each not in same:
            yield from (f"  {line}" for line in object_lines(each, verbose=verbose))
    if same and not verbose:
        yield f"  = {counted(len(same), 'object')} as before"


def object_lines(change: ObjectChange, *, verbose: bool = False) -> Iterator[str]:
    """Yield one object with what is different about it."""
    told = [f"refused: {change.reason}"] if change.verdict == "refused" else [change.reason] if change.reason else []
    told += [f"not validated: {change.unvalidated}"] if change.unvalidated else []
    yield " ".join([_MARKS[change.verdict], str(change.ref), *(f"({each})" for each in told)])
    if change.hint:
        yield f"    what to do: {change.hint}"
    for field in change.fields:
        yield from (f"    {line}" for line in change_lines(field.path, field.live, field.wanted, verbose=verbose))
    for theirs in change.theirs:
        who = " and ".join(theirs.managers)
        label = f"! {theirs.path} (of {who})"
        yield from (f"    {line}" for line in change_lines(label, theirs.live, theirs.wanted, verbose=verbose))


def _sum(steps: Sequence[StepPreview]) -> list[str]:
    counts = by_verdict([each for step in steps for each in step.objects])
    told = [f"{counts[verdict]} {words}" for verdict, words in _COUNTED.items() if verdict in counts]
    return [", ".join(told) + "."] if told else []
