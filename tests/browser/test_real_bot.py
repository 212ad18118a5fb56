"""The page with the real bot: by mouse, by keys, in two windows, and while the bot is killed."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from playground.loopback import Loopback
from playground.page.app import Page
from playground.page.stage import Stage
from playground.settings import Setup
from playground.world import Options
from tests.browser.conftest import entered
from tests.browser.devtools import PATIENCE_SECONDS, Tab, new_tab

# It outlasts the test on any machine.
SUBMIT = "/train submit {} --image ghcr.io/acme/lane:3.1 --gpus 1 -- python train.py --epochs 900"
REQUEST = '/quota request +{} --for 1d --reason "deadline"'
# Two people may approve, and one approval is enough.
SETUP = Setup(
    settings={"approvals": {"quota_override": {"approvers": {"people": ["U0CAROL", "U0BOB"]}}}}
)
MOST_TABS = 200
APPROVE = (".message .button", "Approve")
ANSWER = "[...document.querySelectorAll('.message.private')].at(-1)?.innerText.split('\\n').at(-1)"
LABELS = "[...document.querySelectorAll('dialog label')].map((each) => each.innerText)"
ERRORS = "[...document.querySelectorAll('.field .error:not([hidden])')].map((e) => e.innerText)"


@dataclass(frozen=True)
class Live:
    """A world with its bot, and the address of its page."""

    chromium: str
    url: str
    stage: Stage
    loop: asyncio.AbstractEventLoop

    @contextlib.contextmanager
    def window(self, person: str, channel: str) -> Iterator[Tab]:
        """A window in which one is this person, in this channel."""
        with new_tab(self.chromium) as tab:
            tab.resize(1440, 900)
            tab.open(f"{self.url}#{person}/{channel}")
            tab.until("document.querySelector('.composer textarea:enabled')")
            tab.until("document.querySelectorAll('.node').length === 2")
            yield tab
            assert tab.problems == []

    def quota(self) -> int:
        """The nominal quota of team-a in the cluster, in GPUs."""

        async def read() -> int:
            assert self.stage.world is not None
            queue = self.stage.world.cluster.get("clusterqueues", "team-a")
            assert queue is not None
            (flavor,) = queue["spec"]["resourceGroups"][0]["flavors"]
            return sum(
                int(each["nominalQuota"]) for each in flavor["resources"] if "gpu" in each["name"]
            )

        return asyncio.run_coroutine_threadsafe(read(), self.loop).result(PATIENCE_SECONDS)


@contextlib.asynccontextmanager
async def playing(folder: Path) -> AsyncIterator[tuple[Stage, str]]:
    """The world of `make demo` with its bot, and the address of the page."""
    stage, servers = Stage(Options(folder / "world", setup=SETUP)), Loopback()
    page = Page(stage)
    stage.begin()
    try:
        while stage.is_starting:
            await stage.wait(0.2)
        assert stage.trouble == ""
        yield stage, servers.serve(page.app) + page.path
    finally:
        await page.close()
        await servers.close()
        await stage.close()


@pytest.fixture(scope="module")
def live(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """One world for all tests here; each has runs and requests of its own."""
    loop = asyncio.new_event_loop()
    with entered(loop, playing(tmp_path_factory.mktemp("live"))) as (stage, url):
        yield Live(chromium, url, stage, loop)


def reads(tab: Tab, *texts: str) -> None:
    """Waits until one message reads all of these."""
    every = " && ".join(f"e.innerText.includes({json.dumps(text)})" for text in texts)
    tab.until(f"[...document.querySelectorAll('.item')].some((e) => {every})")


def types(tab: Tab, text: str) -> None:
    """Types where people write, and sends it."""
    tab.click(".composer textarea")
    tab.type(text)
    tab.press("Enter")


def field(tab: Tab, label: str, text: str) -> None:
    """Types into the field of a form with this label."""
    tab.click("dialog label", label)
    tab.type(text)


def chooses(tab: Tab, label: str, value: str) -> None:
    """Chooses from the menu of a form with this label."""
    told = json.dumps(label)
    tab.ask(
        f"""(() => {{
          const label = [...document.querySelectorAll("dialog label")].find((each) =>
            each.innerText.startsWith({told}));
          const menu = document.getElementById(label.htmlFor);
          menu.value = {json.dumps(value)};
          menu.dispatchEvent(new Event("change", {{ bubbles: true }}));
        }})()"""
    )


def reaches(tab: Tab, selector: str, containing: str = "", *, of: str = "") -> None:
    """Goes by Tab alone to what fits and reads so, in a message that reads `of`."""
    here = f"document.activeElement.matches({json.dumps(selector)})"
    here += f" && document.activeElement.innerText.includes({json.dumps(containing)})"
    if of:
        here += f" && document.activeElement.closest('.item').innerText.includes({json.dumps(of)})"
    for _ in range(MOST_TABS):
        if tab.ask(here):
            return
        tab.press("Tab")
    raise AssertionError(f"{selector} with {containing!r} cannot be reached by keys")


def test_the_first_minutes_by_mouse_alone(live: Live) -> None:
    with live.window("U0ALICE", "C0TEAMA") as tab:
        before = live.quota()
        tab.click(".next button", "Submit a run")
        tab.click(".composer .button", "Send")
        reads(tab, "lane · Running", "2")
        tab.click(".next button", "Request GPUs")
        tab.click(".composer .button", "Send")
        reads(tab, "Quota override for team-a: +8 h100 · Waiting for approval")
        tab.click(".person", "Carol")
        tab.click(".place", "gpu-approvals")
        tab.click(*APPROVE, of="+8 h100")
        reads(tab, "Quota override for team-a: +8 h100 · Active", "@Carol approved")
        assert live.quota() == before + 8
        tab.click(".person", "Alice")
        tab.click(".place", "team-a")
        tab.click(".message .button", "Logs")  # also there if the run has ended by now
        tab.click(".replies")
        reads(tab, "Log of lane")


def test_the_first_minutes_by_keys_alone(live: Live) -> None:
    with live.window("U0ALICE", "C0TEAMA") as tab:
        before = live.quota()
        reaches(tab, ".composer textarea")
        tab.type(SUBMIT.format("keys"))
        tab.press("Enter")
        reads(tab, "keys · Running")
        tab.type(REQUEST.format(1))
        tab.press("Enter")
        reads(tab, "Quota override for team-a: +1 h100 · Waiting for approval")
        reaches(tab, ".person", "Carol")
        tab.press("Enter")
        tab.until(
            "document.querySelector('.person[aria-pressed=true]').innerText.includes('Carol')"
        )
        reaches(tab, ".place", "gpu-approvals")
        tab.press("Enter")
        reads(tab, "+1 h100 · Waiting for approval")
        reaches(tab, ".message .button", "Approve", of="+1 h100")
        tab.press("Enter")
        reads(tab, "Quota override for team-a: +1 h100 · Active", "@Carol approved")
        assert live.quota() == before + 1
        reaches(tab, ".person", "Alice")
        tab.press("Enter")
        reaches(tab, ".place", "team-a")
        tab.press("Enter")
        reads(tab, "keys · Running")
        reaches(tab, ".message .button", "Stop", of="keys ·")
        tab.press("Enter")
        reaches(tab, "dialog .button", "Stop it")
        tab.press("Enter")
        reads(tab, "keys · Stopped")


def test_a_form_complains_changes_and_submits(live: Live) -> None:
    with live.window("U0ALICE", "C0TEAMA") as tab:
        types(tab, "/train submit --gpus 1")
        tab.until("document.querySelector('dialog .field input')")
        tab.click("dialog .field input")
        tab.type("Night!")
        field(tab, "Image", "ghcr.io/acme/lane:3.1")
        tab.click("dialog button[type=submit]")
        assert tab.until(f"{ERRORS}.length && {ERRORS}") == [
            (
                "This cannot be Night!. Write a name of lower-case letters, digits and hyphens, for"
                " example lane."
            )
        ]
        tab.ask("document.querySelector('dialog .field input').value = ''")
        tab.click("dialog .field input")
        tab.type("night")
        chooses(tab, "Kind", "mpi")
        tab.until(f"{LABELS}.some((each) => each.startsWith('Nodes'))")
        chooses(tab, "Kind", "job")
        tab.until(f"!{LABELS}.some((each) => each.startsWith('Nodes'))")
        tab.until("document.querySelector('dialog').innerText.includes('1 GPU,')")
        tab.click("dialog button[type=submit]")
        tab.until("!document.querySelector('dialog')")
        reads(tab, "night ·", "Logs")


def test_two_people_approve_at_once(live: Live) -> None:
    before = live.quota()
    with live.window("U0ALICE", "C0TEAMA") as tab:
        types(tab, REQUEST.format(2))
        reads(tab, "+2 h100 · Waiting for approval")
    with (
        live.window("U0CAROL", "C0APPROVE") as hers,
        live.window("U0BOB", "C0APPROVE") as his,
    ):
        reads(his, "+2 h100 · Waiting for approval")
        hers.click(".message .button", "Approve", meanwhile=lambda: his.click(*APPROVE))
        for tab in (hers, his):
            reads(tab, "+2 h100 · Active", "approved")
        said = {hers.until(ANSWER), his.until(ANSWER)}
        assert said == {"You approved this request.", "Your click changed nothing."}
    assert live.quota() == before + 2


def test_a_form_outlives_a_killed_bot(live: Live) -> None:
    with (
        live.window("U0ALICE", "C0TEAMA") as tab,
        live.window("U0DAN", "C0TEAMA") as other,
    ):
        types(tab, "/train submit late")
        tab.until("document.querySelector('dialog .field input')")
        field(tab, "Image", "ghcr.io/acme/lane:3.1")
        other.click(".switch .button", "Kill it")
        tab.click("dialog button[type=submit]")
        tab.until("document.querySelector('dialog .alert:not([hidden])')?.innerText")
        other.click(".switch .button", "Start it")
        other.until("document.querySelector('.switch').parentNode.innerText.includes('Bot runs')")
        tab.click("dialog button[type=submit]")
        tab.until("!document.querySelector('dialog')")
        reads(tab, "late ·")
