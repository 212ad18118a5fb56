"""The card of a sweep: a table of its cells, best first. Only the renderer reads rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec
from sqlmodel import Session

from bot.clock import Clock
from bot.durations import format_duration
from bot.slack.card import Button, Card, Confirm, Table, Tone
from bot.slack.markup import FormatCommand, Markup, code, join, plain, sentence, when
from bot.training.kinds import gpus_of
from bot.training.spec import RunSpec
from bot.training.sweeps.cells import Cell, best_of, cell_name, cells_of, counts_of, ranked
from bot.training.sweeps.early import FEWEST_VALUES
from bot.training.sweeps.making import places_of
from bot.training.sweeps.tables import Sweep, SweepPhase
from bot.training.tables import SWEEP, Run, RunIntent, RunPhase
from bot.training.templates.candidates import Candidate, current
from bot.training.wording import STOPPING, gpus, listed, name_of, phase_words

STOP, COMPARE, CURVES = "train.stop-sweep", "train.compare-sweep", "train.curves-of-sweep"
_COMPARED = 2
_NAMED = 10


@dataclass(frozen=True)
class SweepPeople:
    """The names of who submitted a sweep, and of who stopped it; a name notifies no one."""

    owner: str
    stopper: str = ""


class SweepRenderer:
    """Renders sweeps; `format_command` writes a command as people type it."""

    kind = SWEEP

    def __init__(self, clock: Clock, format_command: FormatCommand) -> None:
        self._clock = clock
        self._format_command = format_command

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The sweep's card; the same in every channel."""
        del channel
        sweep = session.get(Sweep, subject_id)
        if sweep is None:
            return None
        cells, people = cells_of(session, sweep), people_of(session, sweep)
        return sweep_card(sweep, cells, people, self._clock.now(), self._format_command)


def people_of(session: Session, sweep: Sweep) -> SweepPeople:
    """The names of the people of a sweep."""
    stopper = name_of(session, sweep.workspace_id, sweep.stop_by) if sweep.stop_at else ""
    return SweepPeople(name_of(session, sweep.workspace_id, sweep.person), stopper)


def sweep_card(
    sweep: Sweep,
    cells: Sequence[Cell],
    people: SweepPeople,
    now: datetime,
    format_command: FormatCommand,
) -> Card:
    """The card of a sweep at this moment."""
    state, tone = _state(sweep, cells)
    again = format_command(f"train resubmit {cell_name(sweep.name, 1)}")
    footer = join(plain("Its cells are runs: "), code(again), plain(" starts one again."))
    return Card(
        title=f"Sweep {sweep.name}",
        state=state,
        tone=tone,
        lines=tuple(_lines(sweep, cells, people)),
        facts=tuple(_facts(sweep, cells, people)),
        table=_table(sweep, cells, now),
        buttons=tuple(_buttons(sweep, cells)),
        footer=(footer,),
    )


def counts_words(sweep: Sweep, cells: Sequence[Cell]) -> str:
    """How many of its cells stand how, as a sentence."""
    counts = counts_of(cells)
    early = sum(
        each.run is not None
        and each.run.phase == RunPhase.STOPPED
        and each.run.id in sweep.early_stops
        for each in cells
    )
    absent = "not submitted yet" if sweep.phase == SweepPhase.RUNNING else "not submitted"
    parts = (
        (counts.succeeded, "succeeded"),
        (counts.running, "running"),
        (counts.waiting, "waiting"),
        (counts.failed, "failed"),
        (counts.stopped - early, "stopped"),
        (early, "stopped early"),
        (counts.absent, absent),
    )
    told = ", ".join(f"{count} {word}" for count, word in parts if count)
    return f"{len(cells)} cell{'' if len(cells) == 1 else 's'}: {told}."


