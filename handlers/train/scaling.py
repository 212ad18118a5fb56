"""/train scale: elastic runs with more or fewer nodes."""

from bot.commands.context import Context
from bot.people.access import Right
from bot.slack.card import Reply
from bot.slack.grammar.declarations import TEAM, Part
from bot.slack.grammar.parameters import Reference, RunReference, WholeNumber
from bot.slack.markup import code, join, plain
from bot.training.runs.card import requeue_button
from bot.training.scaling import RestartOffer
from handlers.button_values import count_of, row_of
from handlers.train.runs import of_run

train = Part("train")


@train.verb(
    "scale", "Scale an elastic run to more or fewer nodes", right=Right.RUN_STOP,
    mutates=True, examples=("scale wide 2",), team=TEAM,
)  # fmt: skip
@train.argument("run", RunReference(), help="Run")
@train.argument("nodes", WholeNumber(1, 512), help="Number of nodes")
def scale(ctx: Context, run: Reference, nodes: int) -> Reply:
    """Scales a run; or says why it would have to restart, with a button that does it."""
    found = ctx.training.runs.find(ctx.session, ctx.team()[0], run)
    done = ctx.training.scaling.scale(ctx.session, ctx.caller, found, nodes, ctx.now)
    if isinstance(done, RestartOffer):
        how = "To change its nodes, it has to wait in its queue again and restart from its last"
        lines = (plain(done.why), plain(f"{how} checkpoint, if it wrote one."))
        return Reply(lines, buttons=(requeue_button(found, nodes),))
    said = join(
        "Scaling ", code(found.reference), f" to {_nodes(nodes)}. Its card shows the progress."
    )
    return Reply((said, plain(done.growing)) if done.growing else (said,))


@train.button("train.requeue", right=Right.RUN_STOP, team=of_run)
def click_requeue(ctx: Context, value: str) -> Reply:
    """Stops the run, and restarts it with the nodes of the button."""
    run, nodes = ctx.training.runs.get(ctx.session, row_of(value)), count_of(value)
    ctx.training.scaling.requeue(ctx.session, ctx.caller, run, nodes, ctx.now)
    said = f". Once it has ended, it starts again on {_nodes(nodes)}."
    return Reply((join("Stopping ", code(run.reference), said),))


def _nodes(count: int) -> str:
    return f"{count} node{'' if count == 1 else 's'}"
