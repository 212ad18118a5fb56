"""Growths as leads ask for them; time moves by hand."""

from collections.abc import Callable
from typing import Any

from sqlmodel import Session

from bot.approvals import Verdict
from bot.config import Settings
from bot.database.database import Database
from bot.people.access import Caller
from bot.slack.card import Reply
from bot.slack.text import as_text
from bot.volumes.growths.card import GrowthRenderer, question
from bot.volumes.growths.plan import GrowthRequest, bytes_of
from bot.volumes.growths.service import GrowthService
from bot.volumes.growths.tables import GROWTH, Growth
from tests.arm import Arm
from tests.bot.ground import CAROL, ERIN, TEAM_A, Outside
from tests.bot.volumes.repairs.repairing import Workshop
from tests.bot.volumes.rig import CLAIM


class Growing(Workshop):
    """The volume is where its PV says, in pool standard; Erin is a lead, and Carol approves too."""

    def __init__(self, database: Database, outside: Outside, arm: Arm) -> None:
        super().__init__(database, outside, arm)
        self.volume.pool = arm.standard
        self.growing = GrowthService(self.files, self.clusters, self.approvals)
        self.set(approve_above=200)
        self.look()

    def set(self, **changes: Any) -> None:
        """Other settings of changes."""
        told = self.policy.model_dump()
        told["anf"] |= {"changes": changes, "price_per_gib_month": {"Standard": 0.15}}
        self.policy = Settings.model_validate(told)

    def asked(self, size: str = "2Ti", claim: str = CLAIM) -> GrowthRequest:
        return GrowthRequest(
            team="team-a", cluster="default", claim=claim, size_bytes=bytes_of(size)
        )

    def offer(self, size: str = "2Ti", claim: str = CLAIM) -> str:
        """What somebody is shown."""
        self.look()
        _, mine = self.reads.find(self.policy.teams["team-a"], claim, None)
        asked = self.asked(size, claim)
        self.do(lambda session: self.growing.check(session, asked, mine))
        return as_text(question(asked, self.growing.plan(asked, mine)[0]))

    def grow(self, size: str = "2Ti", person: str = ERIN, claim: str = CLAIM) -> str:
        """Somebody has it done; the id of the row."""
        self.look()
        _, mine = self.reads.find(self.policy.teams["team-a"], claim, None)
        who, asked = self.caller(person), self.asked(size, claim)
        now = self.clock.now()
        return self.do(lambda s: self.growing.begin(s, who, asked, mine, now).id)

    def take_back(self, row_id: str, by: Caller | None = None) -> None:
        """Somebody does not want it any more."""
        who = by or self.caller(ERIN)

        def work(session: Session) -> None:
            row = self.growing.get(session, row_id)
            self.growing.withdraw(session, who, row, self.clock.now())

        self.do(work)

    def say(self, row_id: str, verdict: Verdict = Verdict.APPROVE) -> None:
        """Carol decides."""
        who = self.caller(CAROL, TEAM_A, "team-a")

        def work(session: Session) -> None:
            approval = self.approvals.of(session, GROWTH, row_id)
            assert approval is not None
            self.approvals.vote(session, approval.id, who, verdict, self.clock.now())

        self.do(work)

    def growth(self, row_id: str) -> Growth:
        return self.do(lambda session: session.get_one(Growth, row_id))

    def card_of(self, row_id: str, channel: str = TEAM_A) -> str:
        renderer = GrowthRenderer(self.settings, self.approvals)
        card = self.do(lambda session: renderer.card(session, row_id, channel))
        assert card is not None
        return as_text(Reply(card=card))

    def claim(self) -> Any:
        return self.world.get("persistentvolumeclaims", CLAIM, "team-a")

    def until(self, holds: Callable[[], bool]) -> None:
        for _ in range(60):
            if holds():
                return
            self.later(seconds=2)
        raise AssertionError
