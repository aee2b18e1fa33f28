"""A headless Chromium that opens one page, told what to do over the DevTools protocol."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import websocket

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
START_S, ANSWER_S = 120, 120

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here (Debian: apt install chromium)")


class Page:
    """One tab. `requests` are the addresses that it has asked for, `console` what it or the browser has said."""

    def __init__(self, socket: websocket.WebSocket) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self.requests: list[str] = []
        self.console: list[str] = []
        self._loaded: set[str] = set()
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send one command, and return what it answers; events that come before are noted down."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        return self._read(lambda message: message.get("id") == number)["result"]

    def _read(self, wanted: Any) -> dict[str, Any]:
        while True:
            message = json.loads(self._socket.recv())
            assert "error" not in message, message
            self._note(message.get("method", ""), message.get("params", {}))
            if wanted(message):
                return message

    def _note(self, method: str, params: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.console.append(json.dumps(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled":
            self.console.append(json.dumps(params["args"]))
        elif method == "Page.lifecycleEvent" and params["name"] == "load":
            self._loaded.add(params["loaderId"])
        elif method == "Log.entryAdded":
            self.console.append(params["entry"]["text"])

    def open(self, path: Path, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Open a file in a window of that size, and wait until it is there."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.console.clear()
        # By way of an empty page: to the same address with another #part no page is loaded.
        for url in ("about:blank", path.as_uri()):
            self.requests.clear()
            # Which page has loaded is told by its loader: word of the one before may be late.
            loader = self.call("Page.navigate", url=url)["loaderId"]
            while loader not in self._loaded:
                self._read(lambda _: True)

    def until(self, comes_true: Callable[[], bool]) -> None:
        """Wait until something holds in the page, which does some things a moment later; fail if it never does."""
        deadline = time.monotonic() + ANSWER_S
        while not comes_true():
            assert time.monotonic() < deadline, "it does not come"
            time.sleep(0.02)
            self.run("0")  # What has happened meanwhile is told with the answer.

    def run(self, script: str) -> Any:
        """Return the value of an expression in the page; of a promise, what it comes to."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def screenshot(self, path: Path) -> None:
        """Write the whole page as a PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        answer = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(answer["data"]))


@contextlib.contextmanager
def chromium() -> Iterator[Page]:
    """Start the browser with a profile of its own, and give its one tab."""
    assert CHROMIUM is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [
                CHROMIUM,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-background-networking",
                "--disable-component-update",
                "--no-first-run",
                "--no-proxy-server",
                "--remote-debugging-port=0",
                f"--user-data-dir={profile}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            socket = websocket.create_connection(_tab(Path(profile), process), timeout=ANSWER_S, suppress_origin=True)
            with contextlib.closing(socket):
                yield Page(socket)
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _tab(profile: Path, process: subprocess.Popen[bytes]) -> str:
    """Return where the tab listens; the browser writes its port into its profile, a moment after its start."""
    deadline = time.monotonic() + START_S
    told = profile / "DevToolsActivePort"
    while not (told.exists() and told.read_text().count("\n")):
        assert process.poll() is None, f"{CHROMIUM} ended with {process.returncode}"
        assert time.monotonic() < deadline, f"{CHROMIUM} does not start"
        time.sleep(0.05)
    port = told.read_text().splitlines()[0]
    import urllib.request

    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while True:
        with opener.open(f"http://127.0.0.1:{port}/json/list", timeout=ANSWER_S) as answer:
            tabs = [each["webSocketDebuggerUrl"] for each in json.load(answer) if each["type"] == "page"]
        if tabs:
            return str(tabs[0])
        assert time.monotonic() < deadline, f"{CHROMIUM} has no tab"
        time.sleep(0.05)
