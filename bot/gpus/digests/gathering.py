"""Gathers the figures of a digest: sums of samples, and figures from other areas."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from math import ceil
from statistics import median

import msgspec
from sqlmodel import Session

from bot.config import Settings
from bot.datasets.usage.service import UsageService
from bot.errors import ConflictError
from bot.gpus.amounts import WHOLE
from bot.gpus.digests.charting import day_figures, hour_figures
from bot.gpus.digests.figures import (
    Caches,
    Changed,
    Faulty,
    Figures,
    GpuShare,
    Idle,
    Queue,
    Raised,
    TeamFigures,
)
from bot.gpus.digests.plans import days_until, local_date
from bot.gpus.digests.tables import Period
from bot.gpus.minutes import Window, moment_of
from bot.gpus.samples.faults import faults_in
from bot.gpus.samples.sums import Who
from bot.gpus.samples.usage import Amounts, SeriesUsage, WindowUsage, grouped, latest, together, use
from bot.gpus.sources.source import FaultKind
from bot.gpus.tables import GpuFault
from bot.people.people import name_of
from bot.quotas.overrides.during import overrides_during
from bot.quotas.wording import title
from bot.training.records.daily import Daily, daily, runs_by_id
from bot.volumes.changes.service import raises_during

_MOST_IDLE = 5
_MOST_OVERRIDES = 5
_LEAST_IDLE_HOURS = Decimal(1)
_DAYS = {Period.DAY: 1, Period.WEEK: 7}
# The most common XIDs, as NVIDIA describes them; the application often causes the first four.
_XIDS = {
    13: "application error",
    31: "invalid memory access by an application",
    43: "an application was stopped",
    45: "an application was terminated",
    48: "uncorrectable memory error",
    63: "a memory row is remapped",
    64: "a memory row could not be remapped",
    74: "NVLink error",
    79: "the GPU has fallen off the bus",
    94: "contained memory error",
    95: "uncontained memory error",
    119: "the GPU firmware does not respond",
}


@dataclass(frozen=True)
class DigestScope:
    """The contents of a digest: its time, its team (None is all teams) and its sections."""

    window: Window
    period: Period
    time_zone: str
    team: str | None
    sections: frozenset[str]


class Gathering:
    """Gathers the figures in one read of the database; makes no other calls."""

    def __init__(self, settings: Callable[[], Settings], caches: UsageService) -> None:
        self._settings = settings
        self._caches = caches

    def figures(self, session: Session, scope: DigestScope, now: datetime) -> Figures:
        """The figures of that time, as far as they are known now."""
        settings = self._settings()
        teams = frozenset([scope.team] if scope.team else settings.teams)
        day = _day_after(scope)
        found = use(session, scope.window)
        mine = found.of_team(scope.team) if scope.team else found
        runs = daily(session, teams, scope.window.begun, scope.window.ended, now)
        has = scope.sections.__contains__
        return Figures(
            is_whole=scope.period == Period.WEEK,
            capacity=_float(found.capacity_gpu_hours),
            gpus=gpus_on_average(found),
            share=_share(found),
            before=_share(use(session, _before(scope, _DAYS[scope.period]))),
            mean=_share(use(session, _before(scope, _DAYS[Period.WEEK]))),
            sampled=_sampled(found, settings),
            known=mine.held.known,
            quoted=mine.quotas_known if has("teams") else None,
            currency=settings.training.prices.currency,
            troubles=_troubles(session, settings),
            free=_free(session, settings),
            teams=_teams(mine, settings, teams) if has("teams") else (),
            idle=self._idle(session, mine, teams) if has("idle") else (),
            idle_hours=_float(mine.held.idle_gpu_hours) if has("idle") else None,
            queue=_queue(runs) if has("queue") else None,
            preemptions=runs.preemptions if has("failures") else (),
            failures=runs.failures if has("failures") else (),
            hardware=hardware(session, scope.window) if has("hardware") and not scope.team else (),
            overrides=_overrides(session, scope, teams) if has("overrides") else (),
            caches=self._kept(session, scope.team, now) if has("caches") else None,
            raised=self._raised(session, scope, teams) if has("anf") else (),
            days=day_figures(session, day, scope.time_zone, teams) if has("days") else None,
            hours=hour_figures(session, day, scope.time_zone) if has("hours") else None,
        )

    def _idle(
        self, session: Session, found: WindowUsage, teams: frozenset[str]
    ) -> tuple[Idle, ...]:
        """The workloads with the most idle GPU-hours, the most first."""
        by_owner: dict[tuple[str, ...], list[SeriesUsage]] = {}
        for part in found.parts:
            if part.series.team in teams:
                by_owner.setdefault(_owner_key(part.series), []).append(part)
        rows = sorted(
            by_owner.values(), key=lambda each: (-together(each).idle, each[0].series.name)
        )
        runs = runs_by_id(session, [each[0].series.run_id for each in rows])
        found_rows = []
        for parts in rows:
            idle = together(parts).idle_gpu_hours
            if idle is None or idle < _LEAST_IDLE_HOURS:
                continue
            series, run = parts[0].series, runs.get(parts[0].series.run_id)
            is_live = run is not None and run.is_live
            found_rows.append(
                Idle(
                    name=run.reference if run else series.name,
                    team=series.team,
                    owner=self._owner(session, series),
                    hours=float(idle),
                    held=float(together(parts).gpu_hours),
                    known=together(parts).known,
                    since=_since(parts) if is_live or run is None else None,
                    run_id=run.id if run and is_live else "",
                    unowned="" if series.run_id or series.person else str(series.id),
                )
            )
        return tuple(found_rows[:_MOST_IDLE])

    def _owner(self, session: Session, series: Who) -> str:
        return self._name(session, series.person) if series.person else ""

    def _name(self, session: Session, person: str) -> str:
        return name_of(session, self._settings().workspace, person)

    def _raised(
        self, session: Session, scope: DigestScope, teams: frozenset[str]
    ) -> tuple[Raised, ...]:
        """Volumes whose level or throughput is raised, or was raised during that time."""
        rows = raises_during(session, teams, scope.window.begun, scope.window.ended)
        return tuple(
            Raised(
                what=row.what,
                owner=self._name(session, row.person),
                cost=row.cost,
                until=row.until,
                ended=row.ended_at,
                is_returning=row.is_returning,
                is_kept=row.is_kept,
            )
            for row in rows
        )

    def _kept(self, session: Session, team: str | None, now: datetime) -> Caches | None:
        try:
            usage = self._caches.usage(session, team, now)
        except ConflictError:
            return None
        if not usage.going:
            return None
        first = usage.going[0]
        return Caches(
            len(usage.going),
            sum(each.cache.size_bytes for each in usage.going),
            first.cache.reference if first.at else "",
            first.at,
        )


def _owner_key(who: Who) -> tuple[str, ...]:
    """What identifies a workload: its series on different types of nodes have the same key."""
    return (who.run_id,) if who.run_id else (who.cluster, who.namespace, who.name)


def _share(found: WindowUsage) -> GpuShare:
    """The allocated share of all GPUs, and the busy share of the measured ones."""
    held, there = found.held, together(found.nodes)
    allocated = held.allocated / there.allocated if there.allocated else None
    return GpuShare(allocated, held.efficiency)


def gpus_on_average(found: WindowUsage) -> float | None:
    """The average number of GPUs; each cluster counts over the time that it was sampled."""
    by_cluster = grouped(found.nodes, lambda each: each.cluster)
    counts = [
        amounts.allocated / WHOLE / (found.sampled[cluster] * len(found.window.minutes))
        for cluster, amounts in by_cluster.items()
        if found.sampled.get(cluster)
    ]
    return sum(counts) if counts and len(found.window.minutes) else None


def _sampled(found: WindowUsage, settings: Settings) -> dict[str, float]:
    return {name: found.sampled.get(name, 0.0) for name in settings.clusters}


def _troubles(session: Session, settings: Settings) -> tuple[str, ...]:
    return tuple(
        trouble for name in settings.clusters if (trouble := latest(session, name).trouble)
    )


def _free(session: Session, settings: Settings) -> float | None:
    """Free GPUs on schedulable nodes; None if a cluster has no sample."""
    now = [latest(session, name) for name in settings.clusters]
    if any(each.sampled_at is None for each in now):
        return None
    held = sum(together(each.parts).allocated for each in now)
    return max(sum(together(each.ready).allocated for each in now) - held, 0) / WHOLE


def _teams(
    found: WindowUsage, settings: Settings, teams: frozenset[str]
) -> tuple[TeamFigures, ...]:
    held = found.by(lambda series: series.team)
    quota, borrowed = found.quota_by_team(), found.borrowed_by_team()
    prices = settings.training.prices.per_gpu_hour
    own = {name: found.of_team(name) for name in teams}
    shown = [name for name in held if name in teams]
    shown += sorted(name for name in teams - held.keys() if quota.get(name))
    return tuple(
        msgspec.structs.replace(
            _team(name, held.get(name, Amounts()), quota.get(name), borrowed.get(name)),
            **_cost(own[name].parts, prices),
            quoted=own[name].quotas_known,
        )
        for name in shown
    )


def _team(
    name: str,
    amounts: Amounts,
    quota: Decimal | None,
    borrowed: Decimal | None,
) -> TeamFigures:
    return TeamFigures(
        team=name,
        used=float(amounts.gpu_hours),
        quota=_float(quota),
        borrowed=_float(borrowed),
        busy=_float(amounts.busy_gpu_hours),
        efficiency=amounts.efficiency,
        known=amounts.known,
    )


def _cost(parts: Iterable[SeriesUsage], prices: Mapping[str, Decimal]) -> dict[str, float | None]:
    """The cost of the GPU-hours with a known price, and their number."""
    money = priced = Decimal(0)
    for gpu_type, amounts in grouped(parts, lambda series: series.gpu_type).items():
        if gpu_type in prices:
            money += amounts.gpu_hours * prices[gpu_type]
            priced += amounts.gpu_hours
    return {"cost": float(money) if priced else None, "priced": float(priced)}


def _queue(runs: Daily) -> Queue:
    seconds = [wait.total_seconds() for wait in runs.waits]
    longest = runs.longest
    return Queue(
        count=len(seconds),
        median=median(seconds) if seconds else None,
        p90=seconds[ceil(0.9 * len(seconds)) - 1] if seconds else None,
        waiting=runs.waiting,
        longest=f"{longest.run.reference} of {longest.run.team}" if longest else "",
        longest_seconds=longest.lasted.total_seconds() if longest else 0.0,
        longest_why=longest.run.reason if longest else "",
    )


def _overrides(session: Session, scope: DigestScope, teams: frozenset[str]) -> tuple[Changed, ...]:
    rows = overrides_during(session, teams, scope.window.begun, scope.window.ended)
    return tuple(
        Changed(title(row), row.reason, None if row.ended_at else row.ends_at, row.ended_at)
        for row in rows[:_MOST_OVERRIDES]
    )


def _since(parts: Iterable[SeriesUsage]) -> datetime | None:
    """Since when all of them are idle; None if any is not."""
    moments = [each.series.idle_since for each in parts]
    known = [moment for moment in moments if moment is not None]
    return max(known) if known and len(known) == len(moments) else None


def _day_after(scope: DigestScope) -> date:
    """The date after the last day of the digest, which may not have ended yet."""
    last = scope.window.ended - timedelta(microseconds=1)
    return local_date(last, scope.time_zone) + timedelta(days=1)


def _before(scope: DigestScope, count: int) -> Window:
    """The window of `count` days before the digest's own."""
    return days_until(local_date(scope.window.begun, scope.time_zone), count, scope.time_zone)


def _float(value: Decimal | None) -> float | None:
    return None if value is None else float(value)


def hardware(session: Session, window: Window) -> tuple[Faulty, ...]:
    """The faults that began in a time, and those that still last."""
    return tuple(
        Faulty(_where(each), _words(each), moment_of(each.first))
        for each in faults_in(session, window)
    )


def _where(fault: GpuFault) -> str:
    return f"GPU {fault.gpu} of {fault.node or fault.cluster}"


def _words(fault: GpuFault) -> str:
    if fault.kind == FaultKind.REMAP_FAILED:
        return "memory rows could not be remapped; replace the GPU"
    if fault.kind == FaultKind.REMAPPED:
        return f"{fault.code} memory {'row' if fault.code == 1 else 'rows'} remapped"
    meaning = f" ({_XIDS[fault.code]})" if fault.code in _XIDS else ""
    return f"XID {fault.code}{meaning}"
