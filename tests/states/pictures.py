"""Takes pictures of states in the playground's page: `make pictures`."""

import asyncio
import base64
import contextlib
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from playground.slack.forms import show_view
from playground.slack.limits import checked_blocks, checked_view
from playground.slack.people import BOT_USER, Message
from playground.slack.posting import delete, post
from tests.browser.conftest import ALICE, TEAM_A, Played, running
from tests.browser.devtools import browser, new_tab, program
from tests.playground.slack.served import Served
from tests.states import pages
from tests.states.catalogue import all_shown
from tests.states.ground import ground
from tests.states.state import Shown

_WIDTH, _HEIGHT, _QUALITY, _SCALE = 1100, 6000, 30, 0.85
# The moment of the states, whenever a picture is taken; and no line of the page around it.
_FIXED = """(() => {
  for (const each of document.querySelectorAll(".who time")) each.textContent = "12:00 PM";
  document.activeElement?.blur();
  return document.fonts.ready.then(() => true);
})()"""
_BOX = """(() => {
  const box = document.querySelector(%s).getBoundingClientRect();
  return { x: box.x, y: box.y, width: box.width, height: box.height };
})()"""
# Whether anything in it is cut off, or has to be scrolled to.
_CUT = """[...document.querySelectorAll(%s + " *")].some((each) =>
  each.tagName !== "TEXTAREA" && getComputedStyle(each).overflowY !== "visible" &&
  (each.scrollHeight > each.clientHeight + 1 || each.scrollWidth > each.clientWidth + 1))"""
_STYLE = """(() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`
    .messages, .home { background: var(--paper); }
    .message { width: fit-content; max-width: 780px; }
    .message:hover { background: none; } .day, .new-line, .tools { display: none !important; }
    .home { flex: none; height: fit-content; max-width: 800px; }
    dialog.form, dialog.form form { max-height: none !important; }
    dialog::backdrop { background: #fff; }
    dialog.form { box-shadow: none; } pre { max-height: none; }`);
  document.adoptedStyleSheets = [sheet];
  return true;
})()"""

Json = dict[str, Any]


class Photographer:
    """Shows states in a page, one after the other, and takes pictures of just these.

    `is_whole` says that nothing was cut off in the last one.
    """

    def __init__(self, page: Played) -> None:
        self._page = page
        self._tab = page.tab
        self._slack = page.slack
        self.is_whole = True

    def open(self) -> None:
        """Opens the page, high enough for the longest message."""
        self._tab.resize(_WIDTH, _HEIGHT)
        self._tab.prefers("light")
        self._tab.open(self._page.url)
        self._tab.until("document.querySelector('.composer textarea:enabled')")
        self._tab.ask("document.getElementById('open-outside').click() ?? true")
        self._tab.ask(_STYLE)

    def picture(self, shown: Shown) -> bytes:
        """The picture of a state as WebP."""
        return {"message": self._message, "form": self._form, "home": self._home}[shown.kind](shown)

    def _message(self, shown: Shown) -> bytes:
        state = self._page.world.slack
        message = Message(
            TEAM_A, "", BOT_USER, shown.body["text"], blocks=checked_blocks(shown.blocks)
        )
        posted = self._slack.call(lambda: post(state, message))
        selector = f".item[data-ts='{posted.ts}'] article.message"
        try:
            return self._taken(selector)
        finally:
            self._slack.call(lambda: delete(state, posted, BOT_USER))
            self._tab.until(f"!document.querySelector({json.dumps(selector)})")

    def _form(self, shown: Shown) -> bytes:
        state = self._page.world.slack
        body = checked_view(shown.body)

        def opens() -> None:
            view = state.views.open(ALICE, body)
            view.errors = dict(shown.errors)
            show_view(state, view, "opens the form")

        def closes() -> None:
            state.views.clear(ALICE)
            state.changed()

        self._slack.call(opens)
        try:
            return self._taken("dialog.form[open]")
        finally:
            self._slack.call(closes)
            self._tab.until("!document.querySelector('dialog.form[open]')")

    def _home(self, shown: Shown) -> bytes:
        state, tab = self._page.world.slack, self._tab
        view = self._slack.call(lambda: state.views.publish(ALICE, checked_view(shown.body)))
        self._slack.call(lambda: show_view(state, view, "has a new tab"))
        tab.click(".place", "Quartermaster")
        tab.click("[role='tab']", "Home")
        tab.until(f"document.querySelector('.home').dataset.hash === {json.dumps(view.hash)}")
        try:
            return self._taken(".home")
        finally:
            tab.click(".place", "team-a")
            tab.until("document.querySelector('.home').hidden")

    def _taken(self, selector: str) -> bytes:
        """The picture of an element, once it is there and drawn."""
        tab = self._tab
        tab.until(f"document.querySelector({json.dumps(selector)})")
        tab.ask(_FIXED)
        tab.ask("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
        box = tab.ask(_BOX % json.dumps(selector))
        clip = {
            "x": box["x"], "y": box["y"], "width": box["width"], "height": box["height"],
            "scale": _SCALE,
        }  # fmt: skip
        self.is_whole = not tab.ask(_CUT % json.dumps(selector))
        assert box["y"] + box["height"] < _HEIGHT, (selector, box)
        told = tab.send("Page.captureScreenshot", format="webp", quality=_QUALITY, clip=clip)
        return base64.b64decode(told["data"])


@contextlib.contextmanager
def photographer(chromium: str, folder: Path) -> Iterator[Photographer]:
    """A photographer with a page of its own."""
    loop = asyncio.new_event_loop()
    with running(loop, folder) as (world, stage, url), new_tab(chromium) as tab:
        yield Photographer(Played(world, stage, Served(world.slack, loop), tab, url))


def take(found: Mapping[str, Shown], names: Iterable[str], folder: Path) -> None:
    """Takes the pictures of these states, and keeps them."""
    pages.PICTURES.mkdir(parents=True, exist_ok=True)
    with browser() as chromium, photographer(chromium, folder) as camera:
        camera.open()
        for name in names:
            (pages.PICTURES / f"{name}.webp").write_bytes(camera.picture(found[name]))


def main(words: list[str]) -> int:
    """Takes those pictures that are missing or outdated; with `all`, every one."""
    if program() is None:
        sys.stderr.write("Chromium is not installed: apt-get install chromium\n")
        return 1
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        with ground(Path(folder)) as client:
            found = all_shown(client)
        every = {name: each for states in found.values() for name, each in states.items()}
        names = list(every) if "all" in words else pages.outdated(found)
        if names:
            take(every, names, Path(folder))
    for path in pages.superfluous(every):
        path.unlink()
    written = json.dumps(pages.digests(found), indent=0, sort_keys=True)
    pages.DIGESTS.write_text(f"{written}\n", "utf-8")
    sys.stdout.write(f"{len(names)} of {len(every)} pictures were taken.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
