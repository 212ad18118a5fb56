"""A soak: round after round of people at work while things fail, each judged once it is quiet."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from random import Random

from playground.arm.estate import GIB, Estate
from playground.arm.trident import Wanted, export, storage_class
from playground.cluster.cluster import Cluster
from playground.cluster.control.training import Training
from playground.opening import opened
from playground.settings import CONFIG, Setup
from playground.slack.rates import Rates
from playground.world import Options, World
from tests.handlers.command_client import ALICE, CAROL, TEAM_A
from tests.machine.outside import BASE, Outside
from tests.soak.bots import Restarts
from tests.soak.disk import Disk
from tests.soak.faults import Faults
from tests.soak.figures import Figures, overdue, taken
from tests.soak.judge import THROUGHPUT, Judge
from tests.soak.people import ENDLESS, FAILING, QUICK, Act, People
from tests.soak.store import Store

ACTS, FAULTS = 14, 6
FILES = 4
QUIET_SECONDS = (0.0, 2.9, 31.3, 61.7, 301.3)
PATIENCE_SECONDS = 180.0
"""Real ones until all is true: Slack takes a minute of updates a minute, and bots back off."""
_BECAME_READY_SECONDS, _SENDING_SECONDS, _LOOK_SECONDS = 120.0, 90.0, 0.5
_RUN_HOURS, _MOST_WAITS = 7, 100
"""Runs end after six hours, but may wait for each other."""
_UNUSED_SECONDS, _MONTH_SECONDS = 30 * 3600.0, 32 * 24 * 3600.0
_SWEEP_SECONDS, _SWEEPS = 2400.0, 15  # an hour would be a pause
_CLEANING_SECONDS, _MOST_CLEANINGS = 301.0, 40
_SPAN = 8
_GPU_DAILY = "C0DAILY"


def _arranged(cluster: Cluster, estate: Estate) -> None:
    pool = estate.add_pool(estate.add_account(), "tuned-1", "Premium", 2)
    pool.qos = "Manual"
    cluster.create("storageclasses", storage_class())
    scratch = estate.add_volume(pool, "scratch", 512 * GIB)
    scratch.own_throughput, scratch.address = THROUGHPUT, "10.0.2.5"
    export(cluster, scratch, "scratch", Wanted("team-a", "scratch", 512))


SETUP = Setup(
    bucket=True,
    prometheus=True,
    azure=_arranged,
    settings={
        "anf": {"changes": {}},
        "teams": {"team-a": {"limits": {"live_runs": 1000}}},
        "approvals": {"anf_change": {"approvers": {"people": [CAROL]}}},
    },
)


class WrongError(AssertionError):
    """Something was not true when all was quiet."""


@dataclass
class Soak:
    """One world with its people, its faults, and whoever looks whether all is true."""

    world: World
    people: People
    faults: Faults
    restarts: Restarts
    judge: Judge
    figures: Figures
    seed: int
    begun: float
    _dataset: str = ""

    async def round(self, number: int) -> None:
        """People work while things fail; then nothing fails, and everything has to be true."""
        chance = Random(f"{self.seed} {number}")  # noqa: S311  # repeatable
        sorts = self.faults.draw(chance, FAULTS, deadly=is_deadly(number))
        async with asyncio.TaskGroup() as together:
            for place, sort in enumerate(sorts):
                own = Random(f"{self.seed} {number} {place}")  # noqa: S311  # as above
                together.create_task(self.faults.happen(sort, own))
            own = Random(f"{self.seed} {number} people")  # noqa: S311  # as above
            together.create_task(self.people.live(own, ACTS, self._dataset))
            together.create_task(self._record(number))
            together.create_task(self._pass_time(Random(f"{self.seed} {number} time")))  # noqa: S311
        await self.faults.heal()
        await self.comes_to_rest(f"round {number}, {sorts}")
        self._dataset = f"d{number}"
        self.figures.chapters += 1
        self.figures.samples.append(taken(self.world, self.faults.database, self.begun))
        print(self.figures.progress(), f"({', '.join(sorts)})", flush=True)  # noqa: T201  # for whoever waits

    async def comes_to_rest(self, where: str) -> None:
        """Returns when everything is true; WrongError after a while in which it did not become."""
        await self.restarts.is_there(_BECAME_READY_SECONDS)
        end = time.monotonic() + PATIENCE_SECONDS
        for seconds in QUIET_SECONDS:
            await self._leap(seconds)
        while wrong := await self._wrong():
            if time.monotonic() > end:
                raise WrongError(f"{wrong} (seed {self.seed}, {where})")
            await self._leap(31.3)

    async def _leap(self, seconds: float) -> None:
        """Passes time at once: if it were lived through, each minute would edit each live card."""
        await self.world.jump(timedelta(seconds=seconds))
        await self.world.pace.rest()

    async def _wrong(self) -> str:
        """What is wrong though the bot has had the time to send all that Slack takes of it.

        The time of the world stands still meanwhile.
        """
        end = time.monotonic() + _SENDING_SECONDS
        while self.judge.unsent() and time.monotonic() < end:
            await self.world.changes.pass_by(_LOOK_SECONDS)
        await self.world.pace.rest()
        return self.judge.wrong()

    async def ends(self) -> None:
        """What was raised for hours is put back; a month later what expires is gone.

        The eviction of an unused cache is announced after a day, and after each pause of the bot.
        Four hours without a pause later it is evicted.
        """
        for each in (4, *[_RUN_HOURS] * _MOST_WAITS):
            if each != _RUN_HOURS or self.judge.live_runs():
                await self._leap(3600 * each)
                await self.comes_to_rest("hours after the last round")
        assert self.judge.live_runs() == []
        for seconds in (_UNUSED_SECONDS, *[_SWEEP_SECONDS] * _SWEEPS, _MONTH_SECONDS):
            await self._leap(seconds)
        await self.comes_to_rest("a month after the last round")
        for _ in range(_MOST_CLEANINGS):
            if overdue(self.faults.database):
                await self._leap(_CLEANING_SECONDS)
        self.figures.samples.append(taken(self.world, self.faults.database, self.begun))
        self._count()
        if left := overdue(self.faults.database):
            raise WrongError(f"rows are left that had to go: {left} (seed {self.seed})")
        assert self.judge.outside.quota() == BASE

    def _count(self) -> None:
        figures, ledger = self.figures, self.world.ledger
        figures.virtual_hours = self.world.clock.offset.total_seconds() / 3600
        figures.commands = len(self.people.acts)
        figures.acknowledged = sum(act.is_heard for act in self.people.acts)
        figures.restarts, figures.ended = self.restarts.count, self.restarts.ended
        figures.faults = self.faults.happened
        figures.spoilt = self.faults.store.spoilt
        figures.requests, figures.lost = len(ledger.requests), len(ledger.struck)

    async def _record(self, number: int) -> None:
        """Alice adds a dataset of its own to each round, and has it recorded."""
        name = f"d{number}"
        files = {f"{each}.png": f"{number} {each}".encode() * 700 for each in range(FILES)}
        for file, content in files.items():
            await asyncio.to_thread(self.judge.bucket.put, f"{name}/{file}", content)
        self.judge.contents[name] = files
        add = f"/dataset add {name} s3://lake/{name}/"
        await self.people.does(Act(ALICE, TEAM_A, add, f"Added dataset {name}"))
        version = f"/dataset version {name} --name v1"
        told = f"Recording {name}@v1"
        await self.people.does(Act(ALICE, TEAM_A, version, told, card=f"{name}@v1", late=True))

    async def _pass_time(self, random: Random) -> None:
        for _ in range(random.randint(3, 8)):
            await self.world.changes.pass_by(random.uniform(0.3, 1.5))
            await self.world.jump(timedelta(seconds=random.choice((7.3, 61.9, 307.1, 1847.7))))


def is_deadly(number: int) -> bool:
    """Whether the bot is killed in a round: in 8 rounds, not in the next 8, in 16, not in 32 ...

    So one process lives ever longer, until what grows without end has outgrown its caches.
    """
    return (number // _SPAN).bit_length() % 2 == 0


@contextlib.asynccontextmanager
async def soaking(options: Options, disk: Disk | None, store: Store) -> AsyncIterator[Soak]:
    """A soak whose bot runs, and is started again until the end."""
    async with opened(options) as world:
        bucket = world.bucket
        assert bucket is not None
        configuration = options.out / CONFIG
        with store.before(bucket.endpoint, configuration):
            _prepare(world)
            await world.start_bots()
            people, restarts = People(world), Restarts(world)
            database = Path(options.database_url.removeprefix("sqlite:///"))
            judge = Judge(world, Outside(world.cluster, world.slack), people, database, bucket)
            faults = Faults(world, store, database, disk)
            figures = Figures(options.seed)
            begun = time.monotonic()
            soak = Soak(world, people, faults, restarts, judge, figures, options.seed, begun)
            keeping = asyncio.ensure_future(restarts.keep())
            try:
                yield soak
            finally:
                keeping.cancel()
                await asyncio.gather(keeping, return_exceptions=True)


def _prepare(world: World) -> None:
    world.revives = False  # that is what `Restarts` is for
    world.pace.patience_seconds = PATIENCE_SECONDS
    # A bot that is killed all the time does not remember what it asked of Slack before.
    world.slack.rates = Rates(lambda: 20 * time.monotonic())
    behaviours = world.cluster.behaviours
    behaviours[QUICK] = Training(seconds_per_epoch=200)
    behaviours[FAILING] = Training(fails_after=300)
    behaviours[ENDLESS] = Training(never_ends=True)


async def soaked(options: Options, hours: float, disk: Disk | None) -> Figures:
    """Round after round for so many hours, and the end."""
    async with soaking(options, disk, Store()) as soak:
        daily = "/gpu digest set --at 02:30 --zone Europe/Berlin"
        await soak.people.does(Act(CAROL, _GPU_DAILY, daily, "gets a digest every day"))
        number, end = 0, time.monotonic() + 3600 * hours
        while time.monotonic() < end or not soak.faults.all_happened:
            await soak.round(number)
            number += 1
        await soak.ends()
        return soak.figures
