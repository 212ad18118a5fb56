"""Queries the usage of GPUs in sampled minutes, and who held them in missed minutes."""

from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import bindparam, select, update
from sqlmodel import Session, col

from bot.clock import Clock
from bot.cluster.cluster import Cluster
from bot.config import Settings
from bot.database.database import Database
from bot.errors import MetricsError
from bot.gpus.amounts import Amounts
from bot.gpus.minutes import PER_HOUR, minute_of, moment_of
from bot.gpus.nodes import Counting, counting_of, instances_of
from bot.gpus.samples import rollup
from bot.gpus.samples.faults import keep_faults
from bot.gpus.samples.filling import Filling
from bot.gpus.samples.joining import join
from bot.gpus.samples.packing import unpack
from bot.gpus.samples.pods import KnownPod, known_pods
from bot.gpus.samples.sums import samples
from bot.gpus.sources.choice import Sources, pace_of
from bot.gpus.sources.source import Fault, NoGpusError, Pace, PodName, Requests, Source, Told
from bot.gpus.tables import Sampling, Series, What
from bot.reconcile.controller import Step, Trouble

KIND = "gpu-measure"
# This many minutes of a large cluster are a few megabytes of figures.
_AT_ONCE = 60
_SOON = timedelta(seconds=1)
_FARTHEST = timedelta(days=7)
Minutes = dict[int, dict[int, Amounts]]
_HELD = (What.RUN, What.OTHER)
_CHANGE = (
    update(Series).where(col(Series.id) == bindparam("of")).values(idle_since=bindparam("since"))
)


@dataclass
class _Answers:
    """The answers for some minutes; `trouble` says why usage is unknown."""

    figures: Mapping[int, Told] = field(default_factory=dict)
    requests: Mapping[int, Requests] = field(default_factory=dict)
    faults: Mapping[int, Collection[Fault]] = field(default_factory=dict)
    trouble: str = ""


@dataclass(frozen=True)
class _Reading:
    """The minutes to query; a second query of unknown ones settles the minutes until then."""

    minutes: range
    settles_until: int = 0

    @property
    def is_second(self) -> bool:
        """Whether these minutes were queried before."""
        return self.settles_until > 0


class MeasureController:
    """Queries the source of a cluster's GPU metrics; its rows are the clusters' names."""

    kind = KIND

    def __init__(
        self,
        database: Database,
        clock: Clock,
        settings: Callable[[], Settings],
        clusters: Mapping[str, Cluster],
    ) -> None:
        self._database = database
        self._clock = clock
        self._settings = settings
        self._clusters = clusters
        self._sources = Sources()
        self._not_before: dict[str, datetime] = {}

    def step(self, row_id: str) -> Step:
        """Queries an hour at most; MetricsError if the source does not respond, and is retried."""
        settings, now = self._settings(), self._clock.now()
        at = settings.clusters.get(row_id)
        if at is None or row_id not in self._clusters:
            return Step(None)
        pace, wanted = pace_of(at), self._not_before.get(row_id, now)
        if wanted > now:
            return Step(wanted)
        look = self._database.read(lambda session: _next_look(session, row_id, now, pace))
        if look is None:
            return Step(None)
        if not look.minutes:
            return Step(now, lambda session: _settle(session, row_id, look))
        instances = instances_of(self._clusters[row_id].view)
        source = self._sources.open(row_id, at, instances)
        if source is None:
            return Step(None)
        return self._look(source, row_id, look, now)

    def _look(self, source: Source, row_id: str, look: "_Reading", now: datetime) -> Step:
        settings, minutes = self._settings(), look.minutes
        before, pods = self._database.read(lambda session: _before(session, row_id, minutes))
        at = settings.clusters[row_id]
        view = self._clusters[row_id].view
        counts = counting_of(view, settings.quotas.resource, at.fractions)
        with closing(source):
            try:
                told = _ask(source, minutes, before, counts)
            except MetricsError as error:
                return self._wait(row_id, error, now)

        def save(session: Session) -> None:
            # Starts over if the transaction is repeated: the pods that it found are not stored yet.
            filling = Filling(settings, self._clusters[row_id], pods)
            filled = filling.fill(session, told.requests)
            joined = {
                minute: join(entries, told.figures.get(minute, Told()), filling.pods, minute)
                for minute, entries in sorted({**before, **filled}.items())
            }
            if look.is_second:
                _complete(session, row_id, look, before, joined)
                return
            _save(session, row_id, minutes, joined, told)
            if not filling.pods:  # then there is nothing to know
                _say(session, row_id, "")

        return Step(now + _SOON, save)

    def _wait(self, row_id: str, error: MetricsError, now: datetime) -> Step:
        """Waits as long as a rate-limiting source asks; raises other errors."""
        if not error.retry_after_seconds:
            raise error
        again = now + timedelta(seconds=error.retry_after_seconds)
        self._not_before[row_id] = again
        return Step(again, lambda session: _say(session, row_id, error.message))

    def on_failure(self, session: Session, row_id: str, trouble: Trouble, /) -> None:
        """Stores why usage is unknown."""
        _say(session, row_id, trouble.sentence)


