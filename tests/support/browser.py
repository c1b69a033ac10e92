"""Chromium without a window, by its own protocol through a pipe: what a page asks for, says, and looks like."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.support.process_groups import kill_group

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --remote-debugging-pipe --no-first-run"


def chromium() -> str:
    """The browser that FAIRSEQ_ROPE_CHROMIUM names, as .ci/run does, or one of this machine.

    A test that needs it is skipped where none is named and there is none.
    """
    named = os.environ.get("FAIRSEQ_ROPE_CHROMIUM")
    found = next((path for name in ([named] if named else NAMES) if (path := shutil.which(name))), None)
    if found is None and named:
        pytest.fail(f"FAIRSEQ_ROPE_CHROMIUM must be a browser, but is {named}")
    if found is None:
        pytest.skip("no Chromium is on the PATH (Debian: apt-get install chromium): the page is not looked at")
    return found


class Browser:
    """A page in Chromium.

    Args:
        path: the file to open.
        width: of the window, in pixels.
        dark: whether the reader prefers dark pages.
    """

    def __init__(self, path: Path, *, width: int, dark: bool = False) -> None:
        # its processes may still write when they are told to end
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        ours, theirs = os.pipe(), os.pipe()  # what we write, what it writes
        # it reads from descriptor 3 and writes to 4
        words = f'exec "$0" {FLAGS} "$@" 3<&{ours[0]} 4>&{theirs[1]}'
        command = ["bash", "-c", words, chromium(), f"--user-data-dir={self.profile.name}"]
        self.process = subprocess.Popen(
            command, pass_fds=(ours[0], theirs[1]), stderr=subprocess.DEVNULL, start_new_session=True
        )
        os.close(ours[0])
        os.close(theirs[1])
        self.to, self.back = os.fdopen(ours[1], "wb", buffering=0), os.fdopen(theirs[0], "rb")
        self.number, self.session, self.events = 0, "", []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Network", "Log", "Runtime", "Page"):
            self.call(f"{domain}.enable")
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=path.resolve().as_uri())
        while not self.seen("Page.loadEventFired"):
            self.events.append(self._read())

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        self.to.write(json.dumps(message | ({"sessionId": self.session} if self.session else {})).encode() + b"\0")
        while (answer := self._read()).get("id") != self.number:
            self.events.append(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def seen(self, *methods: str) -> list[dict[str, Any]]:
        """The parameters of all events of these kinds so far."""
        return [event["params"] for event in self.events if event.get("method") in methods]

    def requests(self) -> list[str]:
        return [event["request"]["url"] for event in self.seen("Network.requestWillBeSent")]

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def press(self, key: str) -> None:
        """Press a key and let it go."""
        code = {"Tab": 9, "Enter": 13}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text)

    def picture(self, path: Path) -> None:
        """Write what is seen of the whole page as a PNG."""
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        kill_group(self.process)
        self.to.close()
        self.back.close()
        self.profile.cleanup()

    def _read(self) -> dict[str, Any]:
        message = bytearray()
        while (byte := self.back.read(1)) != b"\0":
            assert byte, "the browser has ended"
            message += byte
        return json.loads(message)
