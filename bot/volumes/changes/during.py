"""Volumes that a change raises now, or raised until some time in a period."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import and_, or_, select
from sqlmodel import Session, col

from bot.volumes.changes.plan import goes_down
from bot.volumes.changes.tables import ChangeKind, ChangePhase, Direction, VolumeChange
from bot.volumes.wording import throughput


@dataclass(frozen=True)
class Raise:
    """A raised volume: `until` is when that ends, `ended_at` when it has ended.

    `is_returning` while it is being reverted, and `is_kept` while it is kept for a run or a fill.
    If none of the four is set, it is permanent.
    """

    what: str
    person: str
    cost: float | None
    until: datetime | None = None
    ended_at: datetime | None = None
    is_returning: bool = False
    is_kept: bool = False


def raises_during(
    session: Session, teams: Collection[str], times: tuple[datetime, datetime]
) -> list[Raise]:
    """The raised volumes of teams: those that end soonest first, permanent ones last.

    Those that were reverted in the period follow.
    """
    began, ended = times
    is_in_force = or_(
        col(VolumeChange.phase).in_((ChangePhase.HELD, ChangePhase.DONE)),
        and_(
            col(VolumeChange.phase) == ChangePhase.WORKING, col(VolumeChange.leg) == Direction.BACK
        ),
    )
    is_past = and_(
        col(VolumeChange.phase) == ChangePhase.RETURNED,
        col(VolumeChange.ended_at) >= began,
        col(VolumeChange.ended_at) < ended,
    )
    rows = session.scalars(
        select(VolumeChange)
        .where(col(VolumeChange.team).in_(teams), or_(is_in_force, is_past))
        .order_by(col(VolumeChange.id).desc())
    )
    found = [_raise(row) for row in _newest(rows) if _is_up(row)]
    return sorted(found, key=_place)


def _newest(rows: Iterable[VolumeChange]) -> Iterator[VolumeChange]:
    """For each volume the active change, and all that have ended."""
    seen: set[tuple[str, str]] = set()
    for row in rows:
        if row.phase == ChangePhase.RETURNED:
            yield row
        elif (row.cluster, row.pv_name) not in seen:
            seen.add((row.cluster, row.pv_name))
            yield row


def _is_up(row: VolumeChange) -> bool:
    if row.kind == ChangeKind.LEVEL:
        return goes_down(row.target_level, row.source_level)
    return (row.mibps_after or 0) > (row.mibps_before or 0)


def _raise(row: VolumeChange) -> Raise:
    is_held = row.phase == ChangePhase.HELD
    is_kept = is_held and bool(row.kept_for)
    fill = f" for the fill of {row.boosted_name}" if row.boosted_id else ""
    return Raise(
        what=f"{row.namespace}/{row.claim_name} from {_way(row)}{fill}",
        person=row.person,
        cost=row.cost_delta,
        until=(row.not_before or row.ends_at) if is_held and not is_kept else None,
        ended_at=row.ended_at if row.phase == ChangePhase.RETURNED else None,
        is_returning=row.phase == ChangePhase.WORKING,
        is_kept=is_kept,
    )


def _way(row: VolumeChange) -> str:
    if row.kind == ChangeKind.LEVEL:
        return f"{row.source_level} to {row.target_level}"
    return f"{throughput(row.mibps_before)} to {throughput(row.mibps_after)}"


def _place(each: Raise) -> tuple[bool, bool, float, str]:
    is_for_good = each.until is None and not (each.is_returning or each.is_kept)
    moment = each.ended_at or each.until
    return each.ended_at is not None, is_for_good, moment.timestamp() if moment else 0, each.what
