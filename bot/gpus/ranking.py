"""Whose GPUs did how much: of all runs in a time, and of those that do nothing at the moment."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import select
from sqlmodel import Session, col

from bot.gpus.amounts import NOTHING, Amounts
from bot.gpus.minutes import Window
from bot.gpus.sums import Who
from bot.gpus.tables import Series
from bot.gpus.usage import latest, use

# What does nothing for less may be loading its data.
IDLE_FROM = timedelta(minutes=15)


class By(StrEnum):
    """What ranks runs: hours of GPUs held, busy, or with nothing on them."""

    HOURS = "hours"
    BUSY = "busy"
    IDLE = "idle"


@dataclass(frozen=True)
class Ranked:
    """A run, or what others started, with what it came to."""

    who: Who
    amounts: Amounts


@dataclass(frozen=True)
class Idle:
    """What holds `gpus` (in thousandths) that all do nothing since a while; `wasted` are those."""

    who: Who
    gpus: int
    since: datetime
    wasted: Amounts


def top(session: Session, window: Window, team: str | None, by: By) -> list[Ranked]:
    """Runs and what others started, those of one team or all, the most first."""
    found: dict[tuple[str, ...], Ranked] = {}
    for part in use(session, window).parts:
        if team is None or part.series.team == team:
            key = _key(part.series)
            before = found[key].amounts if key in found else NOTHING
            found[key] = Ranked(part.series, before + part.amounts)
    ranks = {By.HOURS: "allocated", By.BUSY: "busy", By.IDLE: "idle"}
    return sorted(
        found.values(), key=lambda each: (-getattr(each.amounts, ranks[by]), each.who.name)
    )


def idle(session: Session, clusters: Sequence[str], team: str | None, now: datetime) -> list[Idle]:
    """What does nothing for a while, of one team or of all, the most GPU-hours first."""
    chosen = select(col(Series.id)).where(col(Series.idle_since).is_not(None))
    ids = set(session.connection().execute(chosen).scalars())
    held = {
        part.series.id: part
        for cluster in clusters
        for part in (latest(session, cluster).parts if ids else ())
        if part.series.id in ids and (team is None or part.series.team == team)
    }
    found = []
    for part in held.values():
        since = part.series.idle_since
        if since is not None and now - since >= IDLE_FROM:
            wasted = Amounts(_minutes(now - since) * part.amounts.allocated)
            found.append(Idle(part.series, part.amounts.allocated, since, wasted))
    return sorted(found, key=lambda each: (-each.wasted.allocated, each.who.name))


def _key(who: Who) -> tuple[str, ...]:
    return (who.run_id,) if who.run_id else (who.cluster, who.namespace, who.name)


def _minutes(length: timedelta) -> int:
    return int(length.total_seconds()) // 60
