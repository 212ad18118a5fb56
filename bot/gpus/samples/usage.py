"""GPU usage for other areas: sums over a time, a time in slots, and the latest sample.

What is unknown is absent or None, never 0.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import reduce
from operator import add

from sqlalchemy import select
from sqlmodel import Session, col

from bot.gpus.amounts import NOTHING, WHOLE, Amounts, hours
from bot.gpus.minutes import PER_HOUR, Window, moment_of
from bot.gpus.samples.packing import unpack
from bot.gpus.samples.sums import Who, series, slots, sums, whole_hours
from bot.gpus.tables import MINUTE, Sample, Sampling, Series, What

__all__ = [
    "Amounts",
    "Now",
    "SeriesUsage",
    "Slot",
    "Who",
    "Window",
    "WindowUsage",
    "grouped",
    "held_by_hour",
    "latest",
    "series_of",
    "timeline",
    "together",
    "use",
]  # fmt: skip

Key = Callable[[Who], str]
_HELD = frozenset({What.RUN, What.OTHER})
_MINUTE, _HOUR = timedelta(minutes=1), timedelta(hours=1)


@dataclass(frozen=True)
class SeriesUsage:
    """The amounts of one series."""

    series: Who
    amounts: Amounts


@dataclass(frozen=True)
class WindowUsage:
    """GPU usage in a time; `parts` are the GPUs that pods held, one part for each series.

    `nodes` are the GPUs of nodes, `quota` those within teams' quotas and `borrowed` those beyond.
    `sampled` is the share of the time with samples, by cluster; `quoted` the share with samples
    that include quotas (samples filled in later do not). It is 0 for a cluster whose quotas are
    known only at other times.
    """

    window: Window
    parts: tuple[SeriesUsage, ...]
    nodes: tuple[SeriesUsage, ...]
    quota: tuple[SeriesUsage, ...]
    borrowed: tuple[SeriesUsage, ...]
    sampled: Mapping[str, float]
    quoted: Mapping[str, float]

    @property
    def quotas_known(self) -> float | None:
        """The share of the sampled time in which quotas are known; None without any quotas.

        It is the lowest share among the clusters in which GPUs were held or within a quota.
        """
        series = (each.series for each in (*self.parts, *self.quota, *self.borrowed))
        clusters = {each.cluster for each in series} & self.quoted.keys() or self.quoted.keys()
        return min(
            (self.quoted[each] / self.sampled[each] for each in clusters if self.sampled.get(each)),
            default=None,
        )

    @property
    def held(self) -> Amounts:
        """The total that pods held."""
        return together(self.parts)

    @property
    def capacity_gpu_hours(self) -> Decimal | None:
        """The GPU-hours of all nodes in the sampled time; None without samples."""
        return hours(together(self.nodes).allocated) if self.nodes else None

    def by(self, key: Key) -> dict[str, Amounts]:
        """What was held, grouped by a key such as `lambda series: series.team`, the most first."""
        return grouped(self.parts, key)

    def borrowed_by_team(self) -> dict[str, Decimal]:
        """GPU-hours beyond the quota, for teams where that is known."""
        found = grouped(self.borrowed, lambda each: each.team)
        return {team: hours(amounts.allocated) for team, amounts in found.items()}

    def quota_by_team(self) -> dict[str, Decimal]:
        """GPU-hours of the quota, for teams where that is known."""
        found = grouped(self.quota, lambda each: each.team)
        return {team: hours(amounts.allocated) for team, amounts in found.items()}

    def of_team(self, team: str) -> "WindowUsage":
        """The usage of one team; `nodes` stay those of all teams."""

        def mine(parts: tuple[SeriesUsage, ...]) -> tuple[SeriesUsage, ...]:
            return tuple(each for each in parts if each.series.team == team)

        return replace(
            self, parts=mine(self.parts), quota=mine(self.quota), borrowed=mine(self.borrowed)
        )


@dataclass(frozen=True)
class Slot:
    """Usage from `at` on; `minutes` is the number of minutes with samples."""

    at: datetime
    minutes: int
    held: Mapping[str, Amounts]

    def gpus(self, name: str) -> float:
        """The average number of GPUs held under a name."""
        return self.held.get(name, NOTHING).allocated / WHOLE / self.minutes


@dataclass(frozen=True)
class Now:
    """The latest sample of a cluster, and the latest one that was measured.

    Amounts are those of one minute, so 1000 of them are a GPU. `sampled_at` is None without a
    sample, `measured_at` without a measured one; `trouble` says why usage is unknown.
    """

    cluster: str
    sampled_at: datetime | None = None
    parts: tuple[SeriesUsage, ...] = ()
    nodes: tuple[SeriesUsage, ...] = ()
    ready: tuple[SeriesUsage, ...] = ()
    quota: tuple[SeriesUsage, ...] = ()
    borrowed: tuple[SeriesUsage, ...] = ()
    measured_at: datetime | None = None
    measured: tuple[SeriesUsage, ...] = ()
    trouble: str = ""


def together(parts: Iterable[SeriesUsage]) -> Amounts:
    """The total of several series."""
    return reduce(add, (each.amounts for each in parts), NOTHING)


def grouped(parts: Iterable[SeriesUsage], key: Key) -> dict[str, Amounts]:
    """The totals of several series, grouped by a key, the most GPU-hours first."""
    found: dict[str, Amounts] = {}
    for each in parts:
        name = key(each.series)
        found[name] = found.get(name, NOTHING) + each.amounts
    return dict(sorted(found.items(), key=lambda item: (-item[1].allocated, item[0])))


def use(session: Session, window: Window) -> WindowUsage:
    """GPU usage in a time, in all clusters."""
    parts = _parts(session, sums(session, window.minutes))
    length = max(len(window.minutes), 1) * WHOLE

    def shares(what: What) -> dict[str, float]:
        return {each.series.cluster: each.amounts.allocated / length for each in _of(parts, what)}

    sampled, quoted = shares(What.SAMPLED), shares(What.QUOTED)
    return WindowUsage(
        window,
        _of(parts, *_HELD),
        _of(parts, What.NODES),
        _of(parts, What.QUOTA),
        _of(parts, What.BORROWED),
        sampled,
        dict.fromkeys(_with_quotas(session, sampled.keys() - quoted.keys()), 0.0) | quoted,
    )


def timeline(
    session: Session,
    window: Window,
    cluster: str,
    step: timedelta,
    key: Callable[[Who], str | None],
) -> tuple[Slot, ...]:
    """A time in slots of `step`, each with what was held, grouped by `key`.

    A series whose `key` is None does not count. Slots without a sample are left out. Slots are
    longer if only coarser samples are kept.
    """
    state = session.get(Sampling, cluster)
    minutes, length = window.minutes, max(int(step / _MINUTE), 1)
    known: dict[int, Who] = {}
    found: dict[int, dict[str, Amounts]] = {}
    sampled: dict[int, int] = {}
    for minute, amounts in slots(session, state, minutes, length) if state else ():
        known |= series(session, amounts.keys() - known.keys())
        place = (minute - minutes.start) // length
        held = found.setdefault(place, {})
        for each, amount in amounts.items():
            what = known[each]
            if what.what == What.SAMPLED:
                sampled[place] = sampled.get(place, 0) + amount.allocated // WHOLE
            elif what.what in _HELD and (name := key(what)) is not None:
                held[name] = held.get(name, NOTHING) + amount
    return tuple(
        Slot(moment_of(minutes.start + place * length), sampled[place], held)
        for place, held in sorted(found.items())
        if sampled.get(place)
    )


def held_by_hour(session: Session, window: Window, cluster: str) -> dict[datetime, float]:
    """The average number of GPUs held in each hour with samples."""
    state = session.get(Sampling, cluster)
    if state is None:
        return {}
    minutes = window.minutes
    edge = min(max(state.rolled * PER_HOUR, minutes.start), minutes.stop)
    found = {
        moment_of(minute): sum(amounts.get(each, 0) for each in _HELD) / amounts[What.SAMPLED]
        for minute, amounts in whole_hours(session, cluster, range(minutes.start, edge)).items()
        if amounts.get(What.SAMPLED)
    }
    rest = Window(moment_of(edge), window.ended)
    for slot in timeline(session, rest, cluster, _HOUR, lambda _series: ""):
        found[slot.at] = slot.gpus("")
    return found


def series_of(session: Session, run_id: str) -> Sequence[Series]:
    """The series of a run: several if it ran on several kinds of nodes."""
    return session.scalars(select(Series).where(col(Series.run_id) == run_id)).all()


def latest(session: Session, cluster: str) -> Now:
    """The latest samples of a cluster."""
    state = session.get(Sampling, cluster)
    newest = _newest(session, cluster, of_any=True) if state else None
    if state is None or newest is None:
        return Now(cluster, trouble=state.trouble if state else "")
    measured = newest if newest.is_measured else _newest(session, cluster, of_any=False)
    parts = _parts(session, unpack(newest.entries))
    before = _parts(session, unpack(measured.entries)) if measured else []
    return Now(
        cluster=cluster,
        sampled_at=moment_of(newest.minute),
        parts=_of(parts, *_HELD),
        nodes=_of(parts, What.NODES),
        ready=_of(parts, What.READY),
        quota=_of(parts, What.QUOTA),
        borrowed=_of(parts, What.BORROWED),
        measured_at=moment_of(measured.minute) if measured else None,
        measured=_of(before, *_HELD),
        trouble=state.trouble,
    )


def _newest(session: Session, cluster: str, *, of_any: bool) -> Sample | None:
    chosen = select(Sample).where(col(Sample.cluster) == cluster, col(Sample.step) == MINUTE)
    if not of_any:
        chosen = chosen.where(col(Sample.is_measured))
    return session.scalars(chosen.order_by(col(Sample.minute).desc()).limit(1)).first()


def _with_quotas(session: Session, clusters: Collection[str]) -> Sequence[str]:
    """The clusters among these whose quotas were ever known."""
    if not clusters:
        return ()
    is_one = col(Series.what) == What.QUOTED, col(Series.cluster).in_(clusters)
    return session.scalars(select(col(Series.cluster)).where(*is_one)).all()


def _parts(session: Session, found: Mapping[int, Amounts]) -> list[SeriesUsage]:
    known = series(session, found)
    return [SeriesUsage(known[each], amounts) for each, amounts in found.items()]


def _of(parts: Iterable[SeriesUsage], *what: What) -> tuple[SeriesUsage, ...]:
    return tuple(each for each in parts if each.series.what in what)
