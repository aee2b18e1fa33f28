"""The text of `kvobs patch`."""

from __future__ import annotations

import json
from collections import Counter

from ..use_cases.patch import PatchReport
from .text import to_text


@to_text.register
def _(report: PatchReport, *, verbose: bool = False) -> str:
    lines: list[str] = []
    for each in report.files:
        if each.error is not None:
            lines.append(f"! {each.source}: {each.error}" + (f" ({each.hint})" if each.hint else ""))
            continue
        place = f" -> {each.written}" if each.written and each.written != each.source else ""
        counts = Counter(row.outcome for row in each.references)
        told = ", ".join(f"{number} {outcome}" for outcome, number in sorted(counts.items())) or "no references"
        done = "references" if report.listing else "patched" if each.changed else "nothing to change"
        lines.append(f"{each.source}: {done}: {told}{place}")
        for row in each.references:
            if not (verbose or report.listing or row.outcome == "unresolved"):
                continue
            change = json.dumps(row.was, ensure_ascii=False)
            if row.now != row.was:
                change += f" -> {json.dumps(row.now, ensure_ascii=False)}"
            mark = "!" if row.outcome == "unresolved" else " "
            lines += [f"  {mark} {row.path}  {change}", f"      {row.reference_class}, {row.outcome}: {row.why}"]
        lines += [f"  ! {warning}" for warning in each.warnings]
        if not each.loadable:
            lines.append(f"  ! no sidecar loads it: {each.not_loadable_because}")
    return "\n".join([*lines, *(f"! {warning}" for warning in report.warnings)])
