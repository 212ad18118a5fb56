"""Training on a database and on a whole cluster behind HTTP; time moves by hand."""

from collections.abc import Iterable
from typing import Any, TypeVar

from sqlalchemy import select
from typing_extensions import override

from bot.approvals import Approvals
from bot.cluster.view import Change
from bot.config import Settings
from bot.database.database import Database, Session
from bot.datasets.browsing.reads import BrowseReads
from bot.people.people import Person
from bot.quotas.engines.opening import watched_with
from bot.quotas.engines.registry import Engines
from bot.quotas.service import QuotaService
from bot.reconcile import due
from bot.reconcile.controller import Controller
from bot.reconcile.loop import Loop
from bot.reconcile.wakeups import Wakeup
from bot.slack.card import Card, Reply
from bot.slack.grammar.parameters import Nodes, Reference
from bot.slack.text import as_text
from bot.snapshots.run_snapshots import RunSnapshots
from bot.training.external.removal import RemovalController
from bot.training.follows.controller import LogFollowController
from bot.training.follows.service import FollowService
from bot.training.kinds import WORKLOADS
from bot.training.logs.reads import LogReads
from bot.training.mlflow.controller import ExportController
from bot.training.mlflow.service import ExportService
from bot.training.runs.card import RemovalRenderer, RunRenderer
from bot.training.runs.controller import RunCollaborators, RunController
from bot.training.runs.folders import FolderCheck
from bot.training.runs.reads import TrainingReads
from bot.training.runs.watching import RunWatchHandler
from bot.training.saved_flows.controller import FlowController
from bot.training.saved_flows.record import FlowRecorder
from bot.training.saved_flows.service import FlowService
from bot.training.scaling import ScalingService
from bot.training.service import TrainingService
from bot.training.submission.building import Submission
from bot.training.sweeps.controller import SweepController
from bot.training.sweeps.record import SweepRecorder
from bot.training.sweeps.service import SweepService
from bot.training.tables import Removal, Run
from tests.bot.ground import (
    ALICE,
    BOB,
    CAROL,
    ERIN,
    INSTALLATION,
    START,
    TEAM_A,
    TEAM_B,
    Ground,
    Outside,
)

WATCHED = watched_with("kueue")

T = TypeVar("T")

_WATCHED = {**WATCHED, **dict.fromkeys(WORKLOADS, "")}
IMAGE = "ghcr.io/acme/lane:3.1"
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
            "stores": {"lake": {"places": {"team-a": ["s3://lake/"]}}},
        }
    )


class Rig(Ground):
    """Everything of training, built as the composition root builds it."""

    def __init__(self, database: Database, outside: Outside, policy: Settings) -> None:
        super().__init__(database, outside, policy)
        self.engines = Engines(self.settings, self.clusters)
        self.engine = self.engines.of("default")
        approvals = Approvals(self.settings, self.access)
        self.quotas = QuotaService(self.settings, self.access, approvals, self.engines)
        self.run_snapshots = RunSnapshots(self.settings, self.clusters, self.access)
        self.service = TrainingService(
            self.settings, self.engines.get, INSTALLATION, self.words, self.run_snapshots
        )
        self.scaling = ScalingService(self.access, self.service, self.engines.get, self.words)
        self.sweeps = SweepService(self.settings, self.service, self.words)
        self.saved_flows = FlowService(
            self.settings, self.service, self.sweeps, INSTALLATION, self.words
        )
        self.reads = TrainingReads(database, self.clusters)
        self.follows = FollowService(self.words)
        self.watch_handler = RunWatchHandler(self.clusters)
        self.restart()
        self._introduce()
        self.look()

    def restart(self) -> None:
        """A new process on the same database."""
        context = self.context
        exports = ExportService(self.settings)
        others = RunCollaborators(
            self.engines.of, self.scaling.again, self.run_snapshots,
            FolderCheck(BrowseReads(self.settings)), exports.note,
        )  # fmt: skip
        self.controller = RunController(context, others)
        removals = RemovalController(context)
        logs = LogReads(self.database, self.clusters)
        follows = LogFollowController(self.database, self.clock, self.access, logs)
        submitting = SweepRecorder(self.settings, self.access, self.service, self.words)
        sweeps = SweepController(context, submitting)
        exporting = ExportController(context)
        starting = FlowRecorder(self.access, self.saved_flows.starter, self.words)
        flows = FlowController(context, starting)
        controllers: list[Controller] = [
            self.controller, removals, follows, sweeps, exporting, flows,
        ]  # fmt: skip
        self.loop = Loop(self.database, self.clock, controllers)

    @override
    def look(self) -> None:
        """Has the view see the cluster as it is, and wakes what that concerns."""
        self.world.settle()
        changes = [change for watched in _WATCHED.items() for change in self.refresh(*watched)]
        self.do(lambda session: self._wake(session, changes))

    def forget_due(self) -> None:
        """Has no row be looked at by itself any more."""

        def work(session: Session) -> None:
            for row in session.scalars(select(due.Due)):
                row.due_at = None

        self.do(work)

    def see_anew(self) -> None:
        """Has the view see every object as new, as in a new process."""
        self.forget_view()
        self.restart()

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
        return _as_text(self.card_of(run_id))

    def card_of(self, run_id: str) -> Card:
        renderer = RunRenderer(self.clock, lambda: self.policy.training.links)
        card = self.do(lambda session: renderer.card(session, run_id, TEAM_A))
        assert card is not None
        return card

    def removal_card(self, removal_id: str) -> str:
        return _as_text(self.do(lambda s: RemovalRenderer().card(s, removal_id, TEAM_A)))

    def job(self, run_id: str) -> Any:
        """The run's Job as the cluster has it."""
        return self.world.get("jobs", self.get(run_id).job_name, "team-a")

    def on_change(self, change: Change) -> Iterable[Wakeup]:
        """Which rows an object that changed concerns."""
        return self.watch_handler(change)

    def _wake(self, session: Session, changes: list[Change]) -> None:
        for change in changes:
            for wakeup in self.on_change(change):
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