def best_words(sweep: Sweep, cells: Sequence[Cell]) -> Iterator[Markup]:
    """Which of its cells is best, and with which values."""
    if not sweep.metric:
        return
    best = best_of(sweep, cells)
    if best is None or best.run is None:
        yield plain(f"No {sweep.metric} was read from a log{' yet' if sweep.is_live else ''}.")
        return
    values = ", ".join(f"{name}={value}" for name, value in best.values.items())
    found = f" with {sweep.metric} {best.run.results[sweep.metric]} ({values})."
    so_far = plain("Best so far: " if sweep.is_live else "Best: ")
    yield join(so_far, code(best.run.reference), plain(found))


def stop_words(cells: Sequence[Cell]) -> str:
    """What stopping a sweep comes to, as a sentence."""
    counts = counts_of(cells)
    is_one = counts.live == 1
    stops = (
        "1 live run of it is stopped" if is_one else f"{counts.live} live runs of it are stopped"
    )
    left = f", and {counts.absent} more will not be submitted" if counts.absent else ""
    lost = "its last checkpoint" if is_one else "their last checkpoints"
    return f"{stops}{left}. Work since {lost} is lost."


def stop_button(sweep: Sweep, cells: Sequence[Cell]) -> Button:
    """The button that stops a sweep, with the consequence in numbers."""
    title = f"Stop sweep {sweep.name}?"[:100]
    question = Confirm(title, stop_words(cells), "Stop it", "Keep it running")
    return Button(STOP, "Stop", sweep.id, "danger", question)


def can_compare(cells: Sequence[Cell]) -> bool:
    """Whether at least two of its runs have started."""
    started = [each for each in cells if each.run is not None and each.run.started_at is not None]
    return len(started) >= _COMPARED


def _state(sweep: Sweep, cells: Sequence[Cell]) -> tuple[str, Tone]:
    counts = counts_of(cells)
    match SweepPhase(sweep.phase):
        case SweepPhase.STOPPING:
            return STOPPING, Tone.WARNING if sweep.reason else Tone.WORKING
        case SweepPhase.STOPPED:
            return "Stopped", Tone.STOPPED
        case SweepPhase.ENDED if counts.succeeded:
            return "Ended", Tone.WARNING if counts.failed else Tone.GOOD
        case SweepPhase.ENDED:
            return "Ended", Tone.BAD if counts.failed else Tone.STOPPED
        case _:
            usual = Tone.WORKING if counts.running else Tone.WAITING
            state = "Running" if counts.running else "Waiting"
            return state, Tone.WARNING if sweep.obstacle or sweep.trouble else usual


def _lines(sweep: Sweep, cells: Sequence[Cell], people: SweepPeople) -> Iterator[Markup]:
    yield plain(counts_words(sweep, cells))
    yield from best_words(sweep, cells)
    yield from _unjudged_words(sweep)
    if sweep.reason and sweep.is_live:
        yield plain("It submits no more runs; those that are live go on.")
    for line in (sweep.reason, sweep.unblock, sweep.obstacle):
        if line:
            yield sentence(line)
    if sweep.trouble and sweep.is_live:
        yield sentence(f"{sweep.trouble} Retrying.")
    if sweep.stop_at is not None:
        yield join("Stopped by ", plain(people.stopper), ", ", when(sweep.stop_at), ".")


def _unjudged_words(sweep: Sweep) -> Iterator[Markup]:
    if sweep.unjudged and sweep.is_live:
        names = sweep.unjudged[:_NAMED]
        more = len(sweep.unjudged) - len(names)
        yield plain(
            f"Not stopped early, as their logs have no {sweep.metric} with a step or epoch so far:"
            f" {', '.join(names)}{f' and {more} more' if more else ''}."
        )


def _rule_words(sweep: Sweep) -> str:
    """The rule that stops cells early, with its options."""
    if sweep.warm_up is None:
        after = f"from the {FEWEST_VALUES}th value on"
    else:
        after = f"from step or epoch {sweep.warm_up:,} on" if sweep.warm_up else "from the start"
    others = "1 other cell" if sweep.min_cells == 1 else f"{sweep.min_cells} other cells"
    return f"{sweep.stop_early} rule, {after}, compared with at least {others}"


