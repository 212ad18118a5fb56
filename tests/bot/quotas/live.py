"""Quotas with their threads, in front of the playground's cluster."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from sqlmodel import select

from bot.approvals import Approvals, Verdict
from bot.approvals.context import ApprovalContext
from bot.clock import Clock
from bot.cluster.api.connection import Connection
from bot.cluster.cluster import Cluster
from bot.database.database import Database, Session
from bot.people.access import Access
from bot.quotas.engines.opening import watched_with
from bot.quotas.engines.registry import Engines
from bot.quotas.managed.controller import QuotaController
from bot.quotas.overrides.controller import OverrideController
from bot.quotas.overrides.request import OverrideRequest
from bot.quotas.service import QuotaService
from bot.quotas.tables import ManagedQuota, Override
from bot.quotas.watching import QueueChanges
from bot.reconcile.controller import Controller
from bot.reconcile.frame import ControllerContext
from bot.reconcile.loop import Loop
from bot.reconcile.wakeups import Wakeups
from bot.slack.grammar.parameters import Amount
from playground.clock import VirtualClock
from playground.cluster.cluster import Cluster as PlaygroundCluster
from playground.cluster.story import story_cluster
from playground.ledger import Ledger
from playground.settings import rights
from tests.bot.cluster.api.api_server import eventually
from tests.bot.quotas.people import ALICE, APPROVE, CAROL, DAY, caller, meet, settings
from tests.bot.quotas.queue_server import Stopped
from tests.databases import create_tables

T = TypeVar("T")

TOKEN = "bot-token"  # noqa: S105 - opens nothing but this playground
INSTALLATION = "0123456789abcdef"


class Live:
    """A bot with quotas only; `stop` and `start` are the end of a process and the next one."""

    def __init__(self, url: str, kubeconfig: Path, world: PlaygroundCluster) -> None:
        self.url = url
        self.kubeconfig = kubeconfig
        self.world = world
        self.clock = Clock()
        self.policy = settings()
        self.start()
        self.do(meet)

    def start(self) -> None:
        self.database = Database(self.url)
        cluster = Cluster(
            "default",
            Connection.to(str(self.kubeconfig)),
            INSTALLATION,
            watched=watched_with("kueue"),
        )
        clusters = {"default": cluster}
        access = Access(lambda: self.policy)
        self.approvals = Approvals(lambda: self.policy, access)
        engines = Engines(lambda: self.policy, clusters)
        self.service = QuotaService(lambda: self.policy, access, self.approvals, engines)
        place = (self.database, self.clock)
        context = ControllerContext(*place, lambda: self.policy, clusters, lambda text: f"/{text}")
        deciding = ApprovalContext(*place, access, self.approvals, lambda *_: None)
        controllers: list[Controller] = [
            QuotaController(*place, engines),
            OverrideController(context, deciding, engines, Stopped()),
        ]
        self.loop = Loop(*place, controllers)
        self.wakeups = Wakeups(*place, [QueueChanges(self.database).changes])
        cluster.on_change(self.wakeups.on_change)
        self.cluster = cluster
        cluster.start()
        self.loop.start()
        self.wakeups.start()
        eventually(lambda: cluster.view.synced)

    def stop(self) -> None:
        self.wakeups.stop()
        self.loop.stop()
        self.cluster.stop()
        self.database.close()

    def do(self, work: Callable[[Session], T]) -> T:
        return self.database.transaction(work)

    def ask(self, amount: int, donor: str | None = None) -> str:
        options = OverrideRequest(
            "team-a", Amount(amount, relative=True), "CVPR deadline", 3 * DAY, donor=donor
        )
        by = caller(ALICE)
        return self.do(lambda s: self.service.request(s, options, by, self.clock.now())).id

    def approve(self, override_id: str) -> None:
        def work(session: Session) -> None:
            approval = self.approvals.of(session, "override", override_id)
            assert approval is not None
            by = caller(CAROL, APPROVE, None)
            self.approvals.vote(session, approval.id, by, Verdict.APPROVE, self.clock.now())

        self.do(work)

    def phase(self, override_id: str) -> str:
        return self.database.read(lambda s: s.get_one(Override, override_id).phase)

    def stopped_because(self) -> str:
        def work(session: Session) -> str:
            return session.exec(select(ManagedQuota)).one().stopped_because

        return self.database.read(work)

    def later(self, length: timedelta) -> None:
        self.clock.shift(self.clock.offset + length)

    def nominal(self, queue: str, field: str = "nominalQuota") -> str:
        found = self.world.get("clusterqueues", queue)
        assert found is not None
        flavor = found["spec"]["resourceGroups"][0]["flavors"][0]
        return str(flavor["resources"][2][field])


@contextmanager
def serving_story(folder: Path) -> Iterator[Live]:
    """The story's cluster on loopback, and a bot in front of it."""
    url = f"sqlite:///{folder}/test.db"
    create_tables(url)
    with _serving(story_cluster(VirtualClock(), Ledger())) as world:
        world.write_kubeconfig(folder / "kubeconfig", TOKEN)
        live = Live(url, folder / "kubeconfig", world)
        try:
            yield live
        finally:
            live.stop()


@contextmanager
def _serving(world: PlaygroundCluster) -> Iterator[PlaygroundCluster]:
    world.admit_bot(TOKEN, rights())
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(world.start(), loop).result(60)
    try:
        yield world
    finally:
        asyncio.run_coroutine_threadsafe(world.stop(), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.close()
