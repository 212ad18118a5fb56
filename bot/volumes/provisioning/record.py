"""Records the outcome of a step in the row of a pool's request, and posts replies."""

from datetime import datetime

from sqlmodel import Session

from bot.approvals import Approvals
from bot.audit import Actor
from bot.audit import record as audit
from bot.masking import hide_secrets
from bot.reconcile.decisions import UpdateStatus
from bot.reconcile.due import wake
from bot.reconcile.frame import Findings
from bot.slack.markup import Markup, code, join, person, plain, sentence
from bot.slack.messages import ThreadMessage, post_once, refresh_cards
from bot.volumes.pools.controller import KIND as POOLS
from bot.volumes.pools.controller import ROW as ALL_POOLS
from bot.volumes.provisioning.decide import BeginApproved, Begun, Decision, EndPool, PoolObserved
from bot.volumes.provisioning.tables import (
    LANE,
    POOL_REQUEST,
    PoolPhase,
    PoolRequest,
    PoolVerb,
)

PoolFindings = Findings[Decision, PoolObserved]
_UNBEGUN = {
    PoolPhase.DENIED: "was denied",
    PoolPhase.EXPIRED: "was not decided in time",
    PoolPhase.WITHDRAWN: "was withdrawn",
}


class PoolRecorder:
    """Records steps of requests; approvals are used or voided in the same transaction."""

    def __init__(self, approvals: Approvals) -> None:
        self._approvals = approvals

    def record(self, session: Session, row_id: str, phase: str, found: PoolFindings) -> None:
        """Updates the row, and refreshes the card if what it shows has changed.

        Does nothing if the row has changed its phase since it was read.
        """
        row = session.get(PoolRequest, row_id)
        if row is None or row.phase != phase:
            return
        before = _shown(row)
        row.trouble = ""
        match found.decision:
            case BeginApproved():
                self._begin(session, row, found.now)
            case Begun(operation):
                row.operation = operation
            case UpdateStatus(_, obstacle):
                row.obstacle = obstacle
            case EndPool(to, reason, unblock):
                self._end(session, row, EndPool(to, hide_secrets(reason), unblock), found.now)
            case _:
                pass
        session.add(row)
        if _shown(row) != before:
            refresh_cards(session, row.subject, live=row.is_live)

    def _begin(self, session: Session, row: PoolRequest, now: datetime) -> None:
        approval = self._approvals.of(session, POOL_REQUEST, row.id)
        if approval is not None and self._approvals.use(session, approval, row.digest, now):
            row.phase, row.since = PoolPhase.WORKING, now
        refresh_cards(session, row.subject, live=True)

    def _end(self, session: Session, row: PoolRequest, end: EndPool, now: datetime) -> None:
        if end.phase == PoolPhase.FAILED:
            self._approvals.void_for(session, (POOL_REQUEST, row.id), "it has failed", now)
        row.reason, row.unblock = end.reason, end.unblock
        finish(session, row, end.phase, now)


def finish(session: Session, row: PoolRequest, phase: PoolPhase, now: datetime) -> None:
    """Ends a request in a phase, writes the audit line and notifies the requester."""
    row.phase, row.since, row.ended_at = phase, now, now
    row.trouble = row.obstacle = ""
    session.add(row)
    facts = {"pool": row.pool, "account": row.account, "subscription": row.subscription}
    facts |= {"outcome": str(phase)} | ({"reason": row.reason} if row.reason else {})
    actor = Actor(row.workspace_id)
    audit(session, actor, f"anf.pool_{row.verb}_ended", (POOL_REQUEST, row.id), facts, at=now)
    lines = (join(person(row.person), " ", _ended(row)),
             *([sentence(row.unblock)] if row.unblock else ()))  # fmt: skip
    note = ThreadMessage("ended", lines, owner=row.person)
    post_once(session, row.subject, row.channel, note, now)
    refresh_cards(session, row.subject, live=False)
    wake(session, POOLS, ALL_POOLS, LANE, now)


def _ended(row: PoolRequest) -> Markup:
    name, done = code(row.pool), f"{row.verb}d"
    phase = PoolPhase(row.phase)
    if phase in _UNBEGUN:
        said = f" {_UNBEGUN[phase]}. Nothing was changed."
        return join(plain(f"The request to {row.verb} pool "), name, plain(said))
    if phase is PoolPhase.DONE:
        bills = "Azure bills it from now on." if row.verb == PoolVerb.CREATE else "Its bill ends."
        return join("Pool ", name, plain(f" is {done}. {bills}"))
    return join("Pool ", name, plain(f" was not {done}. "), sentence(row.reason))


def _shown(row: PoolRequest) -> tuple[object, ...]:
    """What the card shows."""
    return row.phase, row.since, row.obstacle, row.trouble, row.reason
