"""Keeps the metrics of runs, and finds them again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import bindparam, select
from sqlmodel import Session, col

from bot.cluster.cluster import Cluster
from bot.cluster.types.objects import Pod
from bot.config import ResultPattern
from bot.database.prepared import Prepared
from bot.training.logs.results import progress_of
from bot.training.logs.tails import Kept, Tail
from bot.training.pods import by_age
from bot.training.series.following import NewLines, cursor_of, new_lines
from bot.training.series.points import Point, extended
from bot.training.series.reading import Measured, MetricReader
from bot.training.series.tables import RunSeries
from bot.training.state import has_ended
from bot.training.tables import KeptLog, Run

MOST_NAMES = 40
"""How many metrics of a run are kept: those that were seen first."""

MOST_VALUES = 100_000
"""How many values a look takes from a log at most: a line may have a hundred."""

_ANY = Prepared(
    select(col(RunSeries.name))
    .where(col(RunSeries.run_id) == bindparam("run"), col(RunSeries.count) > 0)
    .limit(1)
)
_NANOSECONDS = 1e9
_NAMED = 10
_ON_CARD = 8


@dataclass(frozen=True)
class PodMetrics:
    """What the new lines of a pod say; `before` and `read_to` are how far its log was read."""

    pod_uid: str
    before: str
    read_to: str
    measured: tuple[Measured, ...] = ()
    is_lost: bool = False


@dataclass(frozen=True)
class Missing:
    """What the metrics of a run lack: lines that nobody could read, and names beyond the limit."""

    gaps: int = 0
    names: tuple[str, ...] = ()


@dataclass
class _Rows:
    """The series of a run while values are added to them."""

    run: Run
    known: dict[str, RunSeries]
    new: dict[str, list[Point]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def add(self, each: Measured) -> None:
        row = self.known.get(each.name)
        if row is None:
            if len(self.known) >= MOST_NAMES:
                self.left_out.append(each.name)
                return
            row = RunSeries(run_id=self.run.id, name=each.name, place=len(self.known))
            self.known[each.name] = row
        if each.is_reported and not row.is_reported:
            # What a program reports replaces what its output looked like.
            row.is_reported, row.count, row.every, row.points = True, 0, 1, b""
            self.new.pop(each.name, None)
        if each.is_reported or not row.is_reported:
            self.new.setdefault(each.name, []).append(each.point)


def read_metrics(
    cluster: Cluster,
    run: Run,
    tails: Sequence[Tail],
    log_pods: Sequence[Pod],
    known: Mapping[str, Kept],
    patterns: Sequence[ResultPattern],
) -> tuple[PodMetrics, ...]:
    """What the pods whose log is the run's have said since their logs were last read."""
    uids = {pod.uid for pod in log_pods}
    by_pod = {tail.pod.uid: tail for tail in tails if tail.pod.uid in uids}
    reader = MetricReader(patterns, progress_of(run.progress))
    found = []
    for pod in by_age(tail.pod for tail in by_pod.values()):
        before = known[pod.uid].read_to if pod.uid in known else ""
        new = new_lines(cluster, by_pod[pod.uid], cursor_of(before), reader.is_wanted)
        found.append(_pod_metrics(pod, before, new, reader))
    return tuple(found)


def _pod_metrics(pod: Pod, before: str, new: NewLines, reader: MetricReader) -> PodMetrics:
    """The values of the lines; the next look goes on after as many as may be taken."""
    measured, count = list[Measured](), 0
    for count, line in enumerate(new.lines, 1):  # noqa: B007 - what it was last counts
        measured += reader.read(line.text, line.stamp / _NANOSECONDS)
        if len(measured) >= MOST_VALUES:
            break
    is_lost = new.is_lost
    if has_ended(pod):  # there is no next look
        is_lost = is_lost or count < len(new.lines)
    else:
        new = new.first(count)
    return PodMetrics(
        pod.uid, before, new.cursor.text() if new.cursor else "", tuple(measured), is_lost
    )


def keep_metrics(session: Session, run: Run, found: Sequence[PodMetrics]) -> Mapping[str, str]:
    """Adds the values to the run's series; returns how far the log of each pod was read.

    A log that was read further in the meantime keeps what it has.
    """
    read_to, rows = {}, _Rows(run, {})
    gaps = 0
    for each in found:
        kept = session.get(KeptLog, (run.id, each.pod_uid))
        stored = kept.read_to if kept else ""
        read_to[each.pod_uid] = stored
        if stored == each.before:
            read_to[each.pod_uid] = each.read_to
            gaps += each.is_lost
            if each.measured and not rows.known:
                rows.known = {row.name: row for row in series_of(session, run.id)}
            for measured in each.measured:
                rows.add(measured)
    for name, points in rows.new.items():
        row = rows.known[name]
        row.set_series(extended(row.series(), points))
        session.add(row)
    _note_missing(run, gaps, rows.left_out)
    run.results = {**run.results, **_on_card(rows, run.results)}
    return read_to


def series_of(session: Session, run_id: str) -> list[RunSeries]:
    """The series of a run, in the order in which they were first seen."""
    rows = session.scalars(
        select(RunSeries).where(col(RunSeries.run_id) == run_id).order_by(col(RunSeries.place))
    )
    return list(rows)


def has_series(session: Session, run_id: str) -> bool:
    """Whether the run has values of any metric."""
    return bool(_ANY(session, {"run": run_id}).rows)


def missing_of(run: Run) -> Missing:
    """What the metrics of a run lack."""
    return Missing(run.series_lost.get("gaps", 0), tuple(run.series_lost.get("names", ())))


def value_words(value: float) -> str:
    """A value as people read it: 0.4123, 1,204.57 or nan."""
    return f"{value:,.2f}" if 1_000 <= abs(value) < 1e12 else f"{value:.4g}"  # noqa: PLR2004  # digits that matter


def _note_missing(run: Run, gaps: int, left_out: Sequence[str]) -> None:
    before = missing_of(run)
    names = tuple(dict.fromkeys((*before.names, *left_out)))[:_NAMED]
    if gaps or names != before.names:
        run.series_lost = {"gaps": before.gaps + gaps, "names": list(names)}


def _on_card(rows: _Rows, results: Mapping[str, str]) -> dict[str, str]:
    """The newest reported values by name; of many metrics the first ones."""
    shown: dict[str, str] = {}
    for name, points in rows.new.items():
        has_place = name in results or len(results) + len(shown) < _ON_CARD
        if rows.known[name].is_reported and has_place:
            shown[name] = value_words(points[-1].value)
    return shown
