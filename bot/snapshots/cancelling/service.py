"""Cancels restores and clones in progress. Only writes rows; controllers do the rest."""

from datetime import datetime

from sqlmodel import Session, col, select

from bot.audit import Actor, record
from bot.errors import ConflictError, NotAllowedError, NotFoundError
from bot.people.access import Caller, Right
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.slack.messages import refresh_cards
from bot.snapshots import finding
from bot.snapshots.tables import RESTORE, Restore, Revert


def waiting(session: Session, team: str, name: str) -> Restore | Revert:
    """The team's restore or revert of a PVC that has not ended; NotFoundError lists others."""
    live = session.exec(
        select(Restore)
        .where(col(Restore.team) == team, col(Restore.ended_at).is_(None))
        .order_by(col(Restore.id).desc())
    ).all()
    back = finding.all_reverting(session, team)
    named: list[Restore | Revert] = [*live, *back]
    found = next((each for each in named if each.claim_name == name), None)
    if found is not None:
        return found
    known = ", ".join(sorted({each.claim_name for each in named}))
    raise NotFoundError(
        f"{team} has no restore to PVC {name} in progress.",
        f"In progress: {known}." if known else "A PVC that is ready stays until you delete it.",
    )


def get(session: Session, row_id: str) -> Restore:
    """The restore of a button; NotFoundError where there is none."""
    row = session.get(Restore, row_id)
    if row is None:
        raise NotFoundError("This restore no longer exists.")
    return row


def refuse(caller: Caller, row: Restore) -> None:
    """UserError unless the caller may cancel it, and it is not too late."""
    if caller.team != row.team:
        raise NotAllowedError(f"This restore belongs to {row.team}.", "Ask a member of that team.")
    if row.person != caller.person and not caller.may(Right.SNAPSHOT_DELETE_ANY):
        raise NotAllowedError(
            f"<@{row.person}> requested this restore.",
            "They, a lead of the team or an admin can cancel it.",
        )
    if not row.is_live:
        raise ConflictError(f"The restore to PVC {row.claim_name} has already ended: {row.phase}.")
    if row.run_id is not None:
        raise ConflictError(
            f"Run {row.run} is waiting for PVC {row.claim_name}.", "Stop the run instead."
        )


def cancel(session: Session, caller: Caller, row: Restore, now: datetime) -> Restore:
    """Cancels the creation of a PVC; a PVC that already has its volume stays."""
    refuse(caller, row)
    actor = Actor(caller.workspace_id, caller.person, caller.channel, caller.team)
    return _cancel(session, row, caller.person, actor, now)


def cancel_for_run(session: Session, row: Restore, person: str, now: datetime) -> Restore:
    """Cancels the creation of the PVC of a run that has ended; `person` ended the run."""
    actor = Actor(row.workspace_id, person, row.channel, row.team)
    return _cancel(session, row, person, actor, now)


def _cancel(session: Session, row: Restore, person: str, actor: Actor, now: datetime) -> Restore:
    row.cancelled_by, row.obstacle = person, ""
    session.add(row)
    facts = {"pvc": row.claim_name, "from": row.source}
    record(session, actor, "snapshot.cancel", (RESTORE, row.id), facts, at=now)
    refresh_cards(session, row.subject, live=True)
    wake(session, RESTORE, row.id, cluster_lane(row.cluster), now)
    return row
