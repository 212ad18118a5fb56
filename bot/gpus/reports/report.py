"""Reports: allocated and busy GPU-hours, waits and costs of a time."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from sqlalchemy import select
from sqlmodel import Session, col

from bot.config import Prices
from bot.gpus.amounts import NOTHING, Amounts
from bot.gpus.minutes import Window
from bot.gpus.samples.sums import Who
from bot.gpus.samples.usage import WindowUsage, use
from bot.training.records.spans import waits_in
from bot.training.tables import Run, reference


class By(StrEnum):
    """What the lines of a report are grouped by."""

    TEAM = "team"
    PERSON = "person"
    RUN = "run"
    TYPE = "type"
    DATASET = "dataset"


@dataclass
class Line:
    """One line: a team, a person, a run, a GPU type or a dataset.

    `runs` are those that held GPUs or waited, and `waited` is their total waiting time.
    `borrowed` are GPU-hours beyond the quota, known for teams only, in the share `quoted` of the
    time. `cost` excludes the `unpriced` GPU-hours, whose price is unknown.
    """

    name: str
    amounts: Amounts = NOTHING
    runs: set[str] = field(default_factory=set)
    waited: timedelta = timedelta()
    borrowed: Decimal | None = None
    quoted: float | None = None
    cost: Decimal = Decimal(0)
    unpriced: Decimal = Decimal(0)

    def add(self, who: Who, amounts: Amounts, price: Decimal | None) -> None:
        """Adds the amounts of one series."""
        self.amounts += amounts
        if who.run_id:
            self.runs.add(who.run_id)
        if price is None:
            self.unpriced += amounts.gpu_hours
        else:
            self.cost += price * amounts.gpu_hours

    @property
    def known_cost(self) -> Decimal | None:
        """The cost of the GPU-hours with a price; None if there are none with one."""
        is_unknown = self.unpriced and self.unpriced == self.amounts.gpu_hours
        return None if is_unknown else self.cost

    @property
    def wait(self) -> timedelta | None:
        """The average wait of a run; None without runs."""
        return self.waited / len(self.runs) if self.runs else None


@dataclass(frozen=True)
class Report:
    """The figures of a range of days; `total` is the sum of all lines.

    `sampled` is the share of the time with samples, by cluster, `quoted` the share of that time in
    which quotas are known. Without a `currency` there are no prices.
    """

    by: By
    team: str | None
    days: tuple[date, date]
    lines: tuple[Line, ...]
    total: Line
    sampled: Mapping[str, float]
    quoted: float | None
    currency: str


class _Waited(NamedTuple):
    """A run that waited, with the values that lines are grouped by."""

    id: str
    team: str
    person: str
    name: str
    gpu_type: str
    datasets: str


# The key of a line, and its name.
_Told = tuple[str, str]


def days_of(first: date, last: date, zone: str) -> Window:
    """The window from the start of the first day to the end of the last, in a time zone."""
    begin, end = (
        datetime.combine(each, time(), ZoneInfo(zone)) for each in (first, last + timedelta(days=1))
    )
    return Window(begin, end)


@dataclass(frozen=True)
class Question:
    """The parameters of a report: a time, one team (None is all), and the grouping of lines."""

    window: Window
    team: str | None
    by: By


def report(session: Session, asked: Question, prices: Prices, now: datetime) -> Report:
    """The report of the time, up to now."""
    whole, team, by = asked.window, asked.team, asked.by
    window = Window(whole.begun, max(min(whole.ended, now), whole.begun))
    found = use(session, window)
    chosen = found if team is None else found.of_team(team)
    lines: dict[str, Line] = {}
    total = Line("total")
    for part in chosen.parts:
        price = prices.per_gpu_hour.get(part.series.gpu_type)
        for line in (_line(lines, _of_series(part.series, by)), total):
            line.add(part.series, part.amounts, price)
    for run, length in _waits(session, asked, now):
        for line in (_line(lines, _of_waited(run, by)), total):
            line.runs.add(run.id)
            line.waited += length
    _borrowed(chosen, by, lines, total)
    return Report(
        by,
        team,
        (whole.begun.date(), (whole.ended - timedelta(days=1)).date()),
        tuple(sorted(lines.values(), key=lambda each: (-each.amounts.allocated, each.name))),
        total,
        found.sampled,
        chosen.quotas_known,
        prices.currency if prices.per_gpu_hour else "",
    )


def _line(lines: dict[str, Line], told: _Told) -> Line:
    key, name = told
    return lines.setdefault(key, Line(name))


def _of_series(who: Who, by: By) -> _Told:
    if by is By.RUN:
        return who.run_id or f"{who.cluster}/{who.namespace}/{who.name}", _named(who.team, who.name)
    return (_KEYS[by](who) or _NOBODY[by],) * 2


def _of_waited(run: _Waited, by: By) -> _Told:
    if by is By.RUN:
        return run.id, _named(run.team, run.name)
    return (_KEYS[by](run) or _NOBODY[by],) * 2


def _named(team: str, name: str) -> str:
    return f"{team}/{name}" if team else name


_KEYS: Mapping[By, Callable[[Any], str]] = {
    By.TEAM: lambda each: each.team,
    By.PERSON: lambda each: each.person,
    By.TYPE: lambda each: each.gpu_type,
    By.DATASET: lambda each: each.datasets,
}
_NOBODY = {
    By.TEAM: "no team",
    By.PERSON: "unknown",
    By.TYPE: "unknown",
    By.DATASET: "no dataset",
}


def _waits(session: Session, asked: Question, now: datetime) -> Iterator[tuple[_Waited, timedelta]]:
    """The runs that waited in the time, and how long."""
    window, team = asked.window, asked.team
    lengths = waits_in(session, window.begun, min(window.ended, now))
    columns: list[Any] = [Run.id, Run.team, Run.person, Run.name, Run.number, Run.flavor]
    if asked.by is By.DATASET:
        columns.append(Run.spec)
    chosen = select(*map(col, columns)).where(
        col(Run.asked_at) < window.ended,
        (col(Run.ended_at).is_(None)) | (col(Run.ended_at) >= window.begun),
    )
    if team is not None:
        chosen = chosen.where(col(Run.team) == team)
    for id_, its_team, person, name, number, flavor, *spec in session.connection().execute(chosen):
        if id_ in lengths:
            read = sorted(each["reference"] for each in spec[0].get("data", ())) if spec else ()
            label = reference(name, number)
            yield _Waited(id_, its_team, person, label, flavor, ", ".join(read)), lengths[id_]


def _borrowed(found: WindowUsage, by: By, lines: Mapping[str, Line], total: Line) -> None:
    """Adds what teams borrowed; it is unknown which run or person borrowed."""
    known = found.borrowed_by_team()
    if known:
        total.borrowed = sum(known.values(), Decimal(0))
        total.quoted = found.quotas_known
    for team, amount in known.items() if by is By.TEAM else ():
        if team in lines:
            lines[team].borrowed = amount
            lines[team].quoted = found.of_team(team).quotas_known
