"""`python -m kvobs`, and the programs `kvobs` and `kubectl-kvobs`."""

import os
import signal
import sys
from typing import NoReturn

INTERRUPTED = 130
PUT_IN_ORDER_S = 60
"""How long an interrupted run may take to stop Helm and give its Lease back."""

SAID = "kvobs: interrupted; what was done stands, and running the same command again finishes it\n"


class Interruption(KeyboardInterrupt):
    """Ctrl-C, or a supervisor's SIGTERM.

    Of a class of its own: after a plain KeyboardInterrupt Python may end by SIGINT whatever code it was told to end
    with.
    """


def _interrupt(*_: object) -> NoReturn:
    # An exception that comes out of the blue can leave a lock taken (of a connection pool, say), and whoever wants it
    # on the way out would wait for ever.
    signal.signal(signal.SIGALRM, _leave)
    signal.alarm(PUT_IN_ORDER_S)
    raise Interruption


def _leave(*_: object) -> NoReturn:
    os.write(sys.stderr.fileno(), SAID.encode())
    os._exit(INTERRUPTED)


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
        sys.stderr.write(SAID)
    sys.exit(code)


if __name__ == "__main__":
    main()
