"""Everything that fails at random: one coroutine for each sort, which ends what it began."""

import asyncio
import contextlib
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from random import Random

from playground.ledger import Fault
from playground.slack.faults import Broken, Down
from playground.world import World
from tests.soak.disk import Disk
from tests.soak.store import Store

POST = "chat.postMessage"
POSTS = (POST, "chat.update")
METHODS = (*POSTS, "conversations.info", "conversations.history", "users.info", "views.publish")
WRITES = ("create jobs", "delete jobs", "patch clusterqueues", "create persistentvolumeclaims")
ARM_CALLS = ("PATCH volumes", "GET volumes", "GET capacityPools")
LOST = (Fault.LOSE_ANSWER, Fault.REFUSE)
DAY = timedelta(days=1)


@dataclass
class Faults:
    """The sorts by name, drawn so that each comes once before any comes again.

    `disk` is a file system of the database alone; without one the disk is never full.
    """

    world: World
    store: Store
    database: Path
    disk: Disk | None = None
    happened: Counter[str] = field(default_factory=Counter)
    _bag: list[str] = field(default_factory=list)

    @property
    def sorts(self) -> Mapping[str, Callable[[Random], Awaitable[None]]]:
        """What may happen."""
        known: dict[str, Callable[[Random], Awaitable[None]]] = {
            "Slack: 429": self._slack_limits,
            "Slack: 5xx, fatal_error": self._slack_breaks,
            "Slack: connections cut, answers lost": self._slack_loses,
            "Slack: sockets dropped or refreshed": self._sockets_drop,
            "Slack: away for up to a day": self._slack_is_away,
            "Slack: slow, payloads twice": self._slack_is_slow,
            "Kubernetes: 409": self._cluster_conflicts,
            "Kubernetes: 410, watches cut": self._watches_end,
            "Kubernetes: 429": self._cluster_limits,
            "Kubernetes: 500": self._etcd_times_out,
            "Kubernetes: slow": self._cluster_is_slow,
            "Kubernetes: away": self._cluster_is_away,
            "Kubernetes: connections cut, answers lost": self._cluster_loses,
            "Azure: 409, 429, 500, answers lost": self._azure_fails,
            "S3: 503, truncated objects": self._store_fails,
            "Prometheus: 503 and a gap": self._prometheus_is_away,
            "Clock: steps ahead and back": self._clock_steps,
            "Database: locked": self._database_is_locked,
            "Bot: out of memory (SIGKILL)": self._bot_dies,
            "Bot: SIGKILL at a request": self._bot_dies_at_requests,
            "Bot: SIGTERM": self._bot_is_stopped,
        }
        return known | ({"Disk: full": self._disk_is_full} if self.disk else {})

    def draw(self, random: Random, many: int, *, deadly: bool) -> list[str]:
        """The next sorts, in the order of the seed; without deaths unless it is to be `deadly`."""
        drawn: list[str] = []
        while len(drawn) < many:
            if not self._bag:
                self._bag = sorted(self.sorts)
                random.shuffle(self._bag)
            sort = self._bag.pop()
            drawn += [sort] if deadly or not sort.startswith("Bot:") else []
        return drawn

    @property
    def all_happened(self) -> bool:
        """Whether each sort has happened by now."""
        return set(self.happened) == set(self.sorts)

    async def happen(self, sort: str, random: Random) -> None:
        """One of them, after a moment."""
        await self._lasts(random.uniform(0.0, 5.0))
        self.happened[sort] += 1
        await self.sorts[sort](random)

    async def heal(self) -> None:
        """Nothing fails any more, whatever was still to come; but for what the store still owes.

        Nor are lost answers of posts forgotten: few posts leave before a round ends, and where
        Slack is away meanwhile, none.
        """
        world, slack = self.world, self.world.slack
        posts = [each for each in world.ledger.by_name.get(POST, ()) if each in LOST]
        world.ledger.by_name.clear()
        world.ledger.by_name[POST] = posts
        for waiting in (slack.faults.limited, slack.faults.broken, slack.faults.slow_seconds):
            waiting.clear()
        slack.faults.doubled = False
        faults = world.cluster.faults
        faults.too_many = faults.conflicts = faults.gone_watches = 0
        faults.etcd_timeouts = faults.etcd_timeouts_after = 0
        faults.slow_seconds = 0.0
        if world.azure is not None:
            app = world.azure.app
            app.too_many = app.unavailable = app.conflicts = 0
        self.store.heal()
        await world.clock.step(timedelta(0))
        world.changes.ring()

    async def _lasts(self, seconds: float) -> None:
        await self.world.changes.pass_by(seconds)

    # Slack

    async def _slack_limits(self, random: Random) -> None:
        methods = random.sample(METHODS, 3)
        limited = self.world.slack.faults.limited
        limited |= {method: random.randint(1, 9) for method in methods}
        await self._lasts(random.uniform(1.0, 4.0))
        for method in methods:
            limited.pop(method, None)

    async def _slack_breaks(self, random: Random) -> None:
        codes = (("internal_error", 500), ("service_unavailable", 503), ("fatal_error", 200))
        for method in random.sample(METHODS, 3):
            broken = self.world.slack.faults.broken.setdefault(method, [])
            for _ in range(random.randint(1, 4)):
                code, status = random.choice(codes)
                broken.append(Broken(code, status, done=random.random() < 0.5))

    async def _slack_loses(self, random: Random) -> None:
        for method in (*POSTS, "response_url", "conversations.history"):
            waiting = self.world.ledger.by_name.setdefault(method, [])
            waiting += random.choices(LOST, k=random.randint(0, 3))
        self.world.ledger.by_name[POST].append(Fault.LOSE_ANSWER)

    async def _sockets_drop(self, random: Random) -> None:
        sockets = self.world.slack.sockets
        for _ in range(random.randint(1, 4)):
            if random.random() < 0.5:
                sockets.drop_all()
            else:
                with contextlib.suppress(OSError):  # it is gone already
                    await sockets.disconnect(random.choice(("warning", "refresh_requested")))
            await self._lasts(random.uniform(0.2, 1.5))

    async def _slack_is_away(self, random: Random) -> None:
        self.world.slack.go_down(random.choice(list(Down)))
        await self._lasts(random.uniform(0.5, 2.0))
        await self.world.jump(random.choice((DAY / 1440, DAY / 24, DAY)))
        await self._lasts(random.uniform(0.5, 2.0))
        self.world.slack.come_up()

    async def _slack_is_slow(self, random: Random) -> None:
        faults = self.world.slack.faults
        faults.doubled = True
        faults.slow_seconds = {method: random.uniform(0.1, 1.5) for method in METHODS}
        await self._lasts(random.uniform(1.0, 4.0))
        faults.doubled = False
        faults.slow_seconds.clear()

    # Kubernetes

    async def _cluster_conflicts(self, random: Random) -> None:
        self.world.cluster.faults.conflicts += random.randint(1, 6)

    async def _watches_end(self, random: Random) -> None:
        cluster = self.world.cluster
        for _ in range(random.randint(1, 3)):
            cluster.compact()
            cluster.faults.gone_watches += random.randint(0, 4)
            cluster.faults.cut_watches()
            await self._lasts(random.uniform(0.2, 1.5))

    async def _cluster_limits(self, random: Random) -> None:
        faults = self.world.cluster.faults
        faults.retry_after_seconds = random.randint(1, 3)
        faults.too_many += random.randint(1, 8)

    async def _etcd_times_out(self, random: Random) -> None:
        faults = self.world.cluster.faults
        faults.etcd_timeouts += random.randint(0, 3)
        faults.etcd_timeouts_after += random.randint(1, 3)

    async def _cluster_is_slow(self, random: Random) -> None:
        self.world.cluster.faults.slow_seconds = random.uniform(0.1, 1.0)
        await self._lasts(random.uniform(1.0, 4.0))
        self.world.cluster.faults.slow_seconds = 0.0

    async def _cluster_is_away(self, random: Random) -> None:
        cluster = self.world.cluster
        cluster.go_down()
        await self._lasts(random.uniform(0.5, 2.0))
        await self.world.jump(DAY / random.choice((1440, 24)))
        await self._lasts(random.uniform(0.5, 2.0))
        await cluster.come_up()

    async def _cluster_loses(self, random: Random) -> None:
        for name in WRITES:
            waiting = self.world.ledger.by_name.setdefault(name, [])
            waiting += random.choices(LOST, k=random.randint(0, 2))

    # Others

    async def _azure_fails(self, random: Random) -> None:
        assert self.world.azure is not None
        app = self.world.azure.app
        app.retry_after_seconds = random.randint(1, 3)
        app.too_many += random.randint(0, 3)
        app.unavailable += random.randint(0, 2)
        app.conflicts += random.randint(0, 2)
        for name in ARM_CALLS:
            waiting = self.world.ledger.by_name.setdefault(name, [])
            waiting += random.choices(LOST, k=random.randint(0, 2))

    async def _store_fails(self, random: Random) -> None:
        self.store.fail(random.randint(2, 10), random)
        await self._lasts(random.uniform(1.0, 5.0))

    async def _prometheus_is_away(self, random: Random) -> None:
        assert self.world.metrics is not None
        (prometheus,) = self.world.metrics.of.values()
        prometheus.go_down()
        await self._lasts(random.uniform(0.5, 2.0))
        await self.world.jump(DAY / random.choice((480, 48)))
        await self._lasts(random.uniform(0.5, 2.0))
        prometheus.come_back()

    async def _clock_steps(self, random: Random) -> None:
        for _ in range(random.randint(1, 3)):
            await self.world.clock.step(timedelta(seconds=random.uniform(-90.0, 90.0)))
            await self._lasts(random.uniform(0.5, 2.0))
        await self.world.clock.step(timedelta(0))

    async def _database_is_locked(self, random: Random) -> None:
        """Another process writes, as a backup or an administrator may."""
        with contextlib.closing(sqlite3.connect(self.database, isolation_level=None)) as other:
            try:
                other.execute("PRAGMA busy_timeout=5000")
                other.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return  # the bot was faster for five seconds, or its disk is full
            await self._lasts(random.uniform(0.5, 6.0))
            other.execute("ROLLBACK")

    async def _disk_is_full(self, random: Random) -> None:
        assert self.disk is not None
        try:
            await asyncio.to_thread(self.disk.fill)
            await self._lasts(random.uniform(1.0, 5.0))
        finally:
            await asyncio.to_thread(self.disk.free)

    # The bot

    async def _bot_dies(self, random: Random) -> None:
        """The kernel kills with SIGKILL what has used more memory than its limit."""
        for _ in range(random.randint(1, 2)):
            await self.world.kill_bot()
            await self._lasts(random.uniform(0.5, 3.0))

    async def _bot_dies_at_requests(self, random: Random) -> None:
        names = random.sample((*POSTS, *WRITES[:3]), 2)
        for name in names:
            kill = random.choice((Fault.KILL_BEFORE, Fault.KILL_AFTER))
            self.world.ledger.by_name.setdefault(name, []).append(kill)

    async def _bot_is_stopped(self, _random: Random) -> None:
        """An upgrade or a drained node: it is asked to end, and has to."""
        assert await self.world.bot.stop() in {0, None, -9, -15}
