"""Requests to submit runs above a cost limit. Only checks and writes rows."""

from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec
from sqlalchemy import bindparam
from sqlmodel import Session, col, select

from bot.approvals import Approval, Approvals, Request
from bot.approvals.deciding import show_to_deciders
from bot.audit import Actor, record
from bot.config import Settings
from bot.database.prepared import Prepared
from bot.errors import ConflictError, NotAllowedError, NotFoundError
from bot.people.access import Caller, Right
from bot.slack.messages import show_card
from bot.training.placing.limits import CostlyRun, above_words
from bot.training.requests.record import finish
from bot.training.requests.tables import RUN_REQUEST, RequestPhase, RunRequest
from bot.training.templates.candidates import to_rows

POLICY = "run_cost"
_OPEN = col(RunRequest.ended_at).is_(None)
_ANY = Prepared(
    select(RunRequest.id).where(col(RunRequest.team) == bindparam("team"), _OPEN).limit(1)
)


class RunRequestService:
    """The operations that handlers call; each writes in the transaction of the caller.

    The right of a `Caller` to submit runs was checked before.
    """

    def __init__(self, settings: Callable[[], Settings], approvals: Approvals) -> None:
        self._settings = settings
        self._approvals = approvals

    def ask(
        self, session: Session, caller: Caller, asked: CostlyRun, now: datetime
    ) -> tuple[RunRequest, Approval]:
        """Requests an approval of the run's cost.

        Raises:
            ConflictError: the team has an undecided request for a run of that name.
            LimitError: no one else could approve it.
        """
        self._refuse_twice(session, caller.team or "", asked.name)
        row = RunRequest(
            workspace_id=caller.workspace_id,
            team=caller.team or "",
            name=asked.name,
            person=caller.person,
            channel=caller.channel,
            places=to_rows(asked.places),
            costs=[msgspec.to_builtins(each) for each in asked.costs],
            sweep=asked.sweep.columns if asked.sweep else None,
            asked_at=now,
            since=now,
        )
        session.add(row)
        session.flush()
        facts = {"name": row.name, "on": " ".join(each.template for each in asked.places)}
        facts |= {"cost": above_words(asked.costs)}
        actor = Actor(row.workspace_id, row.person, row.channel, row.team)
        record(session, actor, "run.request", (RUN_REQUEST, row.id), facts, at=now)
        show_card(session, row.subject, row.channel, now, live=False, owner=row.person)
        why = f"{row.what} {row.name}, {above_words(asked.costs)}"
        request = Request(RUN_REQUEST, row.id, RUN_REQUEST, POLICY, row.digest, caller, why)
        approval = self._approvals.ask(session, request, now)
        show_to_deciders(session, self._approvals, self._settings(), approval, now)
        return row, approval

    def get(self, session: Session, row_id: str) -> RunRequest:
        """The request of a button; NotFoundError if there is none."""
        row = session.get(RunRequest, row_id)
        if row is None:
            raise NotFoundError("This request no longer exists.", "Submit the run again.")
        return row

    def deciders(self, session: Session, approval: Approval) -> Sequence[str]:
        """The people whose votes the request waits for."""
        return self._approvals.deciders(session, approval)

    def withdraw(self, session: Session, caller: Caller, row: RunRequest, now: datetime) -> None:
        """Withdraws an undecided request: the caller's own, or any for leads and admins."""
        if row.person != caller.person and not caller.may(Right.RUN_STOP_ANY):
            raise NotAllowedError(
                f"<@{row.person}> requested this {row.what}.",
                "They can withdraw it, and so can a lead of the team or an admin.",
            )
        if not row.is_live:
            raise ConflictError(
                f"The request to submit {row.name} has already ended.",
                "Your click changed nothing.",
            )
        self._approvals.void_for(session, (RUN_REQUEST, row.id), "it was withdrawn", now)
        row.withdrawn_by = caller.person
        actor = Actor(caller.workspace_id, caller.person, caller.channel, row.team)
        record(session, actor, "run.withdraw", (RUN_REQUEST, row.id), {"name": row.name}, at=now)
        finish(session, row, RequestPhase.WITHDRAWN, now)

    def waiting(self, session: Session, team: str) -> Sequence[RunRequest]:
        """The undecided requests of a team, the oldest first."""
        if not _ANY(session, {"team": team}).rows:  # the usual case, in a fifth of the time
            return ()
        found = select(RunRequest).where(col(RunRequest.team) == team, _OPEN)
        return session.exec(found.order_by(col(RunRequest.id))).all()

    def _refuse_twice(self, session: Session, team: str, name: str) -> None:
        there = next((each for each in self.waiting(session, team) if each.name == name), None)
        if there is not None:
            raise ConflictError(
                f"<@{there.person}> already requested to submit {name}; it waits for an approval.",
                f"Its card in <#{there.channel}> shows it. Withdraw it there, or choose another"
                " name.",
            )
