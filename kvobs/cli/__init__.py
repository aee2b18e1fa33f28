"""The command line: each command parses, calls one use case, prints its report and exits with its code.

Nothing but this package and the standard library is loaded before a command runs, so that `--help` stays quick.
"""

from __future__ import annotations

import io
import os
import sys
from typing import NoReturn

from .app import command_line as command_line
from .kubectl import program


def main() -> NoReturn:
    """Run the command line; the only place that exits."""
    # A shell can close them (`>&-`): then nobody hears what is said.
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115  # as long as the process
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        # JSON and YAML are UTF-8 in every locale; a file name that is none is shown with escapes.
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    # The shell asks about what is typed so far in the environment, and then any command may be meant.
    typed = None if "_KVOBS_COMPLETE" in os.environ else sys.argv[1:]
    command_line(typed)(prog_name=program())
    sys.exit(0)
