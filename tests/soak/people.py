"""What people do in a soak, each thing under a name of its own, and what they were told of it."""

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from playground.slack.errors import PersonError
from playground.slack.people import BOT_USER, Message
from playground.slack.transcript import Kind
from playground.world import World
from tests.handlers.command_client import ALICE, APPROVALS, BOB, CAROL, ERIN, TEAM_A, TEAM_B

QUICK, FAILING, ENDLESS = "ghcr.io/acme/quick:1", "ghcr.io/acme/bad:1", "ghcr.io/acme/long:1"
IMAGES = (QUICK, QUICK, QUICK, FAILING, ENDLESS)
MIB_OF_POOL = range(45, 125)
"""What /anf throughput asks for in MiB/s: the pool has 131."""

_DECIDED = "You (approved|denied) this request"
_LOOKS, _LOOK_SECONDS = 12, 0.25


@dataclass
class Act:
    """One thing a person does: what the bot answers if it is recorded, and on which card it shows.

    `card` is the beginning of the card's title; of a quota request, its reason. An answer that
    comes `late`, by the response URL, is known by its words; others only in the acknowledgement.
    """

    person: str
    channel: str
    text: str
    told: str
    card: str = ""
    late: bool = False
    is_heard: bool = False
    """Whether the person was told that it is recorded."""

    @property
    def verb(self) -> str:
        """The command without its arguments."""
        return " ".join(self.text.split()[:2])


