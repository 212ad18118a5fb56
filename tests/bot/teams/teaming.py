"""Teams that an admin creates and removes in the playground's cluster; time moves by hand."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlmodel import Session
from typing_extensions import override

from bot.approvals import ApprovalController, Approvals, Verdict
from bot.approvals.context import ApprovalContext
from bot.cluster.api.following import Sources
from bot.cluster.resources import (
    ALLOWANCES,
    CLUSTER_QUEUES,
    COHORTS,
    KAI_QUEUES,
    LOCAL_QUEUES,
    NODES,
    RESOURCE_FLAVORS,
    Resource,
)
from bot.cluster.view import Store
from bot.config import Settings, with_slack_teams
from bot.database.database import Database
from bot.people.people import Person
from bot.quotas.engines.registry import Engines
from bot.quotas.engines.runai.definition import RUNAI_ENGINE
from bot.reconcile.loop import Loop
from bot.slack.card import Reply
from bot.slack.text import as_text
from bot.snapshots.team_uses import team_uses as uses_of_snapshots
from bot.teams.card import ChangeRenderer, question
from bot.teams.controller import TeamController
from bot.teams.record import teams_of_slack
from bot.teams.service import TeamRequest, TeamService
from bot.teams.stores import TeamStores
from bot.teams.tables import CHANGE, ChangePhase, TeamChange
from bot.training.team_uses import team_uses as uses_of_training
from playground.cluster.objects.kinds import Object
from playground.cluster.story import runai_cluster
from tests.bot.ground import ALICE, CAROL, ERIN, START, TEAM_A, Ground, Outside
from tests.bot.quotas.engines.runai.plane import ControlPlane
from tests.bot.training.rig import LIVE_TEAM

APPROVALS = "C0APPROVE"
VISION = "C0VISION"
USES = (uses_of_training, uses_of_snapshots)
ON_KUEUE: tuple[Resource[Any], ...] = (CLUSTER_QUEUES, LOCAL_QUEUES, COHORTS, RESOURCE_FLAVORS)


class Teaming(Ground):
    """Carol asks for teams, Erin approves."""

    kinds = ON_KUEUE

    def __init__(self, database: Database, outside: Outside, **settings: Any) -> None:
        super().__init__(database, outside, self.told(**settings))
        self.do(_introduce)
        self.restart()
        self.look()

    def told(self, **settings: Any) -> Settings:
        """quartermaster.yaml."""
        deciders = {"approvers": {"people": [CAROL, ERIN]}}
        return Settings.model_validate(
            {
                "workspace": "T0QM",
                "admins": {"people": [CAROL]},
                "clusters": {"default": {"engine": self.engine_name}},
                "teams": {"team-a": {"channels": [TEAM_A], **LIVE_TEAM}},
                "team_creation": {},
                "approvals": {"channel": APPROVALS, "team_change": deciders},
            }
            | settings
        )

    def restart(self) -> None:
        """A new process on the same database."""
        self.approvals = Approvals(self.settings, self.access)
        engines = Engines(self.settings, self.clusters)
        self.stores = TeamStores(engines)
        self.teams = TeamService(
            self.settings, lambda: self.policy, self.access, self.approvals, engines, USES
        )
        context = ApprovalContext(
            self.database, self.clock, self.access, self.approvals, lambda *_people: None
        )
        self.loop = Loop(
            self.database,
            self.clock,
            [
                ApprovalController(self.database, self.clock, self.settings, self.approvals),
                TeamController(self.context, context, self.stores, USES),
            ],
        )

    @override
    def settings(self) -> Settings:
        """The file and the rows, as the bot puts them together."""
        rows = self.database.read(lambda session: teams_of_slack(session, "T0QM"))
        return with_slack_teams(self.policy, rows)[0]

    @override
    def look(self) -> None:
        self.world.settle()
        for each in self.kinds:
            self.refresh(each)

    def create(self, team: str = "vision", gpus: int = 8, **more: Any) -> str:
        """Carol asks for a team; the id of the change."""
        self.look()
        by, now = self.caller(CAROL, APPROVALS), self.clock.now()
        asked = TeamRequest(team, gpus, **more)
        return self.do(lambda s: self.teams.create(s, by, self.teams.plan(s, asked), now).id)

    def fails(self, refused: str, **asked: Any) -> None:
        """A team is created until objects of a kind, which the bot may create only later."""
        row_id = self.create(**asked)
        self.pass_time(seconds=10)
        allow = self.deny(refused)
        self.decides(row_id)
        self.pass_time(seconds=30)
        assert self.row(row_id).phase == ChangePhase.FAILED
        allow()

    def created(self, team: str = "vision", gpus: int = 8, **more: Any) -> str:
        """A team that is there; the id of the change."""
        row_id = self.create(team, gpus, **more)
        self.pass_time(seconds=10)
        self.decides(row_id)
        self.pass_time(seconds=30)
        return row_id

    def asks_to_remove(self, team: str = "vision") -> str:
        """What Carol is shown before a team is removed."""
        return as_text(self.do(lambda session: question(self.teams.removable(session, team))))

    def remove(self, team: str = "vision") -> str:
        """Carol asks to remove a team; the id of the change."""
        by, now = self.caller(CAROL, APPROVALS), self.clock.now()
        return self.do(lambda session: self.teams.remove(session, by, team, now).id)

    def decides(self, row_id: str, verdict: Verdict = Verdict.APPROVE) -> None:
        """Erin decides."""
        by = self.caller(ERIN, APPROVALS)

        def work(session: Session) -> None:
            found = self.approvals.of(session, CHANGE, row_id)
            assert found is not None
            self.approvals.vote(session, found.id, by, verdict, self.clock.now())

        self.do(work)

    def row(self, row_id: str) -> TeamChange:
        return self.do(lambda session: session.get_one(TeamChange, row_id))

    def card(self, row_id: str, channel: str = APPROVALS) -> list[str]:
        """The lines of a change's card."""
        renderer = ChangeRenderer(self.settings, self.approvals)
        card = self.do(lambda session: renderer.card(session, row_id, channel))
        text = as_text(Reply(card=card))
        return [" ".join(each.split()) for each in text.splitlines()]

    def found(self, plural: str, name: str = "vision", namespace: str = "") -> Object:
        """An object of the cluster."""
        found = self.world.get(plural, name, namespace)
        assert found is not None
        return found

    def names(self, plural: str, namespace: str = "") -> list[str]:
        """The names of what is in the cluster."""
        return [each["metadata"]["name"] for each in self.world.list(plural, namespace)]


