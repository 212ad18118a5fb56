"""Figures of digests by day and by hour, and their charts."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from sqlmodel import Session

from bot.charts.values import Bars, Chart, HeatMap, Series, folded
from bot.gpus.amounts import hours
from bot.gpus.digests.figures import Days, Figures, Hours, TeamFigures
from bot.gpus.digests.plans import days_until
from bot.gpus.minutes import PER_HOUR
from bot.gpus.samples.usage import Window, WindowUsage, grouped, held_by_hour, use

_DAYS, _HEAT_DAYS = 14, 7
_MOST_TEAMS, _MOST_BARS = 6, 10
_DAY_HOURS = 24


def day_figures(session: Session, day: date, time_zone: str, teams: frozenset[str]) -> Days:
    """GPU-hours of these teams on each of the 14 days before a date."""
    windows = [_day_before(day, back, time_zone) for back in range(_DAYS - 1, -1, -1)]
    uses = [(window, use(session, window)) for window in windows]
    names = {each.series.team for _, found in uses for each in found.parts} & teams
    there = max((sum(_gpus_by_cluster(found).values()) for _, found in uses), default=0.0)
    held = [found.by(lambda series: series.team) if found.sampled else None for _, found in uses]
    return Days(
        tuple(_label(window, time_zone, "%b") for window in windows),
        {
            name: tuple(
                None if each is None else float(each[name].gpu_hours) if name in each else 0.0
                for each in held
            )
            for name in sorted(names)
        },
        there * _DAY_HOURS or None,
    )


def hour_figures(session: Session, day: date, time_zone: str) -> Hours:
    """The allocated share of the GPUs by hour, on each of the 7 days before a date."""
    windows = [_day_before(day, back, time_zone) for back in range(_HEAT_DAYS - 1, -1, -1)]
    gpus = [_gpus_by_cluster(use(session, window)) for window in windows]
    whole = Window(windows[0].begun, windows[-1].ended)
    held = [held_by_hour(session, whole, each) for each in sorted({c for g in gpus for c in g})]
    return Hours(
        tuple(_label(window, time_zone, "%a") for window in windows),
        tuple(
            _hours_of(window, time_zone, sum(there.values()), held)
            for window, there in zip(windows, gpus, strict=True)
        ),
    )


def charts_of(figures: Figures) -> tuple[Chart, ...]:
    """The charts of a digest, without those that would be empty."""
    found: list[Chart] = []
    if len(figures.teams) > 1 and any(each.used for each in figures.teams):
        found.append(_by_team(figures.teams))
    if figures.days is not None and figures.days.teams:
        found.append(_by_day(figures.days))
    if figures.hours is not None and any(c is not None for row in figures.hours.cells for c in row):
        columns = tuple(f"{hour:02}" for hour in range(_DAY_HOURS))
        title = "Allocated GPUs by hour"
        found.append(HeatMap(title, figures.hours.days, columns, figures.hours.cells))
    return tuple(found)


def _by_team(teams: tuple[TeamFigures, ...]) -> Bars:
    shown = teams[:_MOST_BARS]
    series = (
        Series("allocated", tuple(round(each.used, 1) for each in shown)),
        Series("busy", tuple(map(_busy, shown))),
    )
    return Bars("GPU-hours by team", tuple(each.team for each in shown), series, "GPU-hours")


def _busy(team: TeamFigures) -> float | None:
    """Busy GPU-hours; 0 for a team that held none, None if unknown."""
    if not team.used:
        return 0.0
    return None if team.busy is None else round(team.busy, 1)


def _by_day(days: Days) -> Bars:
    series = [Series(name, values) for name, values in days.teams.items()]
    return Bars(
        "GPU-hours by team and day",
        days.labels,
        folded(series, _MOST_TEAMS),
        "GPU-hours a day",
        is_stacked=True,
        line=days.capacity,
        line_name="all GPUs",
    )


def _day_before(day: date, back: int, time_zone: str) -> Window:
    return days_until(day - timedelta(days=back), 1, time_zone)


def _label(window: Window, time_zone: str, shape: str) -> str:
    local = window.begun.astimezone(ZoneInfo(time_zone))
    return f"{local:{shape}} {local.day}"


def _hours_of(
    window: Window, time_zone: str, gpus: float, held: Sequence[Mapping[datetime, float]]
) -> tuple[float | None, ...]:
    """Shares by hour of the day; the hour repeated when clocks change is the mean of both.

    The hour skipped when clocks change repeats the hour before it.
    """
    together: dict[datetime, float] = {}
    for of_cluster in held:
        for at, count in of_cluster.items():
            if window.begun <= at < window.ended:
                together[at] = together.get(at, 0.0) + count
    found: dict[int, list[float]] = {}
    for at, amount in together.items():
        if gpus:
            found.setdefault(at.astimezone(ZoneInfo(time_zone)).hour, []).append(amount / gpus)
    cells: list[float | None] = []
    has_all = (window.ended - window.begun) >= timedelta(hours=_DAY_HOURS)
    for hour in range(_DAY_HOURS):
        known = found.get(hour)
        left_out = None if has_all or not cells else cells[-1]
        cells.append(min(sum(known) / len(known), 1.0) if known else left_out)
    return tuple(cells)


def _gpus_by_cluster(found: WindowUsage) -> dict[str, float]:
    """The average number of GPUs of each cluster, over the time with samples."""
    length = len(found.window.minutes) / PER_HOUR
    amounts = grouped(found.nodes, lambda series: series.cluster)
    return {
        cluster: float(hours(each.allocated)) / (length * found.sampled[cluster])
        for cluster, each in amounts.items()
        if found.sampled.get(cluster)
    }
