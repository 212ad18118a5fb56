"""Cards of runs by GPU usage, of idle runs, and of one run. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from bot.charts.values import Bars, percent
from bot.charts.values import Series as ChartSeries
from bot.durations import format_duration
from bot.gpus.amounts import Amounts
from bot.gpus.amounts import hours as hours_of
from bot.gpus.reports.ranking import IDLE_FROM, Idle, Ranked
from bot.gpus.samples.usage import SeriesUsage, Slot, grouped, together
from bot.gpus.status import UNKNOWN, gpus
from bot.slack.card import Button, Card, Confirm, Table
from bot.slack.markup import Markup, code, join, person, plain, when
from bot.training.runs.card import STOP
from bot.training.tables import Run

SNOOZE, MINE = "gpu.snooze", "gpu.mine"
_MOST_ROWS, _MOST_WITH_BUTTONS, _MOST_IDLE = 20, 5, 20
_TOP_HEADER = ("Run", "Team", "Type", "GPU-hours", "Busy", "GPU-hours at 0 %")


@dataclass(frozen=True)
class Life:
    """The GPU usage of a run since it began; each of `parts` is on one kind of GPUs.

    `slots` divide its lifetime, each with what the run held under its id.
    """

    run: Run
    parts: Sequence[SeriesUsage]
    slots: Sequence[Slot]
    idle_since: datetime | None


def hours(amount: Decimal | None) -> str:
    """GPU-hours as text, or `unknown`."""
    return UNKNOWN if amount is None else f"{amount:,.2f}"


def share(value: float | None) -> str:
    """A share of 1 as a percentage, or `unknown`."""
    return UNKNOWN if value is None else percent(value)


def top_card(found: Sequence[Ranked], title: str, length: timedelta, words: str) -> Card:
    """The runs that held, used or wasted the most; `words` is the command that lists all."""
    if not found:
        return Card(title, lines=(plain("No GPU allocation was recorded in that time."),))
    rows = tuple(_top_row(each) for each in found[:_MOST_ROWS])
    rest = len(found) - len(rows)
    more = (plain(f"And {rest} more; `{words}` lists all of them."),) if rest else ()
    said = f"GPU usage by run in the last {format_duration(length)}."
    return Card(title, lines=(plain(said), *more), table=Table(_TOP_HEADER, rows))


def idle_card(found: Sequence[Idle], hint: str, now: datetime) -> Card:
    """Idle runs: since when, owner, GPU-hours at 0 %, with buttons to act on them."""
    if not found:
        least = format_duration(IDLE_FROM)
        said = f"No run is known whose GPUs have all been idle for {least} or longer."
        return Card("Idle GPUs", lines=(plain(f"{said} {hint}".strip()),))
    idle_now = sum(each.gpus for each in found)
    rest = len(found) - _MOST_IDLE
    more = (plain(f"And {rest} more."),) if rest > 0 else ()
    lines = tuple(_idle_line(each, now) for each in found[:_MOST_IDLE])
    buttons = tuple(b for each in found[:_MOST_WITH_BUTTONS] for b in _buttons(each))
    return Card(
        "Idle GPUs",
        state=f"{gpus(idle_now)} allocated and idle",
        lines=(*lines, *more),
        buttons=buttons,
    )


def life_card(life: Life) -> Card:
    """The GPU usage of one run over its lifetime."""
    run, whole = life.run, together(life.parts)
    if not life.parts:
        said = "No sample recorded a GPU for this run."
        return Card(f"GPUs of {run.reference}", lines=(plain(said),))
    facts = [("GPU-hours", plain(hours(whole.gpu_hours))), *_did(life, whole)]
    facts.extend(_per_kind(life.parts))
    if life.idle_since is not None and run.is_live:
        facts.append(("Idle since", when(life.idle_since)))
    chart = _chart(life)
    return Card(
        f"GPUs of {run.reference}",
        state=run.phase,
        facts=tuple(facts),
        charts=(chart,) if chart else (),
    )


def _did(life: Life, whole: Amounts) -> Iterator[tuple[str, Markup]]:
    """What is known of the usage of its GPUs."""
    if not whole.measured:
        yield "Busy", plain("unknown: its GPUs were not measured")
        return
    yield "Busy", plain(share(whole.efficiency))
    yield "Measured", plain(f"{share(whole.known)} of the GPU-hours")
    yield "At 0 %", plain(f"{hours(whole.idle_gpu_hours)} GPU-hours")
    yield "Memory", plain(_memory(life, whole))


def _top_row(each: Ranked) -> tuple[str, ...]:
    amounts = each.amounts
    return (
        each.who.name,
        each.who.team or "no team",
        each.who.gpu_type or UNKNOWN,
        hours(amounts.gpu_hours),
        share(amounts.efficiency),
        hours(amounts.idle_gpu_hours),
    )


def _idle_line(each: Idle, now: datetime) -> Markup:
    who = each.who
    is_person = who.person.startswith(("U", "W")) and who.person.isalnum()
    whose = person(who.person) if is_person else plain(who.person or "unknown")
    team = f" in {who.team}" if who.team else f" in namespace {who.namespace}"
    lasted = format_duration(now - each.since)
    return join(
        code(who.name),
        plain(f"{team}: {gpus(each.gpus)} GPUs at 0 % since "),
        when(each.since),
        plain(f" ({lasted}, {hours(hours_of(each.wasted.allocated))} GPU-hours). Owner: "),
        whose,
        ".",
    )


def _buttons(each: Idle) -> Iterator[Button]:
    who = each.who
    unowned = "" if who.run_id or who.person else str(who.id)
    freed = f"The run ends and frees its {gpus(each.gpus)} GPUs."
    return idle_buttons(who.name, who.run_id, unowned, freed)


def idle_buttons(name: str, run_id: str, unowned: str, freed: str) -> Iterator[Button]:
    """Buttons to stop or snooze an idle run, or to claim a workload without a known owner.

    `unowned` is the id of that workload's series. Rights are checked on a click.
    """
    if run_id:
        lost = f"{freed} Unsaved work is lost. You can start the run again."
        sure = Confirm(f"Stop {name}?"[:100], lost, "Stop it", "Keep it running")
        yield Button(STOP, f"Stop {name}"[:75], run_id, "danger", sure)
        yield Button(SNOOZE, f"Snooze {name[:60]} 4 h", run_id)
    elif unowned:
        yield Button(MINE, f"{name[:60]} is mine", unowned)


def _per_kind(parts: Sequence[SeriesUsage]) -> Iterator[tuple[str, Markup]]:
    kinds = grouped(parts, lambda each: ", ".join(x for x in (each.gpu_type, each.pool) if x))
    if len(kinds) > 1:
        for name, amounts in kinds.items():
            said = f"{hours(amounts.gpu_hours)} GPU-hours, busy {share(amounts.efficiency)}"
            yield name or UNKNOWN, plain(said)


def _memory(life: Life, whole: Amounts) -> str:
    if whole.memory is None:
        return UNKNOWN
    shares = [each.held[life.run.id].memory for each in life.slots if life.run.id in each.held]
    most = max((each for each in shares if each is not None), default=None)
    mean = f"{share(whole.memory)} on average"
    return mean if most is None else f"{mean}, {share(most)} at its peak"


def _chart(life: Life) -> Bars | None:
    """A chart of usage over the run's lifetime, in percent; None if nothing was measured."""
    held = [(each, each.held.get(life.run.id, Amounts())) for each in life.slots]
    if not any(amounts.measured for _, amounts in held):
        return None
    labels = tuple(each.at.strftime("%d %b %H:%M") for each, _ in held)
    series = (
        ChartSeries("busy", tuple(_percent(each.efficiency) for _, each in held)),
        ChartSeries("memory", tuple(_percent(each.memory) for _, each in held)),
    )
    return Bars(f"GPUs of {life.run.reference}, UTC", labels, series, "%")


def _percent(value: float | None) -> float | None:
    return None if value is None else round(100 * value, 1)
