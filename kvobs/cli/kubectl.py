"""kvobs as a plugin of kubectl: `kubectl kvobs …`, and what kubectl asks for when Tab is pressed after that."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import sys
from pathlib import Path
from typing import NoReturn

PLUGIN = "kubectl-kvobs"
"""The executable by which kubectl finds the plugin."""

_CANDIDATES_ONLY, _FILES_TOO = ":4", ":0"
"""Cobra's directives, which end the list: whether the shell may offer file names."""


def program() -> str:
    """What the user typed to get here, as help and errors show it."""
    return "kubectl kvobs" if Path(sys.argv[0]).stem == PLUGIN else "kvobs"


def complete() -> NoReturn:
    """Print the candidates for the last of the words typed after `kubectl kvobs`, as kubectl wants them."""
    from .app import command_line

    words = ["kvobs", *sys.argv[1:]]
    # In the form that bash asks in, which the command line answers already.
    os.environ |= {
        "_KVOBS_COMPLETE": "complete_bash",
        "COMP_WORDS": shlex.join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    answer = io.StringIO()
    with contextlib.redirect_stdout(answer), contextlib.suppress(SystemExit):
        command_line()(prog_name="kvobs")
    candidates = answer.getvalue().split()
    sys.stdout.write("\n".join([*candidates, _CANDIDATES_ONLY if candidates else _FILES_TOO]) + "\n")
    sys.exit(0)
