"""/train submit --sweep: runs of one command with different values, shown by one card."""

from bot.commands.context import Context
from bot.people.access import Right
from bot.slack.card import Reply
from bot.slack.grammar.declarations import Part
from bot.slack.grammar.parameters import Reference
from bot.training.placing.limits import CostlyRunError
from bot.training.records.comparing import MOST, Side, comparison, refuse_few
from bot.training.records.spans import times_of
from bot.training.series.card import Metrics
from bot.training.series.service import series_of
from bot.training.submission.building import Submission
from bot.training.sweeps.card import COMPARE, CURVES, STOP, people_of, sweep_card
from bot.training.sweeps.curves import sweep_curves
from bot.training.sweeps.replies import receipt, stop_question, stopped
from bot.training.sweeps.tables import Sweep
from bot.training.tables import Run
from handlers.train.curves import CurvesAsked
from handlers.train.starting import requested, shortened

train = Part("train")


def submit_sweep(ctx: Context, asked: Submission) -> Reply:
    """Submits a sweep; its card in the channel shows the rest.

    If only an approval of its costs is missing, that is requested.
    """
    try:
        made = ctx.training.sweeps.submit(ctx.session, ctx.caller, asked, ctx.now)
    except CostlyRunError as costly:
        return requested(ctx, ctx.caller, costly.asked)
    return Reply((*shortened(ctx, asked.name), *receipt(made, ctx.format_command)))


def sweep_named(ctx: Context, reference: Reference) -> Sweep | None:
    """The sweep that people mean by this name; None if it is that of a run."""
    return ctx.training.sweeps.find(ctx.session, ctx.team()[0], reference)


def show_sweep(ctx: Context, sweep: Sweep) -> Reply:
    """The sweep's card, visible only to the caller."""
    cells, people = ctx.training.sweeps.cells(ctx.session, sweep), people_of(ctx.session, sweep)
    return Reply(card=sweep_card(sweep, cells, people, ctx.now, ctx.format_command))


def curves_of_sweep(ctx: Context, sweep: Sweep, asked: CurvesAsked) -> Reply:
    """The curves of its cells in one picture, of the best ones if there are many."""
    runs = ctx.training.sweeps.runs(ctx.session, sweep)
    found = [Metrics(run, series_of(ctx.session, run.id)) for run in runs]
    card = sweep_curves(sweep, found, asked.request)
    return Reply(later=lambda: Reply(card=card)) if asked.file else Reply(card=card)


def ask_to_stop(ctx: Context, sweep: Sweep) -> Reply:
    """Asks before a sweep is stopped; an error if the caller may not."""
    ctx.training.sweeps.refuse_stop(ctx.caller, sweep)
    return stop_question(sweep, ctx.training.sweeps.cells(ctx.session, sweep))


def runs_named(ctx: Context, reference: Reference) -> list[Run]:
    """The run of that name, or the best runs of the sweep of that name, as one table takes."""
    sweep = sweep_named(ctx, reference)
    if sweep is not None:
        return ctx.training.sweeps.runs(ctx.session, sweep)[:MOST]
    return [ctx.training.runs.find(ctx.session, ctx.team()[0], reference)]


def _of_sweep(ctx: Context, sweep_id: str) -> str:
    return ctx.training.sweeps.get(ctx.session, sweep_id).team


@train.button(STOP, right=Right.RUN_STOP, team=_of_sweep, repeats=True)
def click_stop_sweep(ctx: Context, sweep_id: str) -> Reply:
    """Stops the sweep of the card or the question."""
    sweep = ctx.training.sweeps.get(ctx.session, sweep_id)
    return Reply(stopped(ctx.training.sweeps.stop(ctx.session, ctx.caller, sweep, ctx.now)))


@train.button(CURVES, right=Right.RUN_READ, team=_of_sweep, repeats=True)
def click_curves_of_sweep(ctx: Context, sweep_id: str) -> Reply:
    """The curves of the card's sweep."""
    return curves_of_sweep(ctx, ctx.training.sweeps.get(ctx.session, sweep_id), CurvesAsked(""))


@train.button(COMPARE, right=Right.RUN_READ, team=_of_sweep, repeats=True)
def click_compare_sweep(ctx: Context, sweep_id: str) -> Reply:
    """The best runs of the card's sweep side by side."""
    sweep = ctx.training.sweeps.get(ctx.session, sweep_id)
    runs = ctx.training.sweeps.runs(ctx.session, sweep)[:MOST]
    refuse_few(runs, ctx.format_command(f"train compare {sweep.name}"))
    sides = [Side(run, times_of(ctx.session, run, ctx.now)) for run in runs]
    return Reply(card=comparison(sides, ctx.settings.training.prices, ctx.now))
