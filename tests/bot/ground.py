"""A database and a whole cluster behind HTTP, for the rigs of the areas; time moves by hand."""

import asyncio
import threading
from abc import abstractmethod
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from sqlmodel import col, select
from typing_extensions import override

from bot.clock import Clock
from bot.cluster.api.connection import Connection
from bot.cluster.api.following import NO_SOURCES, Sources
from bot.cluster.cluster import Cluster, following
from bot.cluster.resources import Resource
from bot.cluster.view import Change, Store
from bot.config import Settings
from bot.database.database import Database, Session
from bot.errors import ClusterError
from bot.people.access import Access, Caller
from bot.quotas.engines.opening import unwatched_with, watched_with
from bot.reconcile import due
from bot.reconcile.frame import ControllerContext
from bot.reconcile.loop import Loop
from bot.slack.messages import Message
from bot.training.kinds import WORKLOADS
from playground.clock import VirtualClock
from playground.cluster.cluster import Cluster as PlaygroundCluster
from playground.cluster.objects.errors import ApiError
from playground.cluster.story import story_cluster
from playground.ledger import Ledger
from tests.bot.cluster.conftest import PATIENT
from tests.moments import off_the_minute

T = TypeVar("T")

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
START = off_the_minute(NOON)
INSTALLATION = "0123456789abcdef"
ALICE, BOB, CAROL, ERIN = "U0ALICE", "U0BOB", "U0CAROL", "U0ERIN"
TEAM_A, TEAM_B = "C0TEAMA", "C0TEAMB"
DENIAL = 'admission webhook "validate.kyverno.svc-fail" denied the request: no objects of bots'
EVERYTHING = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
PATHS = {"nonResourceURLs": ["*"], "verbs": ["*"]}


class WorldClock(VirtualClock):
    """The playground's clock, standing still."""

    moment = START

    @override
    def now(self) -> datetime:
        return self.moment


class SameClock(Clock):
    """The bot's clock, which follows the playground's."""

    def __init__(self, world: WorldClock) -> None:
        super().__init__()
        self._world = world

    @override
    def now(self) -> datetime:
        return self._world.moment


