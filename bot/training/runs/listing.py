"""A team's runs as its list shows them: a few columns of many rows, read in one statement."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Select, String, and_, bindparam, cast, func, select, union_all
from sqlmodel import Session, col

from bot.database.columns import moment_of
from bot.database.prepared import Prepared
from bot.people.people import Person
from bot.training.tables import Run, RunPhase, reference

SHOWN_LIVE = 40
SHOWN_ENDED = 10
_MOMENTS = slice(9, 13)


class Listed(NamedTuple):
    """A run in the list: `gpus` are per node, `owner` is a name."""

    name: str
    number: int
    gpus: str
    gpu_type: str
    nodes: str
    phase: str
    wanted: str
    removing: str | None
    place: int | None
    asked_at: datetime
    since: datetime
    started_at: datetime | None
    ended_at: datetime | None
    owner: str
    after: str

    @property
    def reference(self) -> str:
        """The reference of this run, such as `lane#2`."""
        return reference(self.name, self.number)

    @property
    def all_gpus(self) -> str:
        """The GPUs of all its nodes, with their type if one was requested."""
        amount = _product(self.gpus, self.nodes)
        return f"{amount} {self.gpu_type}" if self.gpu_type else amount

    @property
    def waits_for(self) -> str:
        """The runs that it waits for; empty if it does not."""
        if self.phase != RunPhase.AFTER:
            return ""
        return ", ".join(each["run"] for each in msgspec.json.decode(self.after))


class Listing(NamedTuple):
    """The newest live runs, oldest of them first, then those that ended last, newest first.

    `left_out` counts the live runs that are older.
    """

    runs: tuple[Listed, ...]
    left_out: int = 0


def listing(session: Session, team: str) -> Listing:
    """The team's 40 newest live runs, and the ten that ended last."""
    asked = {"team": team}
    rows = [_listed(row) for row in _LISTED(session, asked).rows]
    live = [row for row in rows if row.ended_at is None]
    ended = rows[len(live) :]
    count = len(live)
    if count == SHOWN_LIVE:
        ((count,),) = _COUNTED(session, asked).rows
    return Listing((*reversed(live), *ended), count - len(live))


@lru_cache(maxsize=1024)
def _product(gpus: str, nodes: str) -> str:
    return f"{Decimal(gpus) * int(nodes):f}"


def _listed(row: Sequence[Any]) -> Listed:
    return Listed(*row[: _MOMENTS.start], *map(moment_of, row[_MOMENTS]), *row[_MOMENTS.stop :])


def _first(is_chosen: ColumnElement[bool], order: ColumnElement[Any], most: int) -> Select[Any]:
    """The columns of `Listed`, of the first of the team's runs."""
    is_known = and_(
        col(Person.workspace_id) == col(Run.workspace_id),
        col(Person.user_id) == col(Run.person),
        col(Person.refreshed_at).is_not(None),
    )
    return (
        select(
            col(Run.name),
            col(Run.number),
            _of_spec("gpus", "0"),
            _of_spec("gpu_type", ""),
            _nodes(),
            col(Run.phase),
            col(Run.wanted),
            col(Run.removing),
            col(Run.place),
            col(Run.asked_at),
            col(Run.since),
            col(Run.started_at),
            col(Run.ended_at),
            func.coalesce(func.nullif(col(Person.name), ""), col(Run.person)).label("owner"),
            _of_spec("after", "[]"),
        )
        .outerjoin(Person, is_known)
        .where(col(Run.team) == bindparam("team"), is_chosen)
        .order_by(order)
        .limit(most)
        .subquery()
        .select()
    )


def _nodes() -> ColumnElement[str]:
    """The number of nodes it was scaled to, else the requested one."""
    scaled = cast(func.coalesce(col(Run.size), col(Run.scale_to)), String)
    return func.coalesce(scaled, _of_spec("nodes", "1")).label("nodes")


def _of_spec(field: str, default: str) -> ColumnElement[str]:
    kept = cast(col(Run.spec)[field].as_string(), String)
    return func.coalesce(kept, default).label(field)


_IS_LIVE = col(Run.ended_at).is_(None)
# Built once: that takes longer than to run them.
_LISTED = Prepared(
    union_all(
        _first(_IS_LIVE, col(Run.id).desc(), SHOWN_LIVE),
        _first(~_IS_LIVE, col(Run.ended_at).desc(), SHOWN_ENDED),
    )
)
_COUNTED = Prepared(
    select(func.count()).select_from(Run).where(col(Run.team) == bindparam("team"), _IS_LIVE)
)
