"""Training on a database and on a whole cluster behind HTTP; time moves by hand."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from sqlmodel import col, select
from typing_extensions import override

from bot import due
from bot.access import Access, Caller
from bot.approvals import Approvals
from bot.clock import Clock
from bot.cluster.cluster import WATCHED, Cluster
from bot.cluster.connection import Connection
from bot.cluster.view import Change
from bot.config import Settings
from bot.controller import Loop
from bot.database.database import Database, Session
from bot.errors import ClusterError
from bot.people import Person
from bot.quotas.engines import Engines
from bot.quotas.service import QuotaService
from bot.slack.card import Card, Reply
from bot.slack.messages import Message
from bot.slack.parameters import Nodes, Reference
from bot.slack.text import as_text
from bot.training.controller import RunController, World
from bot.training.reads import TrainingReads
from bot.training.removal import RemovalController
from bot.training.renderer import RemovalRenderer, RunRenderer
from bot.training.scaling import ScalingService
from bot.training.service import TrainingService
from bot.training.submission import Submission
from bot.training.tables import Removal, Run
from bot.training.watching import RunEar
from playground.clock import VirtualClock
from playground.cluster.story import story_cluster
from playground.ledger import Ledger
from tests.bot.cluster.conftest import PATIENT

T = TypeVar("T")

START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
INSTALLATION = "0123456789abcdef"
ALICE, BOB, CAROL, ERIN = "U0ALICE", "U0BOB", "U0CAROL", "U0ERIN"
TEAM_A, TEAM_B = "C0TEAMA", "C0TEAMB"
IMAGE = "ghcr.io/acme/lane:3.1"
EVERYTHING = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
PATHS = {"nonResourceURLs": ["*"], "verbs": ["*"]}
LIVE_TEAM = {
    "members": {"people": [ALICE]},
    "leads": {"people": [ERIN]},
    "namespace": "team-a",
    "local_queue": "team-a",
}


def settings(**team: object) -> Settings:
    return Settings.model_validate(
        {
            "workspace": "T0QM",
            "admins": {"people": [CAROL]},
            "teams": {
                "team-a": {"channels": [TEAM_A], **LIVE_TEAM, **team},
                "team-b": {
                    "channels": [TEAM_B],
                    "leads": {"people": [BOB]},
                    "namespace": "team-b",
                    "local_queue": "team-b",
                },
            },
        }
    )


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

    def __init__(self, folder: Path) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self.clock = WorldClock()
        self.ledger = Ledger()
        self.cluster = story_cluster(self.clock, self.ledger)
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


class Rig:
    """Everything of training, built as the composition root builds it."""

    def __init__(self, database: Database, outside: Outside, policy: Settings) -> None:
        self.database = database
        self.outside = outside
        self.world = outside.cluster
        self.policy = policy
        self.clock = SameClock(outside.clock)
        connection = Connection.to(str(outside.kubeconfig), timeouts=PATIENT)
        self.cluster = Cluster("default", connection, INSTALLATION)
        self.clusters = {"default": self.cluster}
        self.engines = Engines(self.settings, self.clusters)
        self.engine = self.engines.of("default")
        self.access = Access(self.settings)
        approvals = Approvals(self.settings, self.access)
        self.quotas = QuotaService(self.settings, self.access, approvals, self.engines)
        self.service = TrainingService(self.settings, self.engines.get, INSTALLATION, self.words)
        self.scaling = ScalingService(self.access, self.service, self.engines.get, self.words)
        self.reads = TrainingReads(database, self.clusters)
        self.ear = RunEar(self.clusters)
        self.restart()
        self._introduce()
        self.look()

    def settings(self) -> Settings:
        return self.policy

    def words(self, text: str) -> str:
        return f"/{text}"

    def restart(self) -> None:
        """A new process on the same database."""
        parts = (self.database, self.clock, self.settings, self.clusters, self.engines.of)
        self.controller = RunController(World(*parts, self.words, self.scaling.again))
        removals = RemovalController(self.database, self.clock, self.clusters)
        self.loop = Loop(self.database, self.clock, [self.controller, removals])

    def do(self, work: Callable[[Session], T]) -> T:
        return self.database.transaction(work)

    def look(self) -> None:
        """Has the view see the cluster as it is, and wakes what that concerns."""
        self.world.settle()
        changes = []
        for resource, selector in WATCHED.items():
            store = self.cluster.view.store(resource)
            try:
                found = store.replace(self.cluster.list(resource, labels=selector))
            except ClusterError as error:
                if error.reason != "NotServed":
                    raise
                store.absent = True
                continue
            changes += [Change("default", resource, kind, each) for kind, each in found]
            store.absent = False
            store.prove()
        self.do(lambda session: self._wake(session, changes))

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

    def caller(self, person: str = ALICE, channel: str = TEAM_A, team: str | None = None) -> Caller:
        return self.do(lambda session: self.access.caller(session, person, channel, team=team))

    def submit(self, name: str = "lane", person: str = ALICE, **more: Any) -> str:
        """Somebody of team-a submits a run; its id. `nodes` may be a number."""
        if isinstance(more.get("nodes"), int):
            more["nodes"] = Nodes(more["nodes"], more["nodes"])
        fields: dict[str, Any] = {"image": IMAGE, "gpus": 2, "command": _COMMAND}
        asked = Submission(name, **(fields | more))
        by = self.caller(person)
        return self.do(
            lambda session: self.service.submit(session, by, asked, self.clock.now())
        ).run_id

    def stop(self, run_id: str, person: str = ALICE) -> None:
        by = self.caller(person)

        def work(session: Session) -> None:
            run = self.service.get(session, run_id)
            self.service.stop(session, by, run, self.clock.now())

        self.do(work)

    def resubmit(self, name: str, person: str = ALICE) -> str:
        by = self.caller(person)

        def work(session: Session) -> str:
            run = self.service.find(session, "team-a", Reference(name))
            return self.service.resubmit(session, by, run, self.clock.now()).run_id

        return self.do(work)

    def get(self, run_id: str) -> Run:
        return self.do(lambda session: self.service.get(session, run_id))

    def removal(self, removal_id: str) -> Removal:
        return self.do(lambda session: session.get_one(Removal, removal_id))

    def card(self, run_id: str) -> str:
        """The run's card as text."""
        return _as_text(self.do(lambda s: RunRenderer(self.clock).card(s, run_id, TEAM_A)))

    def removal_card(self, removal_id: str) -> str:
        return _as_text(self.do(lambda s: RemovalRenderer().card(s, removal_id, TEAM_A)))

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

    def job(self, run_id: str) -> Any:
        """The run's Job as the cluster has it."""
        return self.world.get("jobs", self.get(run_id).job_name, "team-a")

    def _wake(self, session: Session, changes: list[Change]) -> None:
        for change in changes:
            for wakeup in self.ear(change):
                due.wake(session, *wakeup, self.clock.now())

    def _introduce(self) -> None:
        names = {ALICE: "Alice", BOB: "Bob", CAROL: "Carol", ERIN: "Erin"}

        def work(session: Session) -> None:
            for user_id, name in names.items():
                session.add(
                    Person(
                        workspace_id="T0QM",
                        user_id=user_id,
                        name=name,
                        is_guest=False,
                        is_stranger=False,
                        refreshed_at=START,
                    )
                )

        self.do(work)


_COMMAND = ("python", "train.py", "--epochs", "3")


def _as_text(card: Card | None) -> str:
    assert card is not None
    return as_text(Reply(card=card))
