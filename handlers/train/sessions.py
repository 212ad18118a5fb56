"""/train open and extend: open interactive sessions and extend them."""

from datetime import timedelta

from bot.commands.context import Context
from bot.people.access import Right
from bot.slack.card import Reply
from bot.slack.grammar.declarations import TEAM, Part
from bot.slack.grammar.parameters import Duration, Reference, RunReference
from bot.slack.markup import code, join, when
from bot.training.runs.replies import extended, opened
from bot.training.tables import Run
from handlers.button_values import moment_of, row_of
from handlers.train.runs import of_run

train = Part("train")


@train.verb(
    "open",
    "How to open your interactive session",
    right=Right.RUN_READ,
    examples=("open nb",),
    team=TEAM,
)
@train.argument("run", RunReference(), help="Session")
def open_session(ctx: Context, run: Reference) -> Reply:
    """Its address with the token, visible only to its owner."""
    found = ctx.training.runs.find(ctx.session, ctx.team()[0], run)
    ctx.training.sessions.refuse_opening(ctx.caller, found)
    return _access_of(ctx, found)


@train.verb(
    "extend", "Extend an interactive session", right=Right.RUN_SUBMIT, mutates=True,
    examples=("extend nb 2h",), team=TEAM,
)  # fmt: skip
@train.argument("run", RunReference(), help="Session")
@train.argument("time", Duration(), help="Time to add")
def extend(ctx: Context, run: Reference, time: timedelta) -> Reply:
    """Extends a session; the answer says until when it runs."""
    found = ctx.training.runs.find(ctx.session, ctx.team()[0], run)
    return Reply(
        extended(ctx.training.sessions.extend(ctx.session, ctx.caller, found, time, ctx.now))
    )


@train.button("train.open", right=Right.RUN_READ, team=of_run, repeats=True)
def click_open(ctx: Context, run_id: str) -> Reply:
    """How to open the card's session."""
    run = ctx.training.runs.get(ctx.session, run_id)
    ctx.training.sessions.refuse_opening(ctx.caller, run)
    return _access_of(ctx, run)


@train.button("train.extend", right=Right.RUN_SUBMIT, team=of_run, anywhere=True, repeats=True)
def click_extend(ctx: Context, value: str) -> Reply:
    """Extends the session until the moment in the value of the button."""
    run, until = ctx.training.runs.get(ctx.session, row_of(value)), moment_of(value)
    return Reply(
        extended(ctx.training.sessions.extend_until(ctx.session, ctx.caller, run, until, ctx.now))
    )


@train.button("train.keep", right=Right.RUN_SUBMIT, team=of_run, anywhere=True)
def click_keep(ctx: Context, run_id: str) -> Reply:
    """Keeps an idle session for a while."""
    run = ctx.training.runs.get(ctx.session, run_id)
    until = ctx.training.idling.keep(ctx.session, ctx.caller, run, ctx.now)
    return Reply(
        (join("Keeping ", code(run.reference), ", idle or not, until ", when(until), "."),)
    )


def _access_of(ctx: Context, run: Run) -> Reply:
    reads = ctx.training.reads
    return Reply(later=lambda: opened(run, reads.access(run)))
