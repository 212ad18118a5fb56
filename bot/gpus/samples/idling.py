"""Tracks since when all GPUs of a series have been idle."""

from collections.abc import Collection, Mapping
from datetime import datetime

from sqlalchemy import bindparam, select, update
from sqlmodel import Session, col

from bot.gpus.amounts import Amounts
from bot.gpus.minutes import moment_of
from bot.gpus.tables import Series, What

_HELD = (What.RUN, What.OTHER)
_CHANGE = (
    update(Series).where(col(Series.id) == bindparam("of")).values(idle_since=bindparam("since"))
)


def follow(
    session: Session, cluster: str, minutes: range, known: Mapping[int, Mapping[int, Amounts]]
) -> None:
    """Updates `idle_since` of each series from these minutes; unknown counts as busy."""
    before = _idle_now(session, cluster)
    since: dict[int, datetime | None] = dict(before)
    for minute in minutes:
        entries = known.get(minute, {})
        for series in since.keys() - entries.keys():
            since[series] = None
        for series, amounts in entries.items():
            if is_idle(amounts):
                since[series] = since.get(series) or moment_of(minute)
            elif series in since:
                since[series] = None
    changed = [
        {"of": series, "since": moment}
        for series, moment in since.items()
        if moment != before.get(series)
    ]
    if changed:
        session.connection().execute(_CHANGE, changed)


def is_idle(amounts: Amounts) -> bool:
    """Whether all GPUs that were held were measured as idle."""
    return 0 < amounts.allocated == amounts.measured == amounts.idle


def held_of(session: Session, series: Collection[int]) -> set[int]:
    """The series among these whose pods hold GPUs."""
    chosen = select(col(Series.id)).where(col(Series.what).in_(_HELD))
    found = session.connection().execute(chosen.where(col(Series.id).in_(series)))
    return {each for (each,) in found if each is not None}


def _idle_now(session: Session, cluster: str) -> dict[int, datetime | None]:
    chosen = select(col(Series.id), col(Series.idle_since)).where(
        col(Series.cluster) == cluster,
        col(Series.idle_since).is_not(None),
        col(Series.what).in_(_HELD),
    )
    rows = session.connection().execute(chosen)
    return {series: moment for series, moment in rows if series is not None}
