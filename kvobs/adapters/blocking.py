"""Run asynchronous work from code that is not, also where an event loop is running already."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


def run_blocking(
    work: Coroutine[Any, Any, Result],
    said: queue.SimpleQueue[str | None],
    on_line: Callable[[str], None] | None,
) -> Result:
    """Run *work* in a loop and thread of its own and return what it returns; raise what it raises.

    What *work* puts into *said* is given to *on_line* in the calling thread. An event loop may be running in that
    thread already; and every interruption takes the same way: whatever is raised while waiting, by a signal or by
    *on_line*, cancels the work, and is raised on once the work has cleaned up.
    """
    outcome: list[Result] = []
    failure: list[BaseException] = []
    loop = asyncio.new_event_loop()
    task = loop.create_task(work)

    def run() -> None:
        try:
            outcome.append(loop.run_until_complete(task))
        except BaseException as error:  # noqa: BLE001  # raised on in the caller's thread
            failure.append(error)
        finally:
            loop.close()
            said.put(None)

    interruption: BaseException | None = None
    thread = threading.Thread(target=run, name="kvobs-helm")
    thread.start()
    while True:
        try:
            line = said.get(timeout=1)
            if line is None:
                break
            if on_line and interruption is None:
                on_line(line)
        except queue.Empty:
            # An interruption can swallow the end of the queue, never the end of the thread.
            if not thread.is_alive():
                break
        except BaseException as error:  # noqa: BLE001  # raised on below, once Helm is gone
            # A second interruption cancels the wait for Helm's own clean-up: it is then killed.
            interruption = error
            with contextlib.suppress(RuntimeError):  # the loop has just been closed
                loop.call_soon_threadsafe(task.cancel)
    thread.join()
    if interruption is not None:
        raise interruption
    if failure:
        raise failure[0]
    return outcome[0]
