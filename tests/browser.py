"""A Chromium of the system, told what to do over a pair of pipes by the DevTools protocol."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = [
    f"--{option}"
    for option in (
        "headless",
        "no-sandbox",
        "disable-gpu",
        "disable-quic",
        "no-first-run",
        "disable-background-networking",
        "disable-component-update",
        "disable-sync",
        "hide-scrollbars",
        "remote-debugging-pipe",
    )
]
PATIENCE = 60.0
"""So many seconds a browser may take to answer."""


def chromium() -> str | None:
    """Return the path of a browser, if there is one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One window, used as a context."""

    def __init__(self, program: str):
        self._home = tempfile.mkdtemp()
        # The browser reads commands from its descriptor 3 and writes to 4.
        read, self._to = os.pipe()
        self._from, write = os.pipe()
        command = 'exec 3<&"$1" 4>&"$2"; shift 2; exec "$@"'
        arguments = [program, *OPTIONS, f"--user-data-dir={self._home}"]
        self._process = subprocess.Popen(
            ["bash", "-c", command, "browser", str(read), str(write), *arguments],
            pass_fds=(read, write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read)
        os.close(write)
        self._buffer, self._count, self._session = b"", 0, None
        self.events: list[dict[str, Any]] = []
        target = self.tell("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.tell("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.tell(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.terminate()
        self._process.wait(20)
        os.close(self._to)
        os.close(self._from)
        shutil.rmtree(self._home, ignore_errors=True)

    def tell(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Return the result of a command; what happens meanwhile is kept in `events`."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select.select([self._from], [], [], PATIENCE)[0]:
                raise RuntimeError("the browser does not answer")
            read = os.read(self._from, 1 << 20)
            if not read:
                raise RuntimeError("the browser has gone")
            self._buffer += read
        text, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(text)

    def open(self, page: Path, width: int, theme: str) -> None:
        """Show a file in a window of some width, for a reader who prefers a theme, `light` or `dark`."""
        self.events.clear()
        self.tell(
            "Emulation.setDeviceMetricsOverride", width=width, height=1000, deviceScaleFactor=1, mobile=False
        )
        self.tell("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        self.tell("Page.navigate", url=page.as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._receive())

    def run(self, script: str) -> Any:
        """Return the value of an expression of JavaScript."""
        answer = self.tell("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def complaints(self) -> list[str]:
        """Return the errors and warnings of the console since a page was opened."""
        found = []
        for event in self.events:
            about = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(about["exceptionDetails"]["text"])
            if event.get("method") == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning"):
                found.append(str([x.get("value") for x in about["args"]]))
            if event.get("method") == "Log.entryAdded" and about["entry"]["level"] == "error":
                found.append(about["entry"]["text"])
        return found

    def picture(self) -> str:
        """Return the whole page as a PNG, in base64."""
        size = self.tell("Page.getLayoutMetrics")["cssContentSize"]
        clip = {**size, "height": min(size["height"], 8000), "scale": 1}
        return self.tell("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
