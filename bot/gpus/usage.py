"""What the GPUs did, for whoever asks: sums over a time, a time in slots, and the latest sample.

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
from bot.gpus.packing import unpack
from bot.gpus.sums import Who, series, slots, sums, whole_hours
from bot.gpus.tables import MINUTE, Sample, Sampling, Series, What

__all__ = [
    "Amounts", "Now", "Part", "Slot", "Use", "Who", "Window",
    "grouped", "held_by_hour", "latest", "series_of", "timeline", "together", "use",
]  # fmt: skip

Key = Callable[[Who], str]
_HELD = frozenset({What.RUN, What.OTHER})
_MINUTE, _HOUR = timedelta(minutes=1), timedelta(hours=1)


@dataclass(frozen=True)
class Part:
    """What one series came to."""

    series: Who
    amounts: Amounts


@dataclass(frozen=True)
class Use:
    """What happened in a time; `parts` are the GPUs that pods held, each those of one owner.

    `nodes` are the GPUs that there were, `quota` those that teams were owed and `borrowed` those
    that they had beyond. `sampled` is, by cluster, of which share of the time there are samples;
    `quoted` of which share there are such that know quotas, as those filled in later do not: 0
    where quotas of a cluster were known at another time alone.
    """

    window: Window
    parts: tuple[Part, ...]
    nodes: tuple[Part, ...]
    quota: tuple[Part, ...]
    borrowed: tuple[Part, ...]
    sampled: Mapping[str, float]
    quoted: Mapping[str, float]

    @property
    def quotas_known(self) -> float | None:
        """Of which share of the sampled time quotas are known; None where no cluster has any.

        Of the clusters in which GPUs were held or owed it is the one of which least is known.
        """
        series = (each.series for each in (*self.parts, *self.quota, *self.borrowed))
        clusters = {each.cluster for each in series} & self.quoted.keys() or self.quoted.keys()
        return min(
            (self.quoted[each] / self.sampled[each] for each in clusters if self.sampled.get(each)),
            default=None,
        )

    @property
    def held(self) -> Amounts:
        """All that pods held."""
        return together(self.parts)

    @property
    def capacity_gpu_hours(self) -> Decimal | None:
        """GPU-hours that there were in the time that was sampled; None where none was."""
        return hours(together(self.nodes).allocated) if self.nodes else None

    def by(self, key: Key) -> dict[str, Amounts]:
        """What was held, by what tells it apart, the most first: `lambda series: series.team`."""
        return grouped(self.parts, key)

    def borrowed_by_team(self) -> dict[str, Decimal]:
        """GPU-hours beyond the quota, of the teams of which that is known."""
        found = grouped(self.borrowed, lambda each: each.team)
        return {team: hours(amounts.allocated) for team, amounts in found.items()}

    def quota_by_team(self) -> dict[str, Decimal]:
        """GPU-hours that teams were owed, of those of which that is known."""
        found = grouped(self.quota, lambda each: each.team)
        return {team: hours(amounts.allocated) for team, amounts in found.items()}

    def of_team(self, team: str) -> "Use":
        """The same of one team alone; nodes stay those of all."""

        def mine(parts: tuple[Part, ...]) -> tuple[Part, ...]:
            return tuple(each for each in parts if each.series.team == team)

        return replace(
            self, parts=mine(self.parts), quota=mine(self.quota), borrowed=mine(self.borrowed)
        )


@dataclass(frozen=True)
class Slot:
    """What happened from `at` on, in so many `minutes` of which there are samples."""

    at: datetime
    minutes: int
    held: Mapping[str, Amounts]

    def gpus(self, name: str) -> float:
        """How many GPUs somebody held on average."""
        return self.held.get(name, NOTHING).allocated / WHOLE / self.minutes


@dataclass(frozen=True)
class Now:
    """A cluster as it was last seen, and what its GPUs did when that was last known.

    Amounts are those of one minute, so 1000 of them are a GPU. `sampled_at` is None where there
    is no sample, `measured_at` where it never was known; `trouble` says why it is not.
    """

    cluster: str
    sampled_at: datetime | None = None
    parts: tuple[Part, ...] = ()
    nodes: tuple[Part, ...] = ()
    ready: tuple[Part, ...] = ()
    quota: tuple[Part, ...] = ()
    borrowed: tuple[Part, ...] = ()
    measured_at: datetime | None = None
    measured: tuple[Part, ...] = ()
    trouble: str = ""


def together(parts: Iterable[Part]) -> Amounts:
    """What several series came to together."""
    return reduce(add, (each.amounts for each in parts), NOTHING)


def grouped(parts: Iterable[Part], key: Key) -> dict[str, Amounts]:
    """What several series came to, by what tells them apart, the most GPU-hours first."""
    found: dict[str, Amounts] = {}
    for each in parts:
        name = key(each.series)
        found[name] = found.get(name, NOTHING) + each.amounts
    return dict(sorted(found.items(), key=lambda item: (-item[1].allocated, item[0])))


def use(session: Session, window: Window) -> Use:
    """What happened in a time, in all clusters."""
    parts = _parts(session, sums(session, window.minutes))
    length = max(len(window.minutes), 1) * WHOLE

    def shares(what: What) -> dict[str, float]:
        return {each.series.cluster: each.amounts.allocated / length for each in _of(parts, what)}

    sampled, quoted = shares(What.SAMPLED), shares(What.QUOTED)
    return Use(
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
    """A time in slots of `step` from its beginning on, each with what was held, by `key`.

    Where `key` is None a series does not count. Slots without a sample are left out, and those
    of a time of which nothing finer is kept are longer.
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
    """How many GPUs somebody held on average in each hour of which there are samples."""
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
    """The series of a run; there are several where it was on nodes of several kinds."""
    return session.scalars(select(Series).where(col(Series.run_id) == run_id)).all()


def latest(session: Session, cluster: str) -> Now:
    """A cluster as it was last seen."""
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
    """Those of these clusters of which quotas were ever known."""
    if not clusters:
        return ()
    is_one = col(Series.what) == What.QUOTED, col(Series.cluster).in_(clusters)
    return session.scalars(select(col(Series.cluster)).where(*is_one)).all()


def _parts(session: Session, found: Mapping[int, Amounts]) -> list[Part]:
    known = series(session, found)
    return [Part(known[each], amounts) for each, amounts in found.items()]


def _of(parts: Iterable[Part], *what: What) -> tuple[Part, ...]:
    return tuple(each for each in parts if each.series.what in what)
