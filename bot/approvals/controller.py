"""Expires requests that were not decided in time, and reminds the approvers."""

from collections.abc import Callable
from datetime import datetime

from sqlmodel import Session

from bot.approvals.service import Approvals
from bot.approvals.tables import KIND, Approval, ApprovalPhase, subject_of
from bot.clock import Clock
from bot.config import Settings
from bot.database.database import Database
from bot.reconcile.controller import Step, Trouble
from bot.slack.markup import Markup, join, person, when
from bot.slack.messages import ThreadMessage, post_once


class ApprovalController:
    """Reminds the approvers of a pending request once, and expires it when its time is over."""

    kind = KIND

    def __init__(
        self,
        database: Database,
        clock: Clock,
        settings: Callable[[], Settings],
        approvals: Approvals,
    ) -> None:
        self._database = database
        self._clock = clock
        self._settings = settings
        self._approvals = approvals

    def step(self, row_id: str) -> Step:
        """The time of the next step, with the reminder or expiry that is due now."""
        approval = self._database.read(lambda session: session.get(Approval, row_id))
        now = self._clock.now()
        if approval is None or approval.phase != ApprovalPhase.ASKED:
            return Step(None)
        return Step(_next_look(approval, now), lambda session: self._save(session, row_id, now))

    def on_failure(self, session: Session, row_id: str, trouble: Trouble) -> None:
        """Nothing to show: no other system is called here."""

    def _save(self, session: Session, row_id: str, now: datetime) -> None:
        approval = session.get_one(Approval, row_id)
        if approval.phase != ApprovalPhase.ASKED:
            return
        if now >= approval.expires_at:
            self._approvals.expire(session, approval, now)
        elif approval.remind_at is not None and now >= approval.remind_at:
            approval.remind_at = None
            self._remind(session, approval, now)

    def _remind(self, session: Session, approval: Approval, now: datetime) -> None:
        channel = self._settings().approvals.channel
        if channel is None:
            return
        waiting = self._approvals.deciders(session, approval)
        note = ThreadMessage("reminder", (_reminder(approval, waiting),))
        post_once(session, subject_of(approval), channel, note, now)


def _next_look(approval: Approval, now: datetime) -> datetime | None:
    moments = [approval.remind_at, approval.expires_at]
    return min((moment for moment in moments if moment and moment > now), default=None)


def _reminder(approval: Approval, waiting: list[str]) -> Markup:
    people = " ".join(person(who) for who in waiting)
    return join(
        people, " this request still waits for a decision until ", when(approval.expires_at), "."
    )
