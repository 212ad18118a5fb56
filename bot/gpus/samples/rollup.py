"""Stores samples by minute, and rolls them up to five minutes and hours after each hour."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, insert
from sqlmodel import Session, col

from bot.config import Gpus
from bot.database.prepared import connection_of
from bot.database.upsert import Upsert
from bot.gpus.amounts import Amounts
from bot.gpus.minutes import PER_HOUR
from bot.gpus.samples.faults import forget_faults
from bot.gpus.samples.packing import add_up, pack
from bot.gpus.samples.pods import forget_pods
from bot.gpus.samples.sums import packed, samples
from bot.gpus.tables import FIVE_MINUTES, MINUTE, Hour, Sample, Sampling

_MINUTE = timedelta(minutes=1)
_LONGEST_OPEN_HOURS = 3
# Older minutes are never queried.
_PODS_KEPT = timedelta(days=8)
_UPSERT = Upsert(
    Sample,
    ("cluster", "step", "minute"),
    lambda new: {"entries": new.entries, "is_measured": new.is_measured},
)
_COLUMNS = ("allocated", "measured", "busy", "idle", "memory_used", "memory_total")


def begin(session: Session, cluster: str, minute: int) -> Sampling:
    """The sampling state of a cluster; created at this minute if there is none."""
    state = session.get(Sampling, cluster)
    if state is None:
        hour = minute // PER_HOUR
        floor = hour * PER_HOUR
        state = Sampling(
            cluster=cluster,
            rolled=hour,
            measured=minute,
            settled=minute,
            minutes_from=floor,
            fives_from=floor,
        )
        session.add(state)
        session.flush()
    return state


def keep(
    session: Session,
    cluster: str,
    minute: int,
    entries: Mapping[int, Amounts],
    *,
    is_measured: bool = False,
) -> None:
    """Stores the amounts of a cluster's series in a minute, replacing earlier ones."""
    _put(session, cluster, MINUTE, minute, entries, is_measured=is_measured)


def come_to(session: Session, cluster: str, minute: int, kept: Gpus, *, is_asked: bool) -> None:
    """Sums up completed hours once their usage is known, and deletes old samples.

    Without a source of metrics this happens at once. If the source does not respond, it happens a
    few hours later, and again when figures arrive.
    """
    state = begin(session, cluster, minute)
    if not is_asked:
        state.measured = state.settled = minute
    hour = minute // PER_HOUR
    until = min(hour, max(state.measured // PER_HOUR, hour - _LONGEST_OPEN_HOURS))
    if until > state.rolled:
        roll_up(session, state, until)
        spans = (kept.keep_minutes, kept.keep_five_minutes, kept.keep_hours)
        forget(session, state, [minute - int(span / _MINUTE) for span in spans])
        forget_pods(session, minute - int(_PODS_KEPT / _MINUTE), minute)
        forget_faults(session, minute - int(kept.keep_five_minutes / _MINUTE))
    session.add(state)


def roll_up(session: Session, state: Sampling, until: int) -> None:
    """Sums up the completed hours before `until`, counted from 1970."""
    again(session, state.cluster, range(state.rolled, until))
    state.rolled = max(state.rolled, until)
    session.add(state)


def again(session: Session, cluster: str, hours: Iterable[int]) -> None:
    """Sums up hours from their minutes again, replacing the earlier sums."""
    for hour in hours:
        minutes = range(hour * PER_HOUR, (hour + 1) * PER_HOUR)
        whole = add_up(packed(session, cluster, minutes, MINUTE))
        _roll_fives(session, cluster, minutes)
        if whole:
            _replace(session, hour, whole)


def forget(session: Session, state: Sampling, floors: Sequence[int]) -> None:
    """Deletes samples of single minutes, of five minutes and of hours before these minutes.

    What is not summed up yet is kept.
    """
    edge = state.rolled * PER_HOUR
    minutes, fives, hours = (min(each // PER_HOUR * PER_HOUR, edge) for each in floors)
    state.minutes_from = max(state.minutes_from, minutes)
    state.fives_from = max(state.fives_from, fives)
    session.add(state)
    for step, floor in ((MINUTE, state.minutes_from), (FIVE_MINUTES, state.fives_from)):
        session.connection().execute(
            delete(Sample).where(
                col(Sample.cluster) == state.cluster,
                col(Sample.step) == step,
                col(Sample.minute) < floor,
            )
        )
    session.connection().execute(delete(Hour).where(col(Hour.hour) < hours // PER_HOUR))


def _roll_fives(session: Session, cluster: str, minutes: range) -> None:
    found: dict[int, list[bytes]] = {}
    measured: set[int] = set()
    for minute, sample, is_measured in samples(session, cluster, minutes):
        place = minute // FIVE_MINUTES * FIVE_MINUTES
        found.setdefault(place, []).append(sample)
        if is_measured:
            measured.add(place)
    for place, several in found.items():
        five = add_up(several)
        _put(session, cluster, FIVE_MINUTES, place, five, is_measured=place in measured)


def _put(
    session: Session,
    cluster: str,
    step: int,
    minute: int,
    entries: Mapping[int, Amounts],
    *,
    is_measured: bool,
) -> None:
    _UPSERT(
        session,
        {
            "cluster": cluster,
            "step": step,
            "minute": minute,
            "entries": pack(entries),
            "is_measured": is_measured,
        },
    )


def _replace(session: Session, hour: int, whole: Mapping[int, Amounts]) -> None:
    connection = connection_of(session)
    connection.execute(
        delete(Hour).where(col(Hour.hour) == hour, col(Hour.series).in_(list(whole)))
    )
    rows: list[dict[str, Any]] = [
        {"hour": hour, "series": each, **dict(zip(_COLUMNS, amounts, strict=True))}
        for each, amounts in whole.items()
    ]
    connection.execute(insert(Hour), rows)
