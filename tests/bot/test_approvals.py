"""Requests that people decide: never one's own, counted anew, ended in time."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import pytest
from sqlmodel import select

from bot.approvals import (
    Approval,
    ApprovalController,
    ApprovalPhase,
    Approvals,
    Request,
    Verdict,
)
from bot.clock import Clock
from bot.config import Circle, Settings
from bot.database.database import Database, Session
from bot.errors import ConflictError, LimitError, NotAllowedError, QuartermasterError
from bot.people.access import Access, Caller, ChannelPlace, Role
from bot.people.people import Person
from bot.reconcile.due import Due
from bot.slack.markup import when
from bot.slack.messages import Message, Subject, show_card
from tests.databases import opened_by_processes
from tests.moments import off_the_minute

T = TypeVar("T")
NOW = off_the_minute(datetime(2026, 11, 21, 12, 0, tzinfo=UTC))
ALICE, BOB, CAROL, DAN, ERIN = "U0ALICE", "U0BOB", "U0CAROL", "U0DAN", "U0ERIN"


def settings(*approvers: str, needed: int = 1) -> Settings:
    return Settings.model_validate(
        {
            "workspace": "T0QM",
            "admins": {"people": [CAROL]},
            "teams": {"team-a": {"namespace": "team-a", "local_queue": "team-a"}},
            "approvals": {
                "channel": "C0APPROVE",
                "quota_override": {
                    "approvers": {"people": list(approvers)},
                    "needed": needed,
                    "expires": "24h",
                    "remind": "4h",
                },
            },
        }
    )


class ApprovalRig:
    """Approvals on a database, under a policy that a test can change."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.policy = settings(CAROL)
        self.access = Access(lambda: self.policy)
        self.approvals = Approvals(lambda: self.policy, self.access)

        def meet(session: Session) -> None:
            for user in (ALICE, BOB, CAROL, DAN, ERIN):
                session.add(
                    Person(
                        workspace_id="T0QM",
                        user_id=user,
                        is_guest=user == DAN,
                        is_stranger=False,
                        refreshed_at=NOW,
                    )
                )

        database.transaction(meet)

    def do(self, work: Callable[[Session], T]) -> T:
        return self.database.transaction(work)

    def ask(self) -> str:
        request = Request("override", "row1", "lane", "quota_override", "d1", caller(ALICE), "CVPR")
        return self.do(lambda session: self.approvals.ask(session, request, NOW)).id

    def vote(self, approval: str, who: str, verdict: Verdict = Verdict.APPROVE) -> str:
        return self.do(
            lambda session: self.approvals.vote(session, approval, caller(who), verdict, NOW)
        ).phase

    def use(self, approval: str, digest: str = "d1") -> tuple[bool, str]:
        def work(session: Session) -> tuple[bool, str]:
            row = session.get_one(Approval, approval)
            return self.approvals.use(session, row, digest, NOW), row.phase

        return self.do(work)

    def wakes(self, kind: str, row: str) -> int:
        found = self.do(lambda session: session.get(Due, (kind, row)))
        return found.wakes if found else 0


def caller(person: str, *roles: Role) -> Caller:
    return Caller("T0QM", person, "C0TEAMA", ChannelPlace.TEAM, "team-a", frozenset(roles))


def words(error: QuartermasterError) -> str:
    return f"{error.message} {error.hint}"


@pytest.fixture
def rig(database: Database) -> ApprovalRig:
    return ApprovalRig(database)


def test_one_approver_is_enough_by_default(rig: ApprovalRig) -> None:
    asked = rig.ask()
    assert rig.vote(asked, CAROL) == ApprovalPhase.APPROVED
    assert rig.wakes("override", "row1") == 1
    assert rig.use(asked) == (True, ApprovalPhase.USED)
    assert rig.use(asked) == (True, ApprovalPhase.USED)


def test_nobody_decides_their_own_request(rig: ApprovalRig) -> None:
    rig.policy = settings(ALICE, CAROL)
    asked = rig.ask()
    with pytest.raises(NotAllowedError) as caught:
        rig.vote(asked, ALICE)
    assert words(caught.value) == (
        "You cannot decide your own request. Another approver has to decide it."
    )


@pytest.mark.parametrize("who", [BOB, DAN])
def test_only_named_approvers_can_decide(rig: ApprovalRig, who: str) -> None:
    asked = rig.ask()
    with pytest.raises(NotAllowedError) as caught:
        rig.vote(asked, who)
    assert words(caught.value) == (
        "You are not an approver of this request."
        " The configuration names the approvers; ask a platform admin."
    )


def test_two_different_people_where_two_are_needed(rig: ApprovalRig) -> None:
    rig.policy = settings(BOB, CAROL, needed=2)
    asked = rig.ask()
    assert rig.vote(asked, CAROL) == ApprovalPhase.ASKED
    assert rig.vote(asked, CAROL) == ApprovalPhase.ASKED
    assert rig.vote(asked, BOB) == ApprovalPhase.APPROVED


def test_one_denial_ends_it(rig: ApprovalRig) -> None:
    rig.policy = settings(BOB, CAROL, needed=2)
    asked = rig.ask()
    assert rig.vote(asked, CAROL, Verdict.DENY) == ApprovalPhase.DENIED
    with pytest.raises(ConflictError) as caught:
        rig.vote(asked, BOB)
    assert words(caught.value) == (
        "This request is already denied by <@U0CAROL>. Your click changed nothing."
    )