class OnKai(Teaming):
    """The same where KAI Scheduler admits runs."""

    engine_name = "kai"
    kinds = (KAI_QUEUES, NODES)


class OnNone(Teaming):
    """The same without a quota engine."""

    engine_name = "none"
    kinds = (NODES, ALLOWANCES)


class OnRunai(Teaming):
    """The same where Run:ai has the quotas, which the control plane of `plane` keeps."""

    engine_name = "runai"
    kinds = (NODES,)

    def __init__(self, database: Database, outside: Outside, plane: ControlPlane) -> None:
        self.plane = plane
        world = outside.cluster
        plane.tenant.has_namespace = lambda name: world.get("namespaces", name) is not None
        super().__init__(database, outside)

    @override
    def told(self, **settings: Any) -> Settings:
        runai = self.plane.settings().model_dump()
        clusters = {"default": {"engine": "runai", "runai": runai}}
        return super().told(**{"clusters": clusters, **settings})

    @override
    def sources(self) -> Sources:
        return RUNAI_ENGINE.sources("default", self.told().clusters["default"])

    @override
    def look(self) -> None:
        super().look()
        for resource, read in self.sources().items():
            store: Store[Any] = self.cluster.view.store(resource)
            store.replace(read())
            store.prove()

    def changes(self) -> list[str]:
        """What reached the control plane to change something."""
        return [each for each in self.plane.asked() if each.split()[0] in {"create", "delete"}]


def labels_of(found: Object) -> dict[str, str]:
    return dict(found["metadata"].get("labels", {}))


def _introduce(session: Session) -> None:
    for user_id, name in {ALICE: "Alice", CAROL: "Carol", ERIN: "Erin"}.items():
        session.add(
            Person(
                workspace_id="T0QM", user_id=user_id, name=name, is_guest=False,
                is_stranger=False, refreshed_at=START,
            )
        )  # fmt: skip


@contextmanager
def opened_on_runai(database: Database, folder: Path) -> Iterator[OnRunai]:
    """Teams on a cluster and a control plane of their own, which are closed at the end."""
    plane = ControlPlane(folder)
    outside = Outside(folder, runai_cluster)
    yield OnRunai(database, outside, plane)
    outside.close()
    plane.close()
