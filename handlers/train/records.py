"""/train export, compare and presets: records of runs, comparisons, and sets of options."""

from collections.abc import Sequence
from enum import StrEnum

from bot.commands.context import Context
from bot.errors import UsageError
from bot.people.access import Right
from bot.slack.card import Reply
from bot.slack.grammar.declarations import TEAM, Part, of_no_team
from bot.slack.grammar.parameters import Choice, Reference, RunReference
from bot.training.links import LINK
from bot.training.records.comparing import Side, comparison, refuse_few, refuse_many
from bot.training.records.epoch_scaling import epoch_comparison
from bot.training.records.lineage import lineage_of
from bot.training.records.record import export_card
from bot.training.records.spans import times_of
from bot.training.records.throughput_scaling import throughput_comparison
from bot.training.runs.card import CURVES
from bot.training.series.service import series_of
from bot.training.submission.presets import presets_card, presets_of
from bot.training.tables import Run
from handlers.train.curves import (
    CURVES_HELP,
    FILE_HELP,
    OVER,
    OVER_HELP,
    CurvesAsked,
    curves_of,
)
from handlers.train.parameters import MetricNames
from handlers.train.runs import of_run
from handlers.train.sweeps import runs_named

train = Part("train")


class By(StrEnum):
    """What is compared: runs as a whole, or throughput or epoch times by number of nodes."""

    RUN = "run"
    NODES = "nodes"
    EPOCH = "epoch"


@train.verb(
    "export", "The full record of a run, as JSON", right=Right.RUN_READ,
    examples=("export lane", "export lane#2"), team=TEAM,
)  # fmt: skip
@train.argument("run", RunReference(), help="Run")
def export(ctx: Context, run: Reference) -> Reply:
    """The record without secrets, visible only to the caller."""
    found = ctx.training.runs.find(ctx.session, ctx.team()[0], run)
    times, lineage = times_of(ctx.session, found, ctx.now), lineage_of(ctx.session, found)
    series = series_of(ctx.session, found.id)
    return Reply(card=export_card(found, times, ctx.now, lineage, series))


@train.button(CURVES, right=Right.RUN_READ, team=of_run, repeats=True)
def click_curves(ctx: Context, run_id: str) -> Reply:
    """The curves of the card's run."""
    return curves_of(ctx, [ctx.training.runs.get(ctx.session, run_id)], CurvesAsked(""))


@train.verb(
    "compare", "Runs side by side: time, speed-up, efficiency, cost", right=Right.RUN_READ,
    examples=(
        "compare lane lane#2", "compare one-gpu three-gpus", "compare one one#2 two --by nodes",
        "compare wide wide#2 --by epoch", "compare lane lane#2 --curves loss --over epoch",
    ), team=TEAM, shares=True,
)  # fmt: skip
@train.argument(
    "runs", RunReference(), multiple=True, help="Runs, or a sweep; the first is the baseline"
)
@train.option(
    "--by", Choice(*By), default=By.RUN,
    help="What to compare: whole runs, or throughput or epoch times by number of nodes",
)  # fmt: skip
@train.option("--curves", MetricNames(), bare="", help=CURVES_HELP)
@train.option("--over", OVER, help=OVER_HELP)
@train.option("--file", flag=True, help=FILE_HELP)
def compare(
    ctx: Context,
    runs: tuple[Reference, ...],
    *,
    by: str,
    curves: str | None,
    over: str | None,
    file: bool,
) -> Reply:
    """Curves or a table of the runs, or by number of nodes; some are unknown of a live run."""
    asked = CurvesAsked(curves, over, file)
    asked.refuse_alone(ctx.format_command("train compare lane lane#2 --curves"))
    found = [run for each in runs for run in runs_named(ctx, each)]
    if curves is not None:
        return _curves(ctx, found, asked, By(by))
    return _compared(ctx, found, By(by))


def _curves(ctx: Context, found: Sequence[Run], asked: CurvesAsked, by: By) -> Reply:
    """The curves of the runs in one picture."""
    example = ctx.format_command("train compare lane lane#2 --curves loss")
    if by is not By.RUN:
        raise UsageError(
            f"`--by {by}` compares times, and `--curves` draws metrics.",
            f"Leave one of them out, for example `{example}`.",
        )
    refuse_few(found, example)
    return curves_of(ctx, found, asked)


def _compared(ctx: Context, found: Sequence[Run], by: By) -> Reply:
    """The table of the runs, or by number of nodes."""
    if by == By.EPOCH:
        example = ctx.format_command("train compare wide wide#2 --by epoch")
        refuse_many(found, example)
        return Reply(card=epoch_comparison(found, example))
    by_nodes = by == By.NODES
    example = "train compare one one#2 two --by nodes" if by_nodes else "train compare lane lane#2"
    refuse_few(found, ctx.format_command(example))
    sides = [Side(run, times_of(ctx.session, run, ctx.now)) for run in found]
    if by_nodes:
        return Reply(card=throughput_comparison(sides, ctx.format_command(example)))
    return Reply(card=comparison(sides, ctx.settings.training.prices, ctx.now))


@train.verb(
    "presets",
    "Named sets of options for submit",
    right=Right.RUN_READ,
    examples=("presets",),
    team=TEAM,
)
def presets(ctx: Context) -> Reply:
    """The team's presets, the options they set, and those they lock."""
    name, found = ctx.team()
    return Reply(card=presets_card(name, presets_of(ctx.settings, found)))


@train.button(LINK, right=Right.WHOAMI, team=of_no_team, repeats=True)
def click_link(_ctx: Context, _run_id: str) -> Reply:
    """Nothing to say: Slack opened the address, and only reports the click."""
    return Reply()
