"""How `kvobs verify` shows its looks while it goes on looking."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .streams import print_account, progress

if TYPE_CHECKING:
    from ..use_cases.progress import Progress
    from ..use_cases.verify_report import VerifyReport

OnRound = Callable[["VerifyReport"], None]


@contextmanager
def unwatched(quiet: bool) -> Iterator[tuple[Progress, OnRound | None]]:
    """Tell how it goes, and nothing of what each look found."""
    with progress(quiet) as shown:
        yield shown, None


@contextmanager
def watched(quiet: bool, *, verbose: bool) -> Iterator[tuple[Progress, OnRound]]:
    """Show each look on stderr: drawn anew on a terminal, elsewhere by what changed since the one before."""
    from ..report import to_text
    from ..report.rounds import changes
    from ..terminal import redrawn

    last: list[VerifyReport] = []
    with redrawn(sys.stderr, quiet=quiet) as (shown, draw):

        def on_round(report: VerifyReport) -> None:
            if draw is not None:
                draw(to_text(report, verbose=verbose))
            elif not quiet:
                print_account("\n".join(changes(last[-1] if last else None, report)))
            last[:] = [report]

        yield shown, on_round
