"""/train watch and unwatch: be notified about runs of other people."""

from bot.commands.context import Context
from bot.durations import format_duration
from bot.people.access import Right
from bot.slack.card import Button, Reply
from bot.slack.grammar.declarations import TEAM, Part
from bot.slack.grammar.parameters import Reference, RunReference
from bot.slack.markup import code, join, plain
from bot.training.tables import Run
from bot.training.watches.notices import UNWATCH
from handlers.train.runs import of_run

train = Part("train")


@train.verb(
    "watch",
    "Be notified about another person's run until it ends",
    right=Right.RUN_READ,
    mutates=True,
    repeats=True,
    examples=("watch lane", "watch lane#2"),
    team=TEAM,
)
@train.argument("run", RunReference(), help="Run")
def watch(ctx: Context, run: Reference) -> Reply:
    """Notifies the caller too, by direct message, of what the owner is notified of."""
    found = ctx.training.runs.find(ctx.session, ctx.team()[0], run)
    is_new = ctx.training.watches.watch(ctx.session, ctx.caller, found, ctx.now)
    stop = (Button(UNWATCH, "Stop watching", found.id),)
    if not is_new:
        return Reply((join("You already watch ", code(found.reference), "."),), buttons=stop)
    wait = format_duration(ctx.settings.training.long_wait)
    return Reply(
        (
            join("Watching ", code(found.reference),
                 plain(". You get a direct message when it starts after waiting for"
                       f" {wait} or longer, when 80 % of its time limit has passed, when it is"
                       " preempted, when its GPUs are idle, and when it ends.")),
        ),
        buttons=stop,
    )  # fmt: skip


@train.verb(
    "unwatch",
    "Stop being notified about another person's run",
    right=Right.RUN_READ,
    mutates=True,
    repeats=True,
    examples=("unwatch lane",),
    team=TEAM,
)
@train.argument("run", RunReference(), help="Run")
def unwatch(ctx: Context, run: Reference) -> Reply:
    """Notifies the caller no longer."""
    return _unwatched(ctx, ctx.training.runs.find(ctx.session, ctx.team()[0], run))


@train.button(UNWATCH, right=Right.RUN_READ, team=of_run, repeats=True)
def click_unwatch(ctx: Context, run_id: str) -> Reply:
    """Notifies the caller no longer."""
    return _unwatched(ctx, ctx.training.runs.get(ctx.session, run_id))


def _unwatched(ctx: Context, run: Run) -> Reply:
    was_watched = ctx.training.watches.unwatch(ctx.session, ctx.caller, run, ctx.now)
    said = "You no longer watch " if was_watched else "You do not watch "
    return Reply((join(said, code(run.reference), "."),))
