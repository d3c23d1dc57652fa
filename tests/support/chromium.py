"""Headless Chromium over its debugging pipe: no driver and no package beside the browser itself."""

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
    # Nothing on the page may need the network: every name resolves to nowhere.
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--remote-debugging-pipe"),
)
MOVE = (
    "import fcntl, os, sys; "
    "a, b = (fcntl.fcntl(int(n), fcntl.F_DUPFD, 10) for n in sys.argv[1:3]); "
    "os.dup2(a, 3); os.dup2(b, 4); os.execv(sys.argv[3], sys.argv[3:])"
)
LIMIT = 60.0  # seconds for one answer


def find_chromium() -> str | None:
    """The browser's path, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """One page; `complaints` collects what the console, exceptions and failed requests say."""

    def __init__(self, binary: str) -> None:
        self.complaints: list[str] = []
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        # The browser wants the pipe at descriptors 3 and 4: a step between puts it there, whatever ours are.
        command = [sys.executable, "-c", MOVE, str(to_read), str(to_write), binary, *FLAGS]
        command.append(f"--user-data-dir={self._folder.name}")
        self._process = subprocess.Popen(
            command, pass_fds=(to_read, to_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        os.close(to_read)
        os.close(to_write)
        self._buffer, self._number, self._session = b"", 0, ""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        os.close(self._write)
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)  # its own session, so only this browser's processes
            self._process.wait()
        os.close(self._read)
        self._folder.cleanup()

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the DevTools protocol and wait for its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        return self._wait(lambda m: m.get("id") == self._number)["result"]

    def _wait(self, wanted: Any) -> dict[str, Any]:
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            while b"\0" not in self._buffer:
                if not (piece := os.read(self._read, 1 << 20)):
                    raise RuntimeError(f"the browser ended with code {self._process.wait()}")
                self._buffer += piece
            text, self._buffer = self._buffer.split(b"\0", 1)
            message = json.loads(text)
            self._listen(message)
            if wanted(message):
                if "error" in message:
                    raise RuntimeError(str(message["error"]))
                return dict(message)
        raise TimeoutError("the browser gave no answer")

    def _listen(self, message: dict[str, Any]) -> None:
        kind, params = message.get("method"), message.get("params", {})
        if kind == "Runtime.exceptionThrown":
            self.complaints.append(str(params["exceptionDetails"]))
        elif kind == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"]["text"])
        elif kind == "Runtime.consoleAPICalled":
            self.complaints.append(str(params["args"]))
        elif kind == "Network.requestWillBeSent" and not params["request"]["url"].startswith(("data:", "file:")):
            self.complaints.append(f"request of {params['request']['url'][:200]}")

    def open(self, path: Path, width: int, height: int = 800) -> None:
        """Load a file in a window of this size."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )
        self.send("Page.navigate", url=path.resolve().as_uri())
        self._wait(lambda m: m.get("method") == "Page.loadEventFired")

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression on the page."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def until(self, condition: str) -> None:
        """Wait until a JavaScript condition is true: events such as `close` and `hashchange` come after the call."""
        poll = (
            f"new Promise(done => {{ const end = performance.now() + {1000 * LIMIT / 2}; const look = () => "
            f"({condition}) ? done(true) : performance.now() > end ? done(false) : setTimeout(look, 10); look(); }})"
        )
        if not self.run(poll):
            raise AssertionError(f"after {LIMIT / 2:.0f} s still not true on the page: {condition}")

    def pdf(self, path: Path) -> None:
        """The page as printed."""
        path.write_bytes(
            base64.b64decode(self.send("Page.printToPDF", preferCSSPageSize=True, printBackground=True)["data"])
        )
