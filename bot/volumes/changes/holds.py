"""Holds on changes: while a run or a fill uses a volume, its change is not reverted."""

from datetime import datetime, timedelta

from sqlmodel import Session, col, select

from bot import holds
from bot.holds import Hold
from bot.reconcile.due import wake
from bot.volumes.changes.tables import CHANGE, LANE, VolumeChange
from bot.volumes.records import ClaimPlace

CLAIM = "pvc"


def use(session: Session, claim: ClaimPlace, subject: tuple[str, str], why: str) -> None:
    """Records that a subject (kind, id) uses a PVC until it leaves; `why` names it."""
    kind, subject_id = subject
    hold = Hold(
        thing_kind=CLAIM,
        thing_id=_id(claim),
        subject_kind=kind,
        subject_id=subject_id,
        why=why,
    )
    holds.take(session, hold)


def leave(session: Session, subject: tuple[str, str], now: datetime) -> None:
    """Releases all holds of a subject, and wakes the changes that it kept."""
    kind, subject_id = subject
    kept = select(Hold.thing_id).where(
        col(Hold.thing_kind) == CHANGE,
        col(Hold.subject_kind) == kind,
        col(Hold.subject_id) == subject_id,
    )
    changes = session.scalars(kept).all()
    holds.release(session, kind, subject_id)
    for each in changes:
        wake(session, CHANGE, each, LANE, now)


def keep(session: Session, row: VolumeChange, longest: timedelta, now: datetime) -> str:
    """What keeps a change from being reverted now; empty if nothing does.

    Subjects that use its PVC at its end do, at most for `longest`. Later ones do not, so that the
    change is reverted eventually.
    """
    if row.kept_until is None and not row.boosted_id:
        row.kept_until = (row.ends_at or now) + longest
        claim = ClaimPlace(row.cluster, row.namespace, row.claim_name)
        for each in holds.on(session, CLAIM, _id(claim), now):
            found = each.model_dump() | {"thing_kind": CHANGE, "thing_id": row.id}
            holds.take(session, Hold(**found | {"until": row.kept_until}))
        session.flush()
    return kept(session, row, now)


def hold(session: Session, row: VolumeChange, subject: tuple[str, str], why: str) -> None:
    """A subject (kind, id) keeps a change from the start until it leaves."""
    kind, subject_id = subject
    taken = Hold(
        thing_kind=CHANGE, thing_id=row.id, subject_kind=kind, subject_id=subject_id, why=why
    )
    holds.take(session, taken)


def kept(session: Session, row: VolumeChange, now: datetime) -> str:
    """What keeps a change; empty if nothing does."""
    return " and ".join(sorted(each.why for each in holds.on(session, CHANGE, row.id, now)))


def _id(claim: ClaimPlace) -> str:
    return "/".join(claim)
