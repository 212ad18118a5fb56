"""Renders a digest as a card: the two shares first, then what needs action, then the tables."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from bot.charts.values import figure, percent
from bot.durations import format_duration
from bot.gpus.digests.charting import charts_of
from bot.gpus.digests.figures import Figures, GpuShare, Idle, Raised, TeamFigures
from bot.gpus.reports.ranking_card import idle_buttons
from bot.slack.card import Button, Card, Table, Tone
from bot.slack.markup import Markup, bold, join, plain, sentence, when

UNKNOWN = "?"
_DAY = timedelta(days=1)
_ALL, _NEARLY_ALL = 0.995, 0.95
_ROUNDING, _LEAST_SHOWN = 1e-4, 0.1
_GIB = 1024**3
_MOST_RAISED = 5
_MOST_FAULTY = 8


def skipped_card(day: str, note: str) -> Card:
    """The card posted instead of a digest that was skipped because no bot was available."""
    return Card(f"GPUs, {day}", "Skipped", Tone.QUIET, lines=(sentence(note),))


def digest_card(
    figures: Figures, begun: datetime, ended: datetime, time_zone: str, note: str = ""
) -> Card:
    """The card of a digest of a time, whose days are those of a time zone."""
    lines = [*([sentence(note)] if note else []), *_header(figures), *_sections(figures)]
    return Card(
        title=f"GPUs, {day_words(begun, ended, time_zone)}",
        lines=tuple(lines),
        charts=charts_of(figures),
        table=_teams(figures) if figures.teams else None,
        buttons=tuple(_buttons(figures.idle)),
        footer=tuple(_missing(figures, time_zone)),
    )


def day_words(begun: datetime, ended: datetime, time_zone: str) -> str:
    """The day of a digest, or its first and last day, in a time zone."""
    zone = ZoneInfo(time_zone)
    first = begun.astimezone(zone).date()
    last = (ended - timedelta(seconds=1)).astimezone(zone).date()
    return _day(first) if first == last else f"{_day(first)} to {_day(last)}"


def _day(day: date) -> str:
    return f"{day:%A} {day.day} {day:%B %Y}"


def _header(figures: Figures) -> Iterator[Markup]:
    share, gpus = figures.share, figures.gpus
    if share.allocated is None or gpus is None:
        yield plain("Allocation is unknown: there are no samples for this time.")
        return
    change = _change(figures, "allocated")
    yield join(bold("Allocated"), plain(f" {percent(share.allocated)} of {_gpus(gpus)}{change}"))
    if share.busy is None:
        yield join(bold("Busy"), " unknown: the allocated GPUs were not measured")
    else:
        said = f" {percent(share.busy)} of the allocated GPUs{_change(figures, 'busy')}"
        yield join(bold("Busy"), plain(said))
    if figures.free is not None:
        yield plain(f"{_gpus(figures.free)} free when this was written.")


def _change(figures: Figures, which: str) -> str:
    """The change in percentage points from the time before, and from the 7-day mean."""
    now = getattr(figures.share, which)
    before = "the week before" if figures.is_whole else "the day before"
    told = [
        f"{_points(now - then)} from {words}"
        for words, then in ((before, _of(figures.before, which)), (_MEAN, _of(figures.mean, which)))
        if then is not None and not (figures.is_whole and words == _MEAN)
    ]
    return f" ({', '.join(told)})" if told else ""


_MEAN = "the 7-day mean"


def _of(share: GpuShare, which: str) -> float | None:
    value: float | None = getattr(share, which)
    return value


def _points(change: float) -> str:
    points = round(100 * change)
    noun = "point" if abs(points) == 1 else "points"
    return "unchanged" if not points else f"{points:+d} {noun}".replace("-", "\u2212")


def _sections(figures: Figures) -> Iterator[Markup]:
    yield from _idle(figures)
    yield from _queue(figures)
    yield from _counts("Preempted", figures.preemptions)
    yield from _counts("Failed", figures.failures)
    yield from _hardware(figures)
    yield from _overrides(figures)
    yield from _caches(figures)
    yield from _raised(figures)


def _idle(figures: Figures) -> Iterator[Markup]:
    if not figures.idle:
        return
    hours = figures.idle_hours
    total = f" {_at_least(hours, figures.known)} GPU-hours in total" if hours else ""
    yield join(bold("Idle"), plain(total))
    for each in figures.idle:
        owner = f", {each.owner}" if each.owner else ""
        whose = f"• {each.name} of {each.team or 'no team'}{owner}"
        now = join(", idle since ", when(each.since)) if each.since else ""
        said = f"{_at_least(each.hours, each.known)} of its {figure(each.held)} GPU-hours"
        yield join(plain(f"{whose}: {said}"), now)


def _queue(figures: Figures) -> Iterator[Markup]:
    queue = figures.queue
    if queue is None or not (queue.count or queue.waiting):
        return
    parts = []
    if queue.median is not None and queue.p90 is not None:
        runs = "1 run" if queue.count == 1 else f"{queue.count} runs"
        parts.append(f"{runs} waited a minute or longer: median {_time(queue.median)}, 90th"
                     f" percentile {_time(queue.p90)}.")  # fmt: skip
    if queue.longest:
        count = "1 run is waiting" if queue.waiting == 1 else f"{queue.waiting} runs are waiting"
        why = f": {queue.longest_why}" if queue.longest_why else "."
        parts.append(f"{count} now. The longest wait is {_time(queue.longest_seconds)}, for"
                     f" {queue.longest}{why}")  # fmt: skip
    yield join(bold("Queue"), " ", sentence(" ".join(parts)))


def _counts(name: str, found: tuple[tuple[str, int], ...]) -> Iterator[Markup]:
    if found:
        total = sum(count for _, count in found)
        told = "; ".join(f"{count} x {what}" for what, count in found[:5])
        rest = "; and others" if len(found) > 5 else ""  # noqa: PLR2004  # as many as above
        yield join(bold(name), plain(f" {total}: {told}{rest}"))


def _hardware(figures: Figures) -> Iterator[Markup]:
    """One line for each GPU with a fault."""
    if figures.hardware:
        yield bold("Hardware")
    for each in figures.hardware[:_MOST_FAULTY]:
        yield join(plain(f"• {each.where}: {each.what}, since "), when(each.since))
    if len(figures.hardware) > _MOST_FAULTY:
        yield plain(f"and {len(figures.hardware) - _MOST_FAULTY} more")


def _overrides(figures: Figures) -> Iterator[Markup]:
    for place, each in enumerate(figures.overrides):
        moment = each.ended or each.until
        label = "ended" if each.ended else "until"
        start = join(bold("Overrides"), " ") if not place else Markup("• ")
        end = join(f", {label} ", when(moment)) if moment else ""
        yield join(start, plain(f"{each.what} ({each.reason})"), end)


def _caches(figures: Figures) -> Iterator[Markup]:
    kept = figures.caches
    if kept is None:
        return
    count = "1 dataset is" if kept.count == 1 else f"{kept.count} datasets are"
    goes = ""
    if kept.next_at is not None:
        goes = join(plain(f"; next eviction: {kept.next_name}, "), when(kept.next_at))
    yield join(bold("Caches"), plain(f" {count} cached, {_size(kept.size_bytes)}"), goes)


def _raised(figures: Figures) -> Iterator[Markup]:
    if figures.raised:
        yield bold("ANF levels raised")
    for each in figures.raised[:_MOST_RAISED]:
        money = f", {each.cost:,.2f} more a month" if each.cost and each.cost > 0 else ""
        yield join(plain(f"• {each.what}, {each.owner}"), _until(each), plain(money))
    if len(figures.raised) > _MOST_RAISED:
        yield plain(f"and {len(figures.raised) - _MOST_RAISED} more")


def _until(each: Raised) -> Markup:
    if each.is_returning:
        return plain(", being reverted")
    if each.is_kept:
        return plain(", while in use")
    moment = each.ended or each.until
    if moment is None:
        return plain(", permanent")
    return join(", ended " if each.ended else ", until ", when(moment))


def _teams(figures: Figures) -> Table:
    has_cost = _has_cost(figures)
    header = ("Team", "Quota", "Used", "Borrowed", "Busy", "Efficiency")
    cost = (f"Cost ({figures.currency})",) if has_cost else ()
    rows = tuple(_team(each, has_cost=has_cost) for each in figures.teams)
    return Table((*header, *cost), rows)


def _has_cost(figures: Figures) -> bool:
    return any(each.cost is not None for each in figures.teams)


def _team(each: TeamFigures, *, has_cost: bool) -> tuple[str, ...]:
    efficiency = UNKNOWN if each.efficiency is None else percent(each.efficiency)
    row = (
        each.team,
        _within(each.quota, each.quoted),
        figure(each.used),
        _within(each.borrowed, each.quoted),
        _at_least(each.busy, each.known) if each.used else "0",
        efficiency if each.used else "-",
    )
    return (*row, _cost(each)) if has_cost else row


def _within(value: float | None, known: float | None) -> str:
    """GPU-hours known for a share of the time; unknown if the share is too small to compare."""
    is_comparable = known is None or known >= _NEARLY_ALL
    return _at_least(value, known) if is_comparable else UNKNOWN


def _at_least(value: float | None, known: float | None) -> str:
    if value is None:
        return UNKNOWN
    return figure(value) if known is None or known >= _ALL else f"at least {figure(value)}"


def _cost(each: TeamFigures) -> str:
    if each.cost is None:
        return UNKNOWN if each.used else "0"
    return f"at least {each.cost:,.2f}" if _unpriced(each) else f"{each.cost:,.2f}"


def _unpriced(each: TeamFigures) -> float:
    """GPU-hours without a known price; tiny amounts are rounding and count as none."""
    rest = each.used - each.priced
    return rest if rest > _ROUNDING else 0.0


def _buttons(idle: tuple[Idle, ...]) -> Iterator[Button]:
    """The buttons of `/gpu idle`, for everything that is still idle."""
    for each in idle:
        if each.since is not None:
            freed = "The run ends and frees its GPUs."
            yield from idle_buttons(each.name, each.run_id, each.unowned, freed)


def _missing(figures: Figures, time_zone: str) -> Iterator[Markup]:
    for cluster, share in figures.sampled.items():
        if share < _ALL:
            yield plain(f"Samples of {cluster} cover {_part(share)} of the time;"
                        " the figures exclude the rest.")  # fmt: skip
    if figures.known is not None and figures.known < _ALL:
        yield plain(f"GPU activity is known for {percent(figures.known)} of the allocated time.")
    if _has_cost(figures) and (unpriced := sum(map(_unpriced, figures.teams))):
        amount = figure(unpriced) if unpriced >= _LEAST_SHOWN else f"less than {_LEAST_SHOWN}"
        yield plain(f'No price is known for {amount} GPU-hours; a cost marked "at least"'
                    " excludes them.")  # fmt: skip
    if figures.quoted is not None and figures.quoted < _ALL:
        yield plain(f"Quotas are known for {_part(figures.quoted)} of that time{_rest(figures)}")
    for trouble in figures.troubles:
        yield plain(trouble)
    days = "days are" if figures.is_whole else "the day is"
    yield plain(f"Figures are in GPU-hours; {days} in {time_zone}.")


def _rest(figures: Figures) -> str:
    if figures.quoted is not None and figures.quoted >= _NEARLY_ALL:
        return "; figures for quota and borrowed GPU-hours exclude the rest."
    return ", too little to compare quota and borrowed GPU-hours with those used."


def _part(share: float) -> str:
    return percent(share) if share > 1 - _ALL or not share else "less than 1 %"


def _gpus(count: float) -> str:
    return "1 GPU" if count == 1 else f"{figure(count)} GPUs"


def _time(seconds: float) -> str:
    return format_duration(timedelta(seconds=int(seconds)))


def _size(count: int) -> str:
    return f"{count / _GIB:,.0f} GiB" if count >= _GIB else "less than 1 GiB"
