"""A headless Chromium, driven by the DevTools protocol: as little of it as the tests need."""

import base64
import contextlib
import itertools
import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from typing_extensions import override
from websockets.sync.client import ClientConnection, connect

Json = dict[str, Any]

PATIENCE_SECONDS = 180.0  # a busy machine may take long
_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
# What the tests need of a key: its code, and the text it writes.
_KEYS = {
    "Enter": (13, "\r"),
    "Tab": (9, ""),
    "Escape": (27, ""),
    "ArrowDown": (40, ""),
    "ArrowUp": (38, ""),
}
_WAIT = """new Promise((resolve) => {
  const look = () => {
    let found; try { found = (%s); } catch (error) { found = null; }
    if (found) resolve(found); else requestAnimationFrame(look);
  };
  look();
})"""

# Where to click, and `aimed`, which keeps from the page what is pressed elsewhere.
_AIM = """(() => {
  const one = [...document.querySelectorAll(%s)].find((each) => each.innerText.includes(%s)
    && each.getClientRects().length && (each.closest(".item") ?? each).innerText.includes(%s));
  if (!one) return null;
  one.scrollIntoView({ block: "nearest" });
  const box = one.getBoundingClientRect();
  const names = ["pointerdown", "mousedown", "pointerup", "mouseup", "click"];
  const meet = (event) => {
    if (event.type === "pointerdown") aimed.hit = one.contains(event.target);
    if (aimed.hit) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  window.aimed = { hit: false, end: () => {
    for (const name of names) removeEventListener(name, meet, true);
  } };
  for (const name of names) addEventListener(name, meet, true);
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
})()"""
# A tab that waits reads nothing, so that no answer to a ping is seen in time.
_SOCKET: Json = {"max_size": None, "proxy": None, "ping_interval": None}
_REFUSED = "409 (Conflict)"  # how the page is refused what a person may not do


def program() -> str | None:
    """The browser's program, None where it is not installed."""
    return next(filter(None, map(shutil.which, _PROGRAMS)), None)


