"""Runs ranked by GPU usage in a time, and runs whose GPUs are idle now."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import select
from sqlmodel import Session, col

from bot.gpus.amounts import NOTHING, Amounts
from bot.gpus.minutes import Window
from bot.gpus.samples.sums import Who
from bot.gpus.samples.usage import latest, use
from bot.gpus.tables import Series

# A run that is idle for less may be loading its data.
IDLE_FROM = timedelta(minutes=15)


class By(StrEnum):
    """What runs are ranked by: GPU-hours allocated, busy or idle."""

    HOURS = "hours"
    BUSY = "busy"
    IDLE = "idle"


@dataclass(frozen=True)
class Ranked:
    """A workload with its amounts; not only runs of the bot."""

    who: Who
    amounts: Amounts


@dataclass(frozen=True)
class Idle:
    """A workload with `gpus` (in thousandths) that are all idle; `wasted` is their idle time."""

    who: Who
    gpus: int
    since: datetime
    wasted: Amounts


def top(session: Session, window: Window, team: str | None, by: By) -> list[Ranked]:
    """All workloads of one team or of all teams, the most first."""
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
    """Workloads idle for a while, of one team or of all, the most GPU-hours first."""
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