@dataclass
class People:
    """Draws what people do, does it, and keeps it.

    `names` are the runs whose submission was acknowledged; `datasets` the numbers of datasets
    that are there, with what was done of each last.
    """

    world: World
    acts: list[Act] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    stopped: set[str] = field(default_factory=set)
    decided: list[Message] = field(default_factory=list)
    """Cards of requests of which Carol was told that her decision is recorded."""
    answers: int = 0
    wrong: list[str] = field(default_factory=list)
    """Answers that no person should ever read."""
    _cached: set[str] = field(default_factory=set)
    _throughputs: list[int] = field(default_factory=list)
    _number: int = 0
    _read: int = 0

    async def live(self, random: Random, many: int, last_dataset: str) -> None:
        """Many acts of three people at once; `last_dataset` is one that has been recorded."""
        drawn = [self._drawn(random, last_dataset) for _ in range(many)]
        by_person: dict[str, list[Act]] = {}
        for act in drawn:
            by_person.setdefault(act.person, []).append(act)
        async with asyncio.TaskGroup() as together:
            together.create_task(self._decides(Random(random.random())))  # noqa: S311  # repeatable
            for acts in by_person.values():
                pauses = [random.uniform(0.0, 1.2) for _ in acts]
                together.create_task(self._in_turn(acts, pauses))

    async def does(self, act: Act) -> Act:
        """Types a command; whoever is not answered goes on to something else."""
        self.acts.append(act)
        shown = await self.world.slack.slash(act.person, act.channel, act.text)
        for message in shown:
            if message.user == BOT_USER:
                self._heard(act, self.world.slack.text_of(message))
        return act

    def hear(self) -> None:
        """Takes in what people were shown later, by response URLs."""
        entries = self.world.slack.transcript.entries
        said = [
            (entry.viewer, entry.text)
            for entry in entries[self._read :]
            if entry.viewer is not None and entry.kind is Kind.POSTED and entry.by == BOT_USER
        ]
        self._read = len(entries)
        waiting = [act for act in self.acts[-200:] if act.late and not act.is_heard]
        for viewer, text in said:
            self._judge(text)
            for act in waiting:
                act.is_heard = act.is_heard or (viewer == act.person and _says(text, act.told))

    def _heard(self, act: Act, text: str) -> None:
        self.answers += 1
        self._judge(text)
        if not act.is_heard and _says(text, act.told):
            act.is_heard = True
            if act.verb == "/train submit":
                self.names.append(act.card)
            if act.verb == "/train stop":
                self.stopped.add(act.text.split()[-1])

    def _judge(self, text: str) -> None:
        if "Something went wrong" in text:
            self.wrong.append(text)

    async def _in_turn(self, acts: Sequence[Act], pauses: Sequence[float]) -> None:
        for act, pause in zip(acts, pauses, strict=True):
            await self.world.changes.pass_by(pause)
            await self.does(act)

    async def _decides(self, random: Random) -> None:
        """Carol decides what is pending, one after the other, and most of it favourably."""
        for message in list(self._pending()):
            await self.world.changes.pass_by(random.uniform(0.0, 1.0))
            label = "Approve" if random.random() < 0.8 else "Deny"
            before = len(self.world.slack.transcript.entries)
            try:
                await self.world.slack.click(CAROL, message, label, confirm=True)
            except PersonError:
                continue  # it was decided or expired before
            if not await self._is_told(before, _DECIDED):
                return  # her next answer could be that to this click
            self.decided.append(message)

    async def _is_told(self, before: int, words: str) -> bool:
        """Whether Carol is shown these words soon, in something new."""
        for _ in range(_LOOKS):
            new = self.world.slack.transcript.entries[before:]
            if any(each.viewer == CAROL and _says(each.text, words) for each in new):
                return True
            await self.world.changes.wait(_LOOK_SECONDS)
        return False

    def _pending(self) -> Iterator[Message]:
        for message in self.world.slack.channels[APPROVALS].messages[-60:]:
            labels = {
                element.get("text", {}).get("text")
                for block in message.blocks
                for element in block.get("elements", ())
                if isinstance(element.get("text"), dict)
            }
            if message.user == BOT_USER and {"Approve", "Deny"} <= labels:
                yield message

    # What there is to do

    def _drawn(self, random: Random, last_dataset: str) -> Act:
        self._number += 1
        draws = (self._submit, self._stop, self._request, self._throughput, self._look, self._cache)
        (draw,) = random.choices(draws, (8, 3, 3, 1, 3, 2 if last_dataset else 0))
        return draw(random, last_dataset)

    def _submit(self, random: Random, _dataset: str) -> Act:
        name, image = f"s{self._number}", random.choice(IMAGES)
        ends = "--gpus 1 --time 6h -- python train.py --epochs 2"
        text = f"/train submit {name} --image {image} {ends}"
        person = random.choice((ALICE, ALICE, ERIN))
        return Act(person, TEAM_A, text, rf"Submitted run {name}\b", card=name)

    def _stop(self, random: Random, dataset: str) -> Act:
        if not self.names:
            return self._submit(random, dataset)
        name = random.choice(self.names[-12:])
        return Act(ERIN, TEAM_A, f"/train stop {name}", rf"^Stopping {name}\b")

    def _request(self, random: Random, _dataset: str) -> Act:
        reason = f"soak-{self._number}"
        text = f"/quota request +2 --for 1h --reason {reason}"
        return Act(random.choice((ALICE, ERIN)), TEAM_A, text, "^Requested for team-a", card=reason)

    def _throughput(self, random: Random, _dataset: str) -> Act:
        left = self._throughputs = self._throughputs or list(MIB_OF_POOL)
        mib = left.pop(random.randrange(len(left)))
        text = f"/anf throughput scratch {mib} --for 3h --yes"
        told = rf"scratch.*\b{mib} MiB/s.*[Ii]ts card"
        return Act(ERIN, TEAM_A, text, told, card=f"team-a/scratch to {mib} MiB/s", late=True)

    def _look(self, random: Random, _dataset: str) -> Act:
        person, channel, text = random.choice((
            (ALICE, TEAM_A, "/train list"),
            (BOB, TEAM_B, "/quota status"),
            (CAROL, APPROVALS, "/qm status"),
            (ALICE, TEAM_A, "/gpu status"),
            (CAROL, APPROVALS, "/quota status"),
        ))  # fmt: skip
        return Act(person, channel, text, "")

    def _cache(self, random: Random, dataset: str) -> Act:
        if dataset in self._cached:  # who of two was told so could not be said apart
            return self._submit(random, dataset)
        self._cached.add(dataset)
        text = f"/dataset cache {dataset}@v1 --yes"
        told = rf"Caching {dataset}@v1 on premium"
        return Act(ALICE, TEAM_A, text, told, card=f"{dataset}@v1 on premium", late=True)


def _says(text: str, words: str) -> bool:
    plain = re.sub(r"[`*]", "", text)
    return bool(words) and re.search(words, plain, re.DOTALL) is not None