class Remote:
    """Something that takes commands: the browser, or one of its tabs."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)

    def send(self, method: str, **params: Any) -> Json:
        """The result of one command."""
        number, end = next(self._numbers), time.monotonic() + PATIENCE_SECONDS
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:  # events may come meanwhile, without end
            told = json.loads(self._socket.recv(timeout=max(0.0, end - time.monotonic())))
            if told.get("id") == number:
                if "error" in told:
                    raise AssertionError(f"{method}: {told['error']['message']}")
                result: Json = told["result"]
                return result
            self._hear(told)

    def _hear(self, told: Json) -> None:
        """Takes an event that comes before the answer."""


class Tab(Remote):
    """One page of the browser; `problems` are exceptions in it and complaints of the browser."""

    def __init__(self, socket: ClientConnection) -> None:
        super().__init__(socket)
        self.problems: list[str] = []
        self._streamed: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    @override
    def _hear(self, told: Json) -> None:
        if told.get("method") == "Runtime.exceptionThrown":
            details = told["params"]["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif told.get("method") == "Log.entryAdded":
            entry = told["params"]["entry"]
            if entry["level"] == "error" and _REFUSED not in entry["text"]:
                self.problems.append(entry["text"])
        elif told.get("method") == "Network.eventSourceMessageReceived":
            self._streamed.append(told["params"]["data"])

    def streamed(self, text: str) -> None:
        """Waits until the stream has brought this text, and a frame is drawn after it."""
        end = time.monotonic() + PATIENCE_SECONDS
        while not any(text in data for data in self._streamed):
            self._hear(json.loads(self._socket.recv(timeout=max(0.0, end - time.monotonic()))))
        self.ask("new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))")

    def open(self, url: str) -> None:
        """Goes to an address."""
        self.send("Page.navigate", url=url)

    def ask(self, expression: str) -> Any:
        """The value of an expression, or of its promise."""
        told = self.send(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in told:
            details = told["exceptionDetails"]
            raise AssertionError(details.get("exception", {}).get("description", details["text"]))
        return told["result"].get("value")

    def until(self, expression: str) -> Any:
        """The first truthy value of an expression, looked at before each frame."""
        try:
            return self.ask(_WAIT % expression)
        except TimeoutError:
            raise AssertionError(f"it never became true: {expression}") from None

    def text(self, selector: str) -> str:
        """What an element reads, as soon as it is there."""
        told: str = self.until(f"document.querySelector({json.dumps(selector)})?.innerText")
        return told

    def click(
        self,
        selector: str,
        containing: str = "",
        *,
        of: str = "",
        meanwhile: Callable[[], None] | None = None,
    ) -> None:
        """Clicks the first element that fits and reads so, in a message that reads `of`.

        `meanwhile` happens before release. A press that meets something else, because the page
        moved it there since it was measured, does nothing, and is repeated.
        """
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            found = self.until(_AIM % tuple(map(json.dumps, (selector, containing, of))))
            self._mouse("mouseMoved", "mousePressed", **found)
            hit = self.ask("aimed.hit")
            if hit and meanwhile:
                meanwhile()
            self._mouse("mouseReleased", **found)
            self.ask("aimed.end()")
            if hit:
                return
        raise AssertionError(f"{selector} with {containing!r} never stands still")

    def _mouse(self, *kinds: str, **place: float) -> None:
        for kind in kinds:
            self.send("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **place)

    def type(self, text: str) -> None:
        """Types a text where the focus is."""
        self.send("Input.insertText", text=text)

    def press(self, key: str, *, modifiers: int = 0) -> None:
        """Presses a key."""
        code, written = _KEYS[key]
        named = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        down = "keyDown" if written else "rawKeyDown"
        self.send("Input.dispatchKeyEvent", type=down, text=written, **named)
        self.send("Input.dispatchKeyEvent", type="keyUp", **named)

    def resize(self, width: int, height: int, *, is_phone: bool = False, scale: float = 1) -> None:
        """Gives the window another size; `scale` is how many pixels of the screen one of it has."""
        size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": is_phone}
        self.send("Emulation.setDeviceMetricsOverride", **size)

    def prefers(self, scheme: str) -> None:
        """Says whether the system is light or dark."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", features=features)

    def picture(self, path: Path) -> None:
        """Writes what is seen to a PNG file."""
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot")["data"]))


@contextlib.contextmanager
def browser() -> Iterator[str]:
    """A browser that runs until the block ends; where its tabs are opened."""
    found = program()
    assert found is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        command = [
            found, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--no-first-run", "--disable-background-networking", "--disable-component-update",
            "--remote-debugging-port=0", f"--user-data-dir={folder}", "--window-size=1440,900",
        ]  # fmt: skip
        quiet = subprocess.DEVNULL
        with subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet) as process:
            try:
                yield f"http://127.0.0.1:{_port(Path(folder), process)}"
            finally:
                process.terminate()
                process.wait(PATIENCE_SECONDS)


def _port(folder: Path, process: subprocess.Popen[bytes]) -> str:
    """The port it listens on, which it writes into its folder."""
    told, end = folder / "DevToolsActivePort", time.monotonic() + PATIENCE_SECONDS
    while not (told.exists() and "\n" in told.read_text("ascii")):
        assert process.poll() is None, "the browser ended at its start"
        assert time.monotonic() < end, "the browser does not start"
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
    return told.read_text("ascii").split("\n", maxsplit=1)[0]


@contextlib.contextmanager
def new_tab(address: str) -> Iterator[Tab]:
    """A tab in a window of its own, since one behind another is not drawn; closed at the end."""
    with urllib.request.urlopen(f"{address}/json/version", timeout=PATIENCE_SECONDS) as answer:
        url: str = json.load(answer)["webSocketDebuggerUrl"]
    with connect(url, **_SOCKET) as socket:
        chromium = Remote(socket)
        opened = chromium.send("Target.createTarget", url="about:blank", newWindow=True)["targetId"]
        place = f"{url.partition('/devtools/')[0]}/devtools/page/{opened}"
        with connect(place, **_SOCKET) as page:
            yield Tab(page)
        chromium.send("Target.closeTarget", targetId=opened)
