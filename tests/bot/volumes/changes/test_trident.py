"""Volumes of Trident's that the bot moves: it tells Trident each time, as was approved."""

from collections.abc import Iterator

import pytest

from bot.approvals import Verdict
from bot.audit import lines_about
from bot.config import Settings
from bot.database.database import Database, Session
from bot.errors import ConflictError
from bot.slack.card import Reply
from bot.slack.text import as_text
from bot.volumes.changes.card import ChangeRenderer
from bot.volumes.changes.replies import question
from bot.volumes.changes.service import ChangeButton, ChangeService
from bot.volumes.changes.tables import CHANGE, ChangePhase, VolumeChange
from bot.volumes.matching import Claimed
from bot.volumes.records import ClaimPlace, stale
from bot.volumes.repairs.tables import RepairPhase as Repaired
from playground.ledger import Fault
from tests.arm import Arm
from tests.bot.ground import CAROL, ERIN, Outside
from tests.bot.volumes.changes.rig import level
from tests.bot.volumes.repairs.repairing import Workshop
from tests.bot.volumes.rig import CLAIM
from tests.databases import ON_BOTH

HOUR = 3600
PLACE = ClaimPlace("default", "team-a", CLAIM)


class Moving(Workshop):
    """The same workshop, whose volume nobody has moved yet."""

    def __init__(self, database: Database, outside: Outside, arm: Arm) -> None:
        super().__init__(database, outside, arm)
        self.volume.pool = arm.standard
        told = self.policy.model_dump()
        told["anf"]["changes"] = {"wait_before_down": "1m"}
        self.policy = Settings.model_validate(told)
        self.changes = ChangeService(
            self.files, self.clusters, self.database, self.approvals, self.clock
        )
        self.look()

    def of(self) -> Claimed:
        return self.reads.find(self.policy.teams["team-a"], CLAIM, None)[1]

    def asked(self, asked: ChangeButton) -> str:
        """Carol has it done; its id."""
        who, of = self.caller(CAROL), self.of()

        def work(session: Session) -> str:
            return self.changes.begin(session, who, asked, of, self.clock.now()).id

        return self.do(work)

    def approve(self, row_id: str) -> None:
        who = self.caller(ERIN)

        def work(session: Session) -> None:
            approval = self.approvals.of(session, CHANGE, row_id)
            assert approval is not None
            now = self.clock.now()
            self.approvals.vote(session, approval.id, who, Verdict.APPROVE, now)

        self.do(work)

    def wait(self, minutes: int = 5) -> None:
        """Lets time pass here and in Azure, a few seconds at a time."""
        for _ in range(6 * minutes):
            self.look()
            self.later(seconds=10)

    def row(self, row_id: str) -> VolumeChange:
        return self.do(lambda session: session.get_one(VolumeChange, row_id))

    def card(self, row_id: str, channel: str) -> str:
        renderer = ChangeRenderer(self.settings, self.approvals)
        card = self.do(lambda session: renderer.card(session, row_id, channel))
        assert card is not None
        return as_text(Reply(card=card))


@pytest.fixture
def moving(
    own_database: Database,
    outside: Outside,
    arm: Arm,
    identity: None,  # noqa: ARG001 - it has to be there
) -> Iterator[Moving]:
    built = Moving(own_database, outside, arm)
    yield built
    built.close()


def test_move_asks_for_both_at_once(moving: Moving) -> None:
    asked = level(CLAIM, "Premium", pool="premium")
    plan, anf = moving.changes.plan(asked, moving.of())
    told = as_text(question(asked, plan, anf))
    assert "Approving the move approves this too." in told
    assert "Another person has to approve it." in told
    row_id = moving.asked(asked)
    moving.wait(1)
    assert moving.row(row_id).phase == ChangePhase.ASKED
    assert "Approving the move approves this too." in moving.card(row_id, "C0APPROVE")
    assert moving.effects() == []


@ON_BOTH
def test_trident_is_told_there_and_back(moving: Moving) -> None:
    first = moving.record()
    row_id = moving.asked(level(CLAIM, "Premium", pool="premium", seconds=HOUR))
    moving.wait(1)
    moving.approve(row_id)
    moving.wait(4)
    assert moving.volume.pool is moving.arm.premium
    assert (moving.record(), moving.row(row_id).phase) == (moving.place, ChangePhase.HELD)
    assert moving.only().phase == Repaired.DONE
    assert moving.effects() == ["patch tridentvolumes", "patch deployments"]
    assert moving.do(lambda session: stale(session, PLACE)) is None
    moving.volume.raised_at = None  # Azure's own wait is another matter
    moving.wait(65)
    assert moving.volume.pool is moving.arm.standard
    assert (moving.record(), moving.place) == (first, first)
    assert moving.row(row_id).phase == ChangePhase.RETURNED
    assert moving.effects() == ["patch tridentvolumes", "patch deployments"] * 2
    assert moving.row(row_id).remains == ""


def test_repair_that_fails_is_told_with_the_move(moving: Moving) -> None:
    row_id = moving.asked(level(CLAIM, "Premium", pool="premium"))
    moving.wait(1)
    moving.approve(row_id)
    moving.run()
    moving.set_record("/subscriptions/somebody/else")
    moving.wait(4)
    row = moving.row(row_id)
    assert moving.volume.pool is moving.arm.premium
    assert row.phase == ChangePhase.DONE
    assert row.remains.startswith(
        "Trident's record was not updated. Trident's record was changed outside Quartermaster to"
        " id /subscriptions/somebody/else."
    )
    assert moving.do(lambda session: stale(session, PLACE)) is not None


def test_lost_answer_of_the_cluster_is_no_matter(moving: Moving) -> None:
    moving.outside.ledger.by_name = {
        "patch tridentvolumes": [Fault.LOSE_ANSWER],
        "patch deployments": [Fault.LOSE_ANSWER],
    }
    row_id = moving.asked(level(CLAIM, "Premium", pool="premium"))
    moving.wait(1)
    moving.approve(row_id)
    moving.wait(6)
    assert (moving.record(), moving.row(row_id).phase) == (moving.place, ChangePhase.DONE)
    verbs = [each.verb for each in moving.do(lambda session: lines_about(session, row_id))]
    assert verbs == ["anf.change", "approval.approve", "anf.end"]


def test_stale_record_is_repaired_before_a_move(moving: Moving) -> None:
    moving.volume.pool = moving.arm.ultra
    with pytest.raises(ConflictError) as caught:
        moving.changes.plan(level(CLAIM, "Premium", pool="premium"), moving.of())
    assert caught.value.message == "Trident does not know where this volume is now."
    assert caught.value.hint == "An admin has to repair that first: `/anf repair PVC`."
