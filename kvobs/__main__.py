"""`python -m kvobs`, and the programs `kvobs` and `kubectl-kvobs`."""

import signal
import sys
from typing import NoReturn

INTERRUPTED = 130


class Interruption(KeyboardInterrupt):
    """Ctrl-C, or a supervisor's SIGTERM.

    Of a class of its own: after a plain KeyboardInterrupt Python may end by SIGINT whatever code it was told to end
    with.
    """


def _interrupt(*_: object) -> NoReturn:
    raise Interruption


def main() -> NoReturn:
    """Run the command line and leave with its exit code; interrupted at any moment, say so in one line."""
    signals = [each for each in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(each) is not signal.SIG_IGN]
    for each in signals:
        signal.signal(each, _interrupt)
    code: int | str | None
    try:
        # Not before there is somebody who says what an interruption was: loading takes a moment.
        from .cli import main as run

        run()
    except SystemExit as leaving:
        code = leaving.code
    except KeyboardInterrupt:
        code = INTERRUPTED
    # Whatever comes now, the work has ended, and what is said of it is said to its end.
    for each in signals:
        signal.signal(each, signal.SIG_IGN)
    if code == INTERRUPTED:
        sys.stderr.write("kvobs: interrupted; what was done stands, and running the same command again finishes it\n")
    sys.exit(code)


if __name__ == "__main__":
    main()
