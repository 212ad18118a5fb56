"""Requests removals above a limit. Only checks and writes rows; the controller does the rest."""

from collections.abc import Callable, Sequence
from datetime import datetime

from sqlmodel import Session, col, select

from bot.approvals import Approval, Approvals, Request
from bot.approvals.deciding import show_to_deciders
from bot.audit import Actor, record
from bot.config import Settings
from bot.errors import ConflictError, NotAllowedError, NotFoundError
from bot.leftovers.removals.record import finish
from bot.leftovers.removals.tables import REMOVAL_REQUEST, RemovalKind, RemovalPhase, RemovalRequest
from bot.leftovers.removals.things import Thing, Things
from bot.leftovers.removals.wording import held
from bot.people.access import Caller, Role
from bot.slack.messages import show_card

POLICY = "removal"


class RemovalService:
    """The service that handlers call; each method writes in the caller's transaction.

    The right of a `Caller` to remove the thing was checked before.
    """

    def __init__(
        self, settings: Callable[[], Settings], approvals: Approvals, things: Things
    ) -> None:
        self._settings = settings
        self._approvals = approvals
        self._things = things

    def above(
        self, session: Session, caller: Caller, kind: RemovalKind, value: str, now: datetime
    ) -> Thing | None:
        """The thing of a button's value if its removal needs an approval; None if not.

        UserError if it cannot be removed at all, or if nobody else could approve that.
        """
        limit = self._settings().leftovers
        if not limit.has_limit:
            return None
        thing = self._things[kind].find(session, caller, value, now)
        if not limit.needs_approval(thing.size_bytes, thing.cost):
            return None
        self._refuse_twice(session, kind, thing)
        self._approvals.foresee(session, POLICY, caller)
        return thing

    def ask(
        self, session: Session, caller: Caller, kind: RemovalKind, value: str, now: datetime
    ) -> tuple[RemovalRequest, Approval] | None:
        """Requests a removal that needs an approval; None if it needs none.

        Raises what `above` raises.
        """
        thing = self.above(session, caller, kind, value, now)
        if thing is None:
            return None
        row = _row(caller, kind, value, thing, now)
        session.add(row)
        session.flush()
        facts = {"kind": row.kind, "name": row.title, "place": row.place}
        facts |= {"holds": held(row.size_bytes, row.cost)}
        actor = Actor(row.workspace_id, row.person, row.channel, row.team or None)
        record(session, actor, "removal.request", (REMOVAL_REQUEST, row.id), facts, at=now)
        show_card(session, row.subject, row.channel, now, live=False, owner=row.person)
        why = f"remove {row.title}, which {held(row.size_bytes, row.cost)}"
        request = Request(REMOVAL_REQUEST, row.id, REMOVAL_REQUEST, POLICY, row.digest, caller, why)
        approval = self._approvals.ask(session, request, now)
        show_to_deciders(session, self._approvals, self._settings(), approval, now)
        return row, approval

    def get(self, session: Session, row_id: str) -> RemovalRequest:
        """The request of a button; NotFoundError if there is none."""
        row = session.get(RemovalRequest, row_id)
        if row is None:
            raise NotFoundError("This request no longer exists.", "Request the removal again.")
        return row

    def deciders(self, session: Session, approval: Approval) -> Sequence[str]:
        """The people whose votes the request waits for."""
        return self._approvals.deciders(session, approval)

    def withdraw(
        self, session: Session, caller: Caller, row: RemovalRequest, now: datetime
    ) -> None:
        """Withdraws an undecided request: the caller's own, or any for leads and admins."""
        if row.person != caller.person and caller.roles.isdisjoint({Role.LEAD, Role.ADMIN}):
            raise NotAllowedError(
                f"<@{row.person}> requested this removal.",
                "They can withdraw it, and so can a lead of the team or an admin.",
            )
        if not row.is_live:
            raise ConflictError(
                f"The request to remove {row.title} has already ended.",
                "Your click changed nothing.",
            )
        self._approvals.void_for(session, (REMOVAL_REQUEST, row.id), "it was withdrawn", now)
        row.withdrawn_by = caller.person
        actor = Actor(caller.workspace_id, caller.person, caller.channel, row.team or None)
        facts = {"kind": row.kind, "name": row.title}
        record(session, actor, "removal.withdraw", (REMOVAL_REQUEST, row.id), facts, at=now)
        finish(session, row, RemovalPhase.WITHDRAWN, now)

    def _refuse_twice(self, session: Session, kind: RemovalKind, thing: Thing) -> None:
        there = session.exec(
            select(RemovalRequest).where(
                col(RemovalRequest.kind) == kind,
                col(RemovalRequest.thing) == thing.key,
                col(RemovalRequest.ended_at).is_(None),
            )
        ).first()
        if there is not None:
            raise ConflictError(
                f"<@{there.person}> already requested to remove {there.title}; it waits for an"
                " approval.",
                f"Its card in <#{there.channel}> shows it.",
            )


def _row(
    caller: Caller, kind: RemovalKind, value: str, thing: Thing, now: datetime
) -> RemovalRequest:
    return RemovalRequest(
        workspace_id=caller.workspace_id,
        team=caller.team or "",
        kind=kind,
        thing=thing.key,
        value=value,
        title=thing.title,
        place=thing.place,
        size_bytes=thing.size_bytes,
        cost=thing.cost,
        person=caller.person,
        channel=caller.channel,
        asked_at=now,
        since=now,
    )
