"""Films the playground's page for README: `make film`.

The page, the bot and the cluster are the real ones of `make demo`. A real mouse and real keys use
them. Added are only what a screen recording has as well: the pointer, and captions.
"""

import contextlib
import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.browser.devtools import Tab, browser, new_tab, program

WIDTH, HEIGHT, SCALE = 960, 640, 2
SUBMIT = "/train submit lane --image ghcr.io/acme/lane:3.1 --gpus 2 -- python train.py --epochs 3"
REQUEST = '/quota request +4 --for 3d --reason "CVPR deadline"'
_LETTERS = 8  # typed from one frame to the next
_STAGE = """(() => {
  const caption = document.createElement("div"), pointer = document.createElement("div");
  caption.id = "film-caption";
  pointer.id = "film-pointer";
  document.body.append(caption, pointer);
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`
    body { padding-bottom: 46px; }
    *, *::before { animation: none !important; transition: none !important; }
    .toasts { display: none; }
    textarea { caret-color: transparent; }
    #film-caption { position: fixed; inset: auto 0 0 0; height: 46px; display: grid;
      place-items: center; background: #1f3a4d; color: #fff; font-size: 20px; font-weight: 600; }
    #film-pointer { position: fixed; left: 0; top: 0; width: 22px; height: 22px;
      margin: -11px; border-radius: 50%; background: #f5a62399; border: 2px solid #b36b00;
      pointer-events: none; z-index: 99; }
    #film-pointer.down { background: #b36b00; }
  `);
  document.adoptedStyleSheets = [sheet];
})()"""
_PLACE = """(() => {
  const each = [...document.querySelectorAll(%s)].find((one) =>
    one.innerText.includes(%s) && one.getClientRects().length);
  if (!each) return null;
  const box = each.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
})()"""


class Film:
    """Frames of a tab, with how long each is shown."""

    def __init__(self, tab: Tab, folder: Path) -> None:
        self._tab = tab
        self._folder = folder
        self._at = (560.0, 330.0)
        self._points(*self._at)
        self.frames: list[tuple[Path, float]] = []

    def shows(self, seconds: float) -> None:
        """Takes what is seen now for so long."""
        path = self._folder / f"{len(self.frames):03}.png"
        self._tab.picture(path)
        self.frames.append((path, seconds))

    def says(self, caption: str) -> None:
        """Changes the caption."""
        told = json.dumps(caption)
        self._tab.ask(f"document.querySelector('#film-caption').textContent = {told}")

    def types(self, text: str) -> None:
        """Types where people write, and sends it."""
        self.clicks(".composer textarea")
        self._points(*self._at, is_hidden=True)
        for at in range(0, len(text), _LETTERS):
            self._tab.type(text[at : at + _LETTERS])
            self.shows(0.1)
        self.shows(0.9)
        self._tab.press("Enter")

    def clicks(self, selector: str, containing: str = "") -> None:
        """Moves the pointer there, and clicks."""
        asked = _PLACE % (json.dumps(selector), json.dumps(containing))
        x, y = self._tab.until(asked)
        from_x, from_y = self._at
        for share in (0.4, 0.8, 1.0):
            self._points(from_x + share * (x - from_x), from_y + share * (y - from_y))
            self.shows(0.08)
        self._points(x, y, is_down=True)
        self.shows(0.25)
        self._tab.click(selector, containing)
        self._points(x, y)

    def waits(self, text: str, selector: str = ".item") -> None:
        """Waits until an element reads so."""
        every = f"[...document.querySelectorAll({json.dumps(selector)})]"
        self._tab.until(f"{every}.some((each) => each.innerText.includes({json.dumps(text)}))")

    def _points(
        self, x: float, y: float, *, is_down: bool = False, is_hidden: bool = False
    ) -> None:
        self._at = (x, y)
        kind = "down" if is_down else ""
        self._tab.ask(
            "Object.assign(document.querySelector('#film-pointer'),"
            f" {{ className: '{kind}', hidden: {json.dumps(is_hidden)} }})"
            f".style.translate = '{x}px {y}px'"
        )


def submits(film: Film) -> None:
    """Alice submits a run, and requests more GPUs for her team."""
    film.says("Alice submits a training run from her team's channel")
    film.shows(1.2)
    film.types(SUBMIT)
    film.waits("lane ·")
    film.says("One card follows the run")
    film.shows(0.8)
    film.waits("Running")
    film.waits("2 of 8 GPUs", ".node")
    film.shows(2.4)
    film.says("Her team needs more GPUs for a deadline")
    film.types(REQUEST)
    film.waits("Waiting for approval")
    film.shows(2.2)


def approves(film: Film) -> None:
    """Carol approves the request, and Alice sees it."""
    film.says("Carol approves with a button")
    film.clicks(".person", "Carol")
    film.waits("Carol", ".person[aria-pressed=true]")
    film.clicks(".place", "gpu-approvals")
    film.waits("Quota override for team-a")
    film.shows(1.6)
    film.clicks(".message .button", "Approve")
    film.waits("Active")
    film.waits("of 8", ".queue")
    film.says("The quota of team-a rises from 4 to 8 GPUs")
    film.shows(2.6)
    film.says("After 3 days the bot puts the quota back")
    film.clicks(".person", "Alice")
    film.waits("Alice", ".person[aria-pressed=true]")
    film.clicks(".place", "team-a")
    film.waits("Active")
    film.shows(3.0)


@contextlib.contextmanager
def playground(folder: Path) -> Iterator[str]:
    """The address of the page, once its bot is ready."""
    command = [sys.executable, "-m", "playground", "--out", str(folder / "world")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            printed = next(line for line in process.stdout if "http://" in line)
            if "ready" not in next(process.stdout):
                raise SystemExit("The bot did not start: see playground-out/bot.log.")
            yield re.findall(r"http://\S+", printed)[0]
        finally:
            process.send_signal(signal.SIGINT)


def record(folder: Path) -> list[tuple[Path, float]]:
    """The frames of the film, and the seconds of each."""
    with playground(folder) as url, browser() as address, new_tab(address) as tab:
        tab.resize(WIDTH, HEIGHT, scale=SCALE)
        tab.prefers("light")
        tab.send("Emulation.setScrollbarsHidden", hidden=True)
        tab.open(url)
        tab.until("document.querySelector('.composer textarea:enabled')")
        tab.until("document.querySelectorAll('.node').length === 2")
        tab.ask(_STAGE)
        tab.click(".next summary")
        film = Film(tab, folder)
        submits(film)
        approves(film)
    return film.frames


def main(target: Path) -> None:
    """Records the film, and encodes it as an animated WebP."""
    encoder = shutil.which("img2webp")
    if program() is None or encoder is None:
        raise SystemExit("It needs Chromium and img2webp: apt-get install chromium webp")
    with tempfile.TemporaryDirectory() as name:
        frames = record(Path(name))
        shown = [part for path, seconds in frames for part in ("-d", f"{seconds * 1000:.0f}", path)]
        subprocess.run(
            [encoder, "-loop", "0", "-kmax", "0", "-lossless", "-m", "6", *shown, "-o", target],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    seconds = sum(each for _, each in frames)
    size = target.stat().st_size / 1e6
    sys.stdout.write(f"{target}: {len(frames)} frames, {seconds:.1f} s, {size:.2f} MB\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