class Outside:
    """The playground's cluster, served from a thread of its own."""

    def __init__(
        self,
        folder: Path,
        make: Callable[[VirtualClock, Ledger], PlaygroundCluster] = story_cluster,
        clock: WorldClock | None = None,
    ) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self.clock = clock or WorldClock()
        self.ledger = Ledger()
        self.cluster = make(self.clock, self.ledger)
        self.cluster.admit_bot("bot-token", (EVERYTHING, PATHS))
        self._await(self.cluster.start())
        self.kubeconfig = folder / "kubeconfig"
        self.cluster.write_kubeconfig(self.kubeconfig, "bot-token")

    def close(self) -> None:
        self._await(self.cluster.stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(60)
        self.loop.close()

    def _await(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)


class Ground:
    """What the rig of every area stands on; `loop` is what it lets run."""

    loop: Loop
    engine_name = "kueue"

    def __init__(self, database: Database, outside: Outside, policy: Settings) -> None:
        self.database = database
        self.outside = outside
        self.world = outside.cluster
        self.policy = policy
        self.clock = SameClock(outside.clock)
        connection = Connection.to(str(outside.kubeconfig), timeouts=PATIENT)
        watched = following("default", connection, watched_with(self.engine_name),
                            unwatched_with(self.engine_name), sources=self.sources())  # fmt: skip
        self.cluster = Cluster.of(watched, INSTALLATION, WORKLOADS)
        self.clusters = {"default": self.cluster}
        self.access = Access(self.settings)
        self._states: dict[Store[Any], object] = {}

    def settings(self) -> Settings:
        return self.policy

    def sources(self) -> Sources:
        """What is read outside Kubernetes."""
        return NO_SOURCES

    @property
    def context(self) -> ControllerContext:
        """What controllers work with."""
        return ControllerContext(
            self.database, self.clock, self.settings, self.clusters, self.words
        )

    def words(self, text: str) -> str:
        return f"/{text}"

    def do(self, work: Callable[[Session], T]) -> T:
        return self.database.transaction(work)

    @abstractmethod
    def look(self) -> None:
        """Sees the cluster as it is, and wakes what that concerns."""

    def refresh(self, resource: Resource[Any], selector: str = "") -> list[Change]:
        """How a resource differs from what the view knew; not asked where nothing changed."""
        store, state = self.cluster.view.store(resource), self.state_of(resource)
        if self._states.get(store) == state:
            if not store.absent:
                store.prove()
            return []
        try:
            different = store.replace(self.cluster.list(resource, labels=selector))
        except ClusterError as error:
            if error.reason != "NotServed":
                raise
            different, store.absent = [], True
        else:
            store.absent = False
            store.prove()
        self._states[store] = state
        return [Change("default", resource, kind, each) for kind, each in different]

    def state_of(self, resource: Resource[Any]) -> object:
        """The kind as it is served, and the last change of an object of it."""
        inside = self.world.inside
        with inside.lock:
            kind = inside.kinds.find(resource.group, resource.plural)
            history = inside.store.history[kind.qualified] if kind else None
            return kind, history[-1].version if history else None

    def forget_view(self) -> None:
        """Has the view see every object as new, as in a new process."""
        for store in self._states:
            store.replace([])
        self._states.clear()

    def run(self) -> None:
        """Takes every step that is due now, and what follows from it at once."""
        for _ in range(50):
            self.look()
            if not self.loop.run_due():
                return
        raise AssertionError("the rows do not come to rest")

    def pass_time(self, **length: float) -> None:
        """Moves from one due time to the next, as a playground does."""
        end = self.outside.clock.moment + timedelta(**length)
        while True:
            self.run()
            nearest = self.do(lambda session: due.earliest(session, self.loop.kinds))
            coming = [each for each in (nearest, self.world.next_event()) if each is not None]
            moment = min([*coming, end])
            self.outside.clock.moment = max(self.outside.clock.moment, moment)
            if moment >= end:
                self.run()
                return

    def skip(self, **length: float) -> None:
        """Moves there at once, as for a bot that was away meanwhile, and takes what is due."""
        self.outside.clock.moment += timedelta(**length)
        self.run()

    def deny(self, plural: str, words: str = DENIAL) -> Callable[[], None]:
        """Has a policy of the cluster deny new objects of a kind; what takes it away again."""

        def policy(kind: Any, obj: Any, old: Any) -> None:
            if kind.plural == plural and old is None:
                raise ApiError(403, "Forbidden", words.format(name=obj["metadata"]["name"]))

        policies = self.world.inside.operations.admissions
        policies.append(policy)
        return lambda: policies.remove(policy)

    def deny_deletion(self, plural: str, words: str = DENIAL) -> Callable[[], None]:
        """Has a policy deny that objects of a kind are deleted; what takes it away again."""

        def policy(kind: Any, obj: Any) -> None:
            if kind.plural == plural:
                raise ApiError(403, "Forbidden", words.format(name=obj["metadata"]["name"]))

        guards = self.world.inside.deletion.guards
        guards.append(policy)
        return lambda: guards.remove(policy)

    def caller(self, person: str = ALICE, channel: str = TEAM_A, team: str | None = None) -> Caller:
        return self.do(lambda session: self.access.caller(session, person, channel, team=team))

    def notes(self, subject_id: str) -> dict[str, str]:
        """What was said once about a run, by purpose, in order."""
        rows = self.do(
            lambda session: session.scalars(
                select(Message)
                .where(col(Message.subject_id) == subject_id, col(Message.purpose) != "card")
                .order_by(col(Message.id))
            ).all()
        )
        return {row.purpose: "\n".join(row.content or ()) for row in rows}

    def effects(self) -> list[str]:
        """Every request with an effect that reached the cluster, in order."""
        return [each.name for each in self.outside.ledger.requests if each.number is not None]
