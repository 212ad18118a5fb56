"""The work queue of the controllers: which row is due when, in one table for all kinds."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, ClassVar, NamedTuple

from sqlalchemy import (
    Index,
    Select,
    and_,
    bindparam,
    case,
    func,
    or_,
    select,
    text,
    update,
)
from sqlmodel import Field, Session, SQLModel, col

from bot.database.columns import Moment, new_id
from bot.database.forgetting import forget_some
from bot.database.prepared import Prepared
from bot.database.topics import touch
from bot.database.upsert import Upsert

TOPIC = "due"
LEASE = timedelta(seconds=90)


class Due(SQLModel, table=True):
    """When a controller next runs a step for a row.

    `due_at` is on the bot's clock and None while the row rests; `wakes` counts the reasons to
    look that came from outside; `token` and `lease_until` (database time) say who is looking.
    `lane` is what the look depends on (a cluster, ARM, a store).
    """

    __tablename__: ClassVar[Any] = "due"
    __table_args__ = (
        Index(
            "ix_due_kind_due_at",
            "kind",
            "due_at",
            postgresql_where=text("due_at IS NOT NULL"),
            sqlite_where=text("due_at IS NOT NULL"),
        ),
    )

    kind: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    lane: str
    due_at: datetime | None = Field(default=None, sa_type=Moment)
    wakes: int = 0
    token: str | None = None
    lease_until: datetime | None = Field(default=None, sa_type=Moment)
    attempts: int = 0


_WAKE = Upsert(Due, ("kind", "id"), lambda new: {"wakes": col(Due.wakes) + 1, "due_at": new.due_at})


@dataclass(frozen=True)
class Claim:
    """The right to take one step with a row; lost when the lease runs out."""

    kind: str
    id: str
    lane: str
    token: str
    wakes: int
    attempts: int


class LostClaimError(Exception):
    """Another process has taken the row over; the result of the step must not be saved."""


def wake(session: Session, kind: str, row_id: str, lane: str, now: datetime) -> None:
    """Makes the row due now; a step in progress is followed by another."""
    _WAKE(session, {"kind": kind, "id": row_id, "lane": lane, "due_at": now, "wakes": 1})
    touch(session, TOPIC)


def change_lane(session: Session, kind: str, row_id: str, lane: str) -> None:
    """Has the next steps of a row depend on something else, such as another cluster."""
    changed = update(Due).where(col(Due.kind) == kind, col(Due.id) == row_id).values(lane=lane)
    session.connection().execute(changed)


@dataclass(frozen=True)
class ClaimQuery:
    """Which rows a process can take now: `busy` counts its steps in progress by lane."""

    kinds: tuple[str, ...]
    most: int
    per_lane: int
    busy: Mapping[str, int] = field(default_factory=dict)

    def room(self, lane: str) -> int:
        """How many more rows of this lane may be taken."""
        return self.per_lane - self.busy.get(lane, 0)


def claim(session: Session, wanted: ClaimQuery, now: datetime, real_now: datetime) -> list[Claim]:
    """Claims the rows that have waited longest, each for one step, within the limit per lane."""
    asked = {
        "now": now,
        "real_now": real_now,
        "kinds": wanted.kinds,
        "full": [lane for lane in wanted.busy if wanted.room(lane) <= 0],
        "per_lane": wanted.per_lane,
        "most": wanted.most,
    }
    taken: Counter[str] = Counter()
    claims = []
    for row in session.connection().execute(_WAITING, asked):
        taken[row.lane] += 1
        if taken[row.lane] <= wanted.room(row.lane):
            claims.append(Claim(row.kind, row.id, row.lane, new_id(), row.wakes, row.attempts))
    if claims:
        until = real_now + LEASE
        held = [{"of": c.kind, "row": c.id, "by": c.token, "until": until} for c in claims]
        session.connection().execute(_TAKE, held)
    return claims


def _waiting() -> Select[str, str, str, int, int]:
    """The longest-waiting rows of each lane with capacity, so that a stuck lane blocks no other."""
    now, real_now = bindparam("now", type_=Moment()), bindparam("real_now", type_=Moment())
    place = func.row_number().over(
        partition_by=col(Due.lane), order_by=(col(Due.due_at), col(Due.id))
    )
    ranked = (
        select(col(Due.kind), col(Due.id), place.label("place"))
        .where(col(Due.due_at) <= now, col(Due.kind).in_(bindparam("kinds", expanding=True)))
        .where(or_(col(Due.lease_until).is_(None), col(Due.lease_until) < real_now))
        .where(col(Due.lane).not_in(bindparam("full", expanding=True)))
        .subquery()
    )
    return (
        select(col(Due.kind), col(Due.id), col(Due.lane), col(Due.wakes), col(Due.attempts))
        .join(ranked, and_(col(Due.kind) == ranked.c.kind, col(Due.id) == ranked.c.id))
        .where(ranked.c.place <= bindparam("per_lane"))
        .order_by(col(Due.due_at), col(Due.id))
        .limit(bindparam("most"))
    )


# Built once: that takes longer than to run them.
_WAITING = _waiting()
_HELD = (col(Due.kind) == bindparam("of"), col(Due.id) == bindparam("row"))
_TAKE = (
    update(Due)
    .where(*_HELD)
    .values(token=bindparam("by"), lease_until=bindparam("until", type_=Moment()))
)
_GIVE_BACK = Prepared(
    update(Due)
    .where(*_HELD, col(Due.token) == bindparam("by"))
    .values(
        due_at=case(
            (col(Due.wakes) == bindparam("seen"), bindparam("again", type_=Moment())),
            else_=bindparam("now", type_=Moment()),
        ),
        token=None,
        lease_until=None,
        attempts=bindparam("tried"),
    )
    .returning(col(Due.wakes) == bindparam("seen"))
)


def settle(session: Session, held: Claim, again: datetime | None, now: datetime) -> None:
    """Gives the row back, due `again` (None: when woken); LostClaimError if it is not ours."""
    _give_back(session, held, again, now, attempts=0)


def back_off(session: Session, held: Claim, again: datetime, now: datetime) -> None:
    """Gives the row back after a failed step; LostClaimError if it is not ours."""
    _give_back(session, held, again, now, attempts=held.attempts + 1)


def _give_back(
    session: Session, held: Claim, again: datetime | None, now: datetime, *, attempts: int
) -> None:
    given = {
        "of": held.kind,
        "row": held.id,
        "by": held.token,
        "seen": held.wakes,
        "again": again,
        "now": now,
        "tried": attempts,
    }
    rows = _GIVE_BACK(session, given).rows
    if len(rows) != 1:
        raise LostClaimError
    was_woken = not rows[0][0]
    # What is due later is found then: to look now would find nothing after most steps.
    if was_woken or (again is not None and again <= now):
        touch(session, TOPIC)


def free_all(session: Session) -> None:
    """Releases every claim; only for a process that is the only one."""
    session.connection().execute(
        update(Due).where(col(Due.token).is_not(None)).values(token=None, lease_until=None)
    )
    touch(session, TOPIC)


def make_all_due(session: Session, now: datetime) -> None:
    """Makes every row that does not rest due, and releases its claim."""
    session.connection().execute(
        update(Due)
        .where(col(Due.due_at).is_not(None))
        .values(due_at=now, token=None, lease_until=None, attempts=0)
    )
    touch(session, TOPIC)


def forget(session: Session) -> None:
    """Deletes rows that rest; waking one inserts it again."""
    forget_some(session, Due, col(Due.due_at).is_(None), col(Due.token).is_(None))


def earliest(session: Session, kinds: tuple[str, ...]) -> datetime | None:
    """When the next row of these kinds is due, None when all of them rest."""
    return session.scalar(
        select(func.min(col(Due.due_at), type_=Moment())).where(
            col(Due.kind).in_(kinds), col(Due.due_at).is_not(None)
        )
    )


def scheduled(session: Session, kind: str) -> dict[str, datetime]:
    """When each row of a kind is due that does not rest."""
    chosen = select(col(Due.id), col(Due.due_at)).where(col(Due.kind) == kind)
    rows = session.connection().execute(chosen)
    return {row_id: due_at for row_id, due_at in rows if due_at is not None}


def lag(session: Session, now: datetime) -> dict[str, timedelta]:
    """How late the most overdue row of each kind is."""
    return {kind: late.longest for kind, late in overdue(session, now, timedelta()).items()}


class Overdue(NamedTuple):
    """How late the most overdue row of a kind is, and how many are overdue for long."""

    longest: timedelta
    rows: int


def overdue(session: Session, now: datetime, for_long: timedelta) -> dict[str, Overdue]:
    """The overdue rows by kind; a kind without any is absent."""
    is_long = col(Due.due_at) <= now - for_long
    chosen = (
        select(
            col(Due.kind),
            func.min(col(Due.due_at), type_=Moment()),
            func.sum(case((is_long, 1), else_=0)),
        )
        .where(col(Due.due_at) <= now)
        .group_by(col(Due.kind))
    )
    rows = session.connection().execute(chosen)
    return {kind: Overdue(now - since, int(count)) for kind, since, count in rows}