def _ask(
    source: Source, minutes: range, before: Mapping[int, object], counts: Counting
) -> _Answers:
    told = _Answers()
    missed = [each for each in minutes if each not in before]
    if missed:
        known = source.requests(range(missed[0], missed[-1] + 1), counts)
        told.requests = {each: known[each] for each in missed if each in known}
    try:
        told.figures = source.figures(minutes)
        told.faults = source.faults(minutes)
    except NoGpusError as error:
        told.trouble = error.message
    return told


def _next_look(session: Session, cluster: str, now: datetime, pace: Pace) -> _Reading | None:
    """Completed minutes that were not queried; else incomplete ones to query once more, if any."""
    state = session.get(Sampling, cluster)
    if state is None:
        return None
    floor = max(state.minutes_from, minute_of(now - _FARTHEST))
    found = range(max(state.measured, floor), minute_of(now) - pace.late)
    if found and len(found) >= pace.together:
        return _Reading(found[:_AT_ONCE])
    known = range(max(state.settled, floor), min(state.measured, minute_of(now) - pace.again))
    if len(known) < pace.again_together:
        return None
    chunk = known[:_AT_ONCE]
    return _Reading(_lacking(session, cluster, chunk), chunk.stop)


def _lacking(session: Session, cluster: str, minutes: range) -> range:
    """The range from the first to the last of these minutes with incomplete figures."""
    there = {minute: unpack(entries) for minute, entries, _ in samples(session, cluster, minutes)}
    incomplete = {
        series
        for entries in there.values()
        for series, each in entries.items()
        if each.measured < each.allocated
    }
    held = _held_of(session, incomplete)
    lacking = [
        minute
        for minute in minutes
        if minute not in there
        or any(
            series in held and each.measured < each.allocated
            for series, each in there[minute].items()
        )
    ]
    return range(lacking[0], lacking[-1] + 1) if lacking else range(0)


def _before(
    session: Session, cluster: str, minutes: range
) -> tuple[Minutes, dict[PodName, KnownPod]]:
    """The samples of these minutes, and the pods that held GPUs in them."""
    found = {minute: unpack(entries) for minute, entries, _ in samples(session, cluster, minutes)}
    return found, known_pods(session, cluster, minutes.start)


def _save(session: Session, cluster: str, minutes: range, joined: Minutes, told: _Answers) -> None:
    state = rollup.begin(session, cluster, minutes.start)
    for minute, entries in joined.items():
        rollup.keep(session, cluster, minute, entries, is_measured=minute in told.figures)
    keep_faults(session, cluster, told.faults)
    _follow(session, cluster, minutes, joined)
    rollup.again(session, cluster, _rolled(minutes, state))
    state.measured = max(state.measured, minutes.stop)
    session.add(state)
    _say(session, cluster, told.trouble)


def _complete(
    session: Session, cluster: str, look: _Reading, before: Minutes, joined: Minutes
) -> None:
    """Stores figures that are now known; figures that are no longer reported are kept."""
    for minute, entries in joined.items():
        known = before.get(minute, {})
        best = {
            series: max(known.get(series, each), each, key=lambda amounts: amounts.measured)
            for series, each in entries.items()
        }
        if best != known:
            is_measured = any(each.measured for each in best.values())
            rollup.keep(session, cluster, minute, best, is_measured=is_measured)
    _settle(session, cluster, look)
    state = rollup.begin(session, cluster, look.minutes.start)
    rollup.again(session, cluster, _rolled(look.minutes, state))


def _settle(session: Session, cluster: str, look: _Reading) -> None:
    state = rollup.begin(session, cluster, look.settles_until)
    state.settled = max(state.settled, look.settles_until)
    session.add(state)


def _rolled(minutes: range, state: Sampling) -> list[int]:
    """The hours of these minutes that are already summed up."""
    hours = range(minutes.start // PER_HOUR, (minutes.stop - 1) // PER_HOUR + 1)
    return [each for each in hours if each < state.rolled]


def _say(session: Session, cluster: str, trouble: str) -> None:
    state = session.get(Sampling, cluster)
    if state is not None:
        state.trouble = trouble
        session.add(state)


def _follow(
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
            if _is_idle(amounts):
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


def _is_idle(amounts: Amounts) -> bool:
    """Whether all GPUs that were held were measured as idle."""
    return 0 < amounts.allocated == amounts.measured == amounts.idle


def _held_of(session: Session, series: Collection[int]) -> set[int]:
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
