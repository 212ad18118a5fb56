"""Carries out what was decided for a request: starts the removal, or ends the request."""

from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from bot.approvals import Approval, Approvals
from bot.audit import Actor, record
from bot.database.prepared import savepoint
from bot.errors import OutsideError, UserError
from bot.leftovers.removals.tables import REMOVAL_REQUEST, RemovalKind, RemovalPhase, RemovalRequest
from bot.leftovers.removals.things import Removable, Thing, Things
from bot.leftovers.removals.wording import amounts, kept
from bot.masking import hide_secrets
from bot.people.access import Access, Caller, UnknownPersonError
from bot.people.people import name_of
from bot.slack.markup import Markup, join, person, plain, sentence
from bot.slack.messages import ThreadMessage, post_once, refresh_cards

_ENDS = {
    RemovalPhase.DENIED: "was denied",
    RemovalPhase.EXPIRED: "was not decided in time",
    RemovalPhase.WITHDRAWN: "was withdrawn",
}


@dataclass(frozen=True)
class RemovalRecorder:
    """Starts approved removals for who requested them, by their rights and the facts of today."""

    access: Access
    approvals: Approvals
    things: Things

    def start(self, session: Session, row: RemovalRequest, now: datetime) -> None:
        """Uses the approval and removes the thing, if it is still what was approved."""
        approval = self.approvals.of(session, REMOVAL_REQUEST, row.id)
        if approval is None:
            return
        removable = self.things[RemovalKind(row.kind)]
        try:
            caller = self._caller(session, row, removable)
            thing = removable.find(session, caller, row.value, now)
        except (UnknownPersonError, OutsideError) as error:
            self._hinder(session, row, error.message)
        except UserError as error:
            self._refuse(session, row, approval, error, now)
        else:
            self._use(session, row, caller, thing, now)

    def _use(
        self, session: Session, row: RemovalRequest, caller: Caller, thing: Thing, now: datetime
    ) -> None:
        approval = self.approvals.of(session, REMOVAL_REQUEST, row.id)
        if approval is None:
            return
        changed = _changed(row, thing)
        if changed:
            again = UserError(changed, "Request it again, with what it is now.")
            self._refuse(session, row, approval, again, now)
            return
        row.obstacle = row.trouble = ""
        session.add(row)
        if self.approvals.use(session, approval, row.digest, now):
            try:
                with savepoint(session):
                    self.things[RemovalKind(row.kind)].remove(session, caller, row.value, now)
            except UserError as error:
                self._refuse(session, row, approval, error, now)
            else:
                finish(session, row, RemovalPhase.STARTED, now)
        refresh_cards(session, row.subject, live=False)

    def _caller(self, session: Session, row: RemovalRequest, removable: Removable) -> Caller:
        """The requester with the rights of today; UserError if they may no longer remove it."""
        if row.team:
            caller = self.access.member(session, row.person, row.channel, row.team)
        else:
            caller = self.access.caller(session, row.person, row.channel)
        if not caller.may(removable.right):
            name = name_of(session, row.workspace_id, row.person)
            raise UserError(f"{name} may no longer remove it.")
        return caller

    def _refuse(
        self,
        session: Session,
        row: RemovalRequest,
        approval: Approval,
        why: UserError,
        now: datetime,
    ) -> None:
        self.approvals.void(session, approval, "it was refused", now)
        row.reason = hide_secrets(f"{why.message} {kept(row)}")
        row.unblock = why.hint
        finish(session, row, RemovalPhase.REFUSED, now)

    def _hinder(self, session: Session, row: RemovalRequest, obstacle: str) -> None:
        if row.obstacle != obstacle:
            row.obstacle = obstacle
            session.add(row)
            refresh_cards(session, row.subject, live=False)


def finish(session: Session, row: RemovalRequest, phase: RemovalPhase, now: datetime) -> None:
    """Ends a request, writes the audit line and notifies the requester."""
    row.phase, row.since, row.ended_at = phase, now, now
    row.obstacle = row.trouble = ""
    session.add(row)
    facts = {"kind": row.kind, "name": row.title, "outcome": str(phase)}
    facts |= {"reason": row.reason} if row.reason else {}
    actor = Actor(row.workspace_id, team=row.team or None)
    record(session, actor, "removal.ended", (REMOVAL_REQUEST, row.id), facts, at=now)
    lines = (join(person(row.person), " ", _ended(row)),
             *([sentence(row.unblock)] if row.unblock else ()))  # fmt: skip
    post_once(session, row.subject, row.channel, ThreadMessage("ended", lines, owner=row.person),
              now)  # fmt: skip
    refresh_cards(session, row.subject, live=False)


def _changed(row: RemovalRequest, thing: Thing) -> str:
    """What is no longer as the approvers saw it; empty if all is, or if it is less now."""
    if thing.key != row.thing or thing.title != row.title:
        return f"It is {thing.title} now, and the removal of {row.title} was approved."
    size, cost = thing.size_bytes, thing.cost
    is_larger = size is not None and (row.size_bytes is None or size > row.size_bytes)
    is_dearer = cost is not None and (row.cost is None or cost > row.cost)
    if not is_larger and not is_dearer:
        return ""
    now, before = amounts(size, cost), amounts(row.size_bytes, row.cost)
    return f"It holds or costs more than was approved: {now} now, {before} then."


def _ended(row: RemovalRequest) -> Markup:
    match RemovalPhase(row.phase):
        case RemovalPhase.STARTED:
            return plain(f"The removal of {row.title} was approved, and has started. It is checked"
                         " once more that nothing needs it.")  # fmt: skip
        case RemovalPhase.REFUSED:
            return sentence(row.reason)
        case phase:
            return plain(f"The request to remove {row.title} {_ENDS[phase]}. {kept(row)}")