def test_a_hopeless_request_is_refused_at_once(rig: ApprovalRig) -> None:
    rig.policy = settings(ALICE, DAN)
    with pytest.raises(LimitError) as caught:
        rig.ask()
    assert caught.value.message == (
        "This request cannot be approved: it needs 1 approver(s) other than you, and there are 0."
    )


def test_a_former_approvers_vote_does_not_count(rig: ApprovalRig) -> None:
    rig.policy = settings(BOB, CAROL)
    asked = rig.ask()
    rig.vote(asked, BOB)
    rig.policy = settings(CAROL)
    assert rig.use(asked) == (False, ApprovalPhase.ASKED)
    assert rig.vote(asked, CAROL) == ApprovalPhase.APPROVED
    assert rig.use(asked) == (True, ApprovalPhase.USED)


def test_a_changed_subject_voids_the_approval(rig: ApprovalRig) -> None:
    asked = rig.ask()
    rig.vote(asked, CAROL)
    assert rig.use(asked, "another digest") == (False, ApprovalPhase.VOIDED)
    note = rig.do(lambda session: session.get_one(Approval, asked).note)
    assert note == "Void: the request has changed since it was shown."


def test_breaking_the_glass_takes_an_admin(rig: ApprovalRig) -> None:
    asked = rig.ask()
    with pytest.raises(NotAllowedError):
        rig.do(lambda s: rig.approvals.break_glass(s, asked, caller(BOB, Role.LEAD), NOW))
    admin = caller(CAROL, Role.ADMIN)
    broken = rig.do(lambda s: rig.approvals.break_glass(s, asked, admin, NOW))
    assert (broken.phase, broken.is_break_glass) == (ApprovalPhase.APPROVED, True)


def test_breaking_the_glass_needs_no_second_person(rig: ApprovalRig) -> None:
    rig.policy = settings(CAROL)
    admin = caller(CAROL, Role.ADMIN)
    request = Request(
        "override", "row1", "lane", "quota_override", "d1", admin, "fire", breaks_glass=True
    )
    asked = rig.do(lambda session: rig.approvals.ask(session, request, NOW)).id
    rig.do(lambda s: rig.approvals.break_glass(s, asked, admin, NOW))
    assert rig.use(asked) == (True, ApprovalPhase.USED)


def test_a_broken_glass_of_no_admin_is_void(rig: ApprovalRig) -> None:
    asked = rig.ask()
    admin = caller(CAROL, Role.ADMIN)
    rig.do(lambda s: rig.approvals.break_glass(s, asked, admin, NOW))
    rig.policy = rig.policy.model_copy(update={"admins": Circle()})
    assert rig.use(asked) == (False, ApprovalPhase.ASKED)


def test_two_approvers_at_once_have_one_effect(rig: ApprovalRig) -> None:
    rig.policy = settings(BOB, CAROL)
    with opened_by_processes(rig.database, 2) as processes, ThreadPoolExecutor(2) as pool:
        for _ in range(100):
            _both_approve(rig, pool, processes)


def _both_approve(rig: ApprovalRig, pool: ThreadPoolExecutor, processes: list[Database]) -> None:
    """Each click arrives at a process of its own."""
    asked = rig.ask()
    before = rig.wakes("override", "row1")

    def click(who: str, own: Database) -> str:
        there = copy(rig)
        there.database = own
        try:
            return there.vote(asked, who)
        except ConflictError as error:
            return error.message

    outcomes = sorted(pool.map(click, (BOB, CAROL), processes))
    assert outcomes[1] == ApprovalPhase.APPROVED or outcomes[0] == ApprovalPhase.APPROVED
    assert sum(outcome == ApprovalPhase.APPROVED for outcome in outcomes) == 1
    assert rig.wakes("override", "row1") == before + 1


def test_waiting_requests_are_reminded_then_expire(rig: ApprovalRig) -> None:
    asked = rig.ask()
    subject = Subject("T0QM", "override", "row1")
    rig.do(lambda s: show_card(s, subject, "C0APPROVE", NOW, live=False))
    clock = Clock()
    controller = ApprovalController(rig.database, clock, lambda: rig.policy, rig.approvals)

    def look(at: datetime) -> datetime | None:
        clock.shift(at - datetime.now(UTC))
        step = controller.step(asked)
        rig.do(step.save)
        return step.again

    assert look(NOW) == NOW + timedelta(hours=4)
    assert look(NOW + timedelta(hours=5)) == NOW + timedelta(hours=24)
    assert look(NOW + timedelta(hours=6)) == NOW + timedelta(hours=24)
    reminder = select(Message).where(Message.purpose == "reminder")
    (sent,) = rig.do(lambda session: session.exec(reminder).all())
    assert sent.content == [
        (
            "<@U0CAROL> this request still waits for a decision until"
            f" {when(NOW + timedelta(hours=24))}."
        )
    ]
    assert look(NOW + timedelta(hours=25)) is None
    assert rig.do(lambda s: s.get_one(Approval, asked).phase) == ApprovalPhase.EXPIRED
    with pytest.raises(ConflictError):
        rig.vote(asked, CAROL)
