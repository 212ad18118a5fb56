"""Sums the amounts of series: whole hours from hourly rows, the rest from samples.

A slot (one minute, five minutes or an hour, whichever is kept) counts in the time in which it
begins, so consecutive times add up.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import func, select
from sqlmodel import Session, col

from bot.gpus.amounts import NOTHING, Amounts
from bot.gpus.minutes import PER_HOUR
from bot.gpus.samples.packing import add_up, unpack
from bot.gpus.tables import FIVE_MINUTES, MINUTE, Hour, Sample, Sampling, Series

Sums = dict[int, Amounts]


class Who(NamedTuple):
    """The owner of a series, on GPUs of one type in one node pool: `Series` as it is read."""

    id: int
    what: str
    cluster: str
    team: str
    person: str
    run_id: str
    namespace: str
    name: str
    gpu_type: str
    pool: str
    datasets: str
    idle_since: datetime | None


# The number of parameters that every database accepts in one statement.
_AT_ONCE = 1_000
_COLUMNS = tuple(
    col(getattr(Hour, name))
    for name in ("allocated", "measured", "busy", "idle", "memory_used", "memory_total")
)
_SUMS = tuple(func.sum(each) for each in _COLUMNS)


def sums(session: Session, minutes: range) -> Sums:
    """The amounts of each series in these minutes, by its id."""
    first, last = -(-minutes.start // PER_HOUR), minutes.stop // PER_HOUR
    if first > last:
        return _edge(session, minutes)
    found = _hourly(session, range(first, last))
    for more in (
        _edge(session, range(minutes.start, first * PER_HOUR)),
        _edge(session, range(last * PER_HOUR, minutes.stop)),
        *_not_rolled(session, range(first, last)),
    ):
        for series, amounts in more.items():
            found[series] = found.get(series, NOTHING) + amounts
    return found


def slots(
    session: Session, state: Sampling, minutes: range, step: int
) -> Iterator[tuple[int, Mapping[int, Amounts]]]:
    """The first minute of each slot of a cluster, with the amounts of its series.

    Slots are at most `step` minutes long, unless only longer ones are still kept.
    """
    rolled = range(minutes.start, min(minutes.stop, state.rolled * PER_HOUR))
    length = _kept(state, minutes.start, step)
    if length is None:
        yield from _hours(session, state.cluster, rolled)
    else:
        yield from _samples(session, state.cluster, rolled, length)
    later = range(max(minutes.start, state.rolled * PER_HOUR), minutes.stop)
    yield from _samples(session, state.cluster, later, MINUTE)


def whole_hours(session: Session, cluster: str, minutes: range) -> dict[int, dict[str, int]]:
    """The total of each kind of series, by the first minute of each hour.

    Hours that are not summed up yet are absent.
    """
    rows = session.connection().execute(
        select(col(Hour.hour), col(Series.what), func.sum(col(Hour.allocated)))
        .join(Series, col(Series.id) == col(Hour.series))
        .where(
            col(Series.cluster) == cluster,
            col(Hour.hour) >= -(-minutes.start // PER_HOUR),
            col(Hour.hour) < -(-minutes.stop // PER_HOUR),
        )
        .group_by(col(Hour.hour), col(Series.what))
    )
    found: dict[int, dict[str, int]] = {}
    for hour, what, amount in rows:
        found.setdefault(hour * PER_HOUR, {})[what] = int(amount)
    return found


def series(session: Session, chosen: Collection[int]) -> dict[int, Who]:
    """The owners of the series with these ids."""
    ids = sorted(chosen)
    columns = select(*(getattr(Series, each) for each in Who._fields))
    found: dict[int, Who] = {}
    for first in range(0, len(ids), _AT_ONCE):
        some = columns.where(col(Series.id).in_(ids[first : first + _AT_ONCE]))
        for row in session.connection().execute(some):
            who = Who(*row)
            found[who.id] = who
    return found


def packed(session: Session, cluster: str, minutes: range, step: int) -> Sequence[bytes]:
    """The packed samples of a cluster that begin in these minutes, in order."""
    return [each.entries for each in _rows(session, cluster, minutes, step)]


def samples(session: Session, cluster: str, minutes: range) -> Sequence[tuple[int, bytes, bool]]:
    """The samples of a cluster in these minutes: minute, packed entries, whether measured."""
    rows = _rows(session, cluster, minutes, MINUTE)
    return [(each.minute, each.entries, each.is_measured) for each in rows]


def _rows(session: Session, cluster: str, minutes: range, step: int) -> Sequence[Any]:
    columns = (col(Sample.minute), col(Sample.entries), col(Sample.is_measured))
    chosen = (
        select(*columns)
        .where(
            col(Sample.cluster) == cluster,
            col(Sample.step) == step,
            col(Sample.minute) >= minutes.start,
            col(Sample.minute) < minutes.stop,
        )
        .order_by(col(Sample.minute))
    )
    return session.connection().execute(chosen).all() if minutes else ()


def _samples(
    session: Session, cluster: str, minutes: range, step: int
) -> Iterator[tuple[int, Mapping[int, Amounts]]]:
    for each in _rows(session, cluster, minutes, step):
        yield each.minute, unpack(each.entries)


def _hours(
    session: Session, cluster: str, minutes: range
) -> Iterator[tuple[int, Mapping[int, Amounts]]]:
    chosen = (
        select(col(Hour.hour), col(Hour.series), *_COLUMNS)
        .join(Series, col(Series.id) == col(Hour.series))
        .where(
            col(Series.cluster) == cluster,
            col(Hour.hour) >= -(-minutes.start // PER_HOUR),
            col(Hour.hour) < -(-minutes.stop // PER_HOUR),
        )
        .order_by(col(Hour.hour))
    )
    found: dict[int, dict[int, Amounts]] = {}
    for hour, which, *row in session.connection().execute(chosen):
        found.setdefault(hour, {})[which] = Amounts(*row)
    for hour, amounts in found.items():
        yield hour * PER_HOUR, amounts


def _hourly(session: Session, chosen: range) -> Sums:
    if not chosen:
        return {}
    rows = session.connection().execute(
        select(col(Hour.series), *_SUMS)
        .where(col(Hour.hour) >= chosen.start, col(Hour.hour) < chosen.stop)
        .group_by(col(Hour.series))
    )
    return {which: Amounts(*map(int, row)) for which, *row in rows}


def _not_rolled(session: Session, chosen: range) -> Iterator[Sums]:
    """The amounts of the hours among these that are not summed up yet."""
    for state in session.scalars(select(Sampling)).all():
        begun = max(state.rolled, chosen.start)
        if begun < chosen.stop:
            minutes = range(begun * PER_HOUR, chosen.stop * PER_HOUR)
            yield add_up(packed(session, state.cluster, minutes, MINUTE))


def _edge(session: Session, minutes: range) -> Sums:
    """The amounts of a part of an hour, from the finest samples kept for each cluster."""
    found: Sums = {}
    coarse: set[str] = set()
    for state in session.scalars(select(Sampling)).all() if minutes else ():
        step = _kept(state, minutes.start, MINUTE)
        if step is None:
            coarse.add(state.cluster)
        else:
            found |= add_up(packed(session, state.cluster, minutes, step))
    hour = minutes.start // PER_HOUR
    if coarse and hour * PER_HOUR in minutes:
        whole = _hourly(session, range(hour, hour + 1))
        known = series(session, whole)
        found |= {each: whole[each] for each in known if known[each].cluster in coarse}
    return found


def _kept(state: Sampling, minute: int, step: int) -> int | None:
    """The length of the shortest slots that fit `step` and are kept from a minute on.

    None means whole hours.
    """
    if step < FIVE_MINUTES and state.minutes_from <= minute:
        return MINUTE
    if step < PER_HOUR and state.fives_from <= minute:
        return FIVE_MINUTES
    return None