def _facts(
    sweep: Sweep, cells: Sequence[Cell], people: SweepPeople
) -> Iterator[tuple[str, Markup]]:
    spec = msgspec.convert(sweep.spec, RunSpec)
    yield "Image", code(spec.image)
    yield "GPUs", plain(f"{gpus(gpus_of(spec))} for each cell")
    if sweep.at_most is not None and sweep.at_most < len(cells):
        yield "At once", plain(f"{sweep.at_most} at most")
    if sweep.places:
        yield from _place_facts(places_of(sweep))
    if sweep.metric:
        yield "Best", plain(f"{sweep.best} of {sweep.metric}, the last value in the log")
    if sweep.stop_early:
        yield "Early stop", plain(_rule_words(sweep))
    yield "By", plain(people.owner)
    yield "Submitted", when(sweep.asked_at)
    if sweep.ended_at is not None:
        yield "Ended", when(sweep.ended_at)


def _place_facts(places: Sequence[Candidate]) -> Iterator[tuple[str, Markup]]:
    """Where each run waits, in order, and what it costs there."""
    *waited, last = places
    order = [f"{each.template} for {format_duration(each.after)}" for each in waited]
    yield "Templates", plain(", then ".join([*order, last.template]))
    costs = [f"{each.price} on {each.template}" for each in places if each.price]
    if costs:
        yield "Cost", plain(f"{listed(costs)}, for each cell")


def _table(sweep: Sweep, cells: Sequence[Cell], now: datetime) -> Table:
    names = tuple(cells[0].values)
    measured = (sweep.metric,) if sweep.metric else ()
    # A cell may be submitted again on templates that its sweep does not name.
    is_placed = bool(sweep.places) or any(_template_of(each.run) for each in cells)
    template = ("Template",) if is_placed else ()
    rows = tuple(_row(sweep, each, now, is_placed=is_placed) for each in ranked(sweep, cells))
    return Table(("Run", *names, *template, "State", *measured, "Ran"), rows)


def _row(sweep: Sweep, cell: Cell, now: datetime, *, is_placed: bool) -> tuple[str, ...]:
    run = cell.run
    name = run.reference if run is not None else cell_name(sweep.name, cell.number)
    result = run.results.get(sweep.metric, "") if run is not None else ""
    measured = (result,) if sweep.metric else ()
    template = (_template_of(run),) if is_placed else ()
    state = _state_of(sweep, run)
    return (name, *cell.values.values(), *template, state, *measured, _ran(run, now))


def _template_of(run: Run | None) -> str:
    """The compute template where a run is, or was last; empty if it names none."""
    here = current(run) if run is not None else None
    if run is None or here is None:
        return ""
    is_leaving = run.is_live and run.moving_to is not None
    return f"{here.template}, leaving" if is_leaving else here.template


def _state_of(sweep: Sweep, run: Run | None) -> str:
    if run is None:
        return "Not submitted"
    early = sweep.early_stops.get(run.id)
    if early is not None and (run.is_live or run.phase == RunPhase.STOPPED):
        told = f"{early['at']}: {early['value']}, median {early['median']}"
        return f"{'Stopping' if run.is_live else 'Stopped'} early at {told}"
    is_stopping = run.is_live and (run.wanted == RunIntent.STOP or run.removing is not None)
    words = phase_words(run)
    return STOPPING if is_stopping else words[:1].upper() + words[1:]


def _ran(run: Run | None, now: datetime) -> str:
    if run is None or run.started_at is None:
        return ""
    until = run.ended_at or now
    return format_duration(max(until - run.started_at, now - now))


def _buttons(sweep: Sweep, cells: Sequence[Cell]) -> Iterator[Button]:
    if can_compare(cells):
        yield Button(COMPARE, "Compare", sweep.id)
    if any(each.run is not None and each.run.results for each in cells):
        yield Button(CURVES, "Curves", sweep.id)
    if sweep.is_live and sweep.stop_at is None:
        yield stop_button(sweep, cells)
