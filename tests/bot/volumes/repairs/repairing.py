"""Repairs as somebody asks for them and others decide them; time moves by hand."""

from collections.abc import Callable
from typing import Any

from sqlmodel import Session, select
from typing_extensions import override

from bot.approvals import ApprovalController, Approvals, Verdict
from bot.approvals.context import ApprovalContext
from bot.config import Settings
from bot.database.database import Database
from bot.people.access import Caller
from bot.people.people import Person
from bot.reconcile.controller import Controller
from bot.slack.card import Reply
from bot.slack.text import as_text
from bot.volumes.changes.controller import VolumeChangeController
from bot.volumes.growths.controller import GrowthController
from bot.volumes.pools.controller import PoolController
from bot.volumes.pools.reads import VolumeReads
from bot.volumes.repairs.card import RepairRenderer
from bot.volumes.repairs.controller import RepairController
from bot.volumes.repairs.plan import RepairPlan
from bot.volumes.repairs.service import RepairService
from bot.volumes.repairs.tables import REPAIR, Repair
from playground.arm.trident import CONTROLLER, HOME
from tests.arm import Arm
from tests.bot.ground import ALICE, BOB, CAROL, ERIN, START, TEAM_A, Outside
from tests.bot.volumes.rig import CLAIM, Rig

APPROVE = "C0APPROVE"


class Workshop(Rig):
    """A volume that was moved, and people: Carol is an admin, Carol and Erin approve."""

    def __init__(self, database: Database, outside: Outside, arm: Arm) -> None:
        super().__init__(database, outside, arm)
        people = {"approvers": {"people": [CAROL, ERIN]}}
        told = {"approvals": {"channel": APPROVE, "anf_change": people}}
        self.policy = Settings.model_validate(self.policy.model_dump() | told)
        self.asked_anew: list[tuple[str, ...]] = []
        self.repairs = RepairService(self.settings, self.approvals, self.files, self.clusters)
        self.reads = VolumeReads(self.files, self.clusters)
        self.do(_introduce)
        self.volume.pool = arm.premium
        self.restart()
        self.later(seconds=30)

    @override
    def controllers(self) -> list[Controller]:
        self.approvals = Approvals(self.settings, self.access)
        people = ApprovalContext(
            self.database, self.clock, self.access, self.approvals, self._read_anew
        )
        deciding = ApprovalController(self.database, self.clock, self.settings, self.approvals)
        return [
            PoolController(self.clock, self.files, self.settings, self.clusters),
            VolumeChangeController(self.context, people, self.files),
            RepairController(self.context, people, self.files),
            GrowthController(self.context, people, self.files),
            deciding,
        ]

    def _read_anew(self, _workspace: str, users: Any, _groups: Any) -> None:
        self.asked_anew.append(tuple(users))

    def plan(self, name: str = CLAIM) -> RepairPlan:
        """What a repair would do."""
        self.look()
        where, mine = self.reads.find(self.policy.teams["team-a"], name, None)
        return self.repairs.plan("team-a", where, mine)

    def ask(self, plan: RepairPlan | None = None, by: Caller | None = None) -> str:
        """Carol asks for one; its id."""
        shown, who = plan or self.plan(), by or self.caller(CAROL)
        return self.do(lambda s: self.repairs.ask(s, who, shown, self.clock.now()).id)

    def decide(self, row_id: str, person: str = ERIN, verdict: Verdict = Verdict.APPROVE) -> None:
        """Somebody decides."""
        who = self.caller(person, TEAM_A, "team-a")

        def work(session: Session) -> None:
            approval = self.approvals.of(session, REPAIR, row_id)
            assert approval is not None
            self.approvals.vote(session, approval.id, who, verdict, self.clock.now())

        self.do(work)

    def withdraw(self, row_id: str, by: Caller | None = None) -> None:
        """Somebody does not want it any more."""
        who = by or self.caller(CAROL)

        def work(session: Session) -> None:
            row = self.repairs.get(session, row_id)
            self.repairs.withdraw(session, who, row, self.clock.now())

        self.do(work)

    def approved(self) -> str:
        """One that Erin approved; its id."""
        row_id = self.ask()
        self.decide(row_id)
        return row_id

    def found(self, row_id: str) -> Repair:
        return self.do(lambda session: session.get_one(Repair, row_id))

    def shown(self, row_id: str, channel: str = TEAM_A) -> str:
        """The card as text."""
        renderer = RepairRenderer(self.settings, self.approvals)
        card = self.do(lambda session: renderer.card(session, row_id, channel))
        assert card is not None
        return as_text(Reply(card=card))

    def only(self) -> Repair:
        """The only repair."""
        return self.do(lambda session: session.exec(select(Repair)).one())

    def starts(self) -> int:
        """How often Trident's controller was started."""
        return len([each for each in self.effects() if each == "patch deployments"])

    def deployment(self) -> Any:
        return self.world.get("deployments", CONTROLLER, HOME)

    def let_approve(self, *people: str) -> None:
        """From now on these approve."""
        told = self.policy.model_dump()
        told["approvals"]["anf_change"]["approvers"]["people"] = people
        self.policy = Settings.model_validate(told)

    def with_row(self, row_id: str, change: Callable[[Repair], None]) -> None:
        """Changes a repair behind everybody's back."""

        def work(session: Session) -> None:
            row = session.get_one(Repair, row_id)
            change(row)
            session.add(row)

        self.do(work)


def _introduce(session: Session) -> None:
    for user in (ALICE, BOB, CAROL, ERIN):
        person = Person(
            workspace_id="T0QM",
            user_id=user,
            name=user.removeprefix("U0").capitalize(),
            is_guest=False,
            is_stranger=False,
            refreshed_at=START,
        )
        session.add(person)
