"""/train scale: elastic runs with more or fewer nodes."""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import structs

from bot.commands.context import Context
from bot.people.access import Right
from bot.slack.card import Reply
from bot.slack.grammar.declarations import TEAM, Part, Verb
from bot.slack.grammar.form_plans import FormPlan
from bot.slack.grammar.parameters import Reference, RunReference, WholeNumber
from bot.slack.markup import Markup, code, join, plain
from bot.training.kinds import gpus_of
from bot.training.runs.card import requeue_button
from bot.training.runs.sizes import wanted_nodes
from bot.training.scaling import RestartOffer
from bot.training.spec import spec_of
from bot.training.tables import Run
from bot.training.wording import gpus
from handlers.button_values import count_of, row_of
from handlers.train.runs import of_run

train = Part("train")


@dataclass(frozen=True)
class ScaleOptions:
    """The options of `/train scale`."""

    run: Reference
    nodes: int


def _foresee(ctx: Context, _verb: Verb, asked: ScaleOptions) -> Sequence[Markup]:
    found = ctx.training.runs.find(ctx.session, ctx.team()[0], asked.run)
    outcome = ctx.training.scaling.foresee(ctx.caller, found, asked.nodes)
    if isinstance(outcome, RestartOffer):
        return _restart(outcome)
    now, then = (_size(found, nodes) for nodes in (wanted_nodes(found), asked.nodes))
    would = join(code(found.reference), f" has {now}. It would have {then}.")
    return (would, plain(outcome.growing)) if outcome.growing else (would,)


@train.verb(
    "scale", "Scale an elastic run to more or fewer nodes", right=Right.RUN_STOP,
    mutates=True, into=ScaleOptions, examples=("scale wide 2",), team=TEAM,
    form=FormPlan(watched=("run", "nodes"), foresee=_foresee),
)  # fmt: skip
@train.argument("run", RunReference(), help="Run")
@train.argument("nodes", WholeNumber(1, 512), help="Number of nodes")
def scale(ctx: Context, asked: ScaleOptions) -> Reply:
    """Scales a run; or says why it would have to restart, with a button that does it."""
    found = ctx.training.runs.find(ctx.session, ctx.team()[0], asked.run)
    done = ctx.training.scaling.scale(ctx.session, ctx.caller, found, asked.nodes, ctx.now)
    if isinstance(done, RestartOffer):
        return Reply(_restart(done), buttons=(requeue_button(found, asked.nodes),))
    said = join(
        "Scaling ",
        code(found.reference),
        f" to {_nodes(asked.nodes)}. Its card shows the progress.",
    )
    return Reply((said, plain(done.growing)) if done.growing else (said,))


@train.button("train.requeue", right=Right.RUN_STOP, team=of_run)
def click_requeue(ctx: Context, value: str) -> Reply:
    """Stops the run, and restarts it with the nodes of the button."""
    run, nodes = ctx.training.runs.get(ctx.session, row_of(value)), count_of(value)
    ctx.training.scaling.requeue(ctx.session, ctx.caller, run, nodes, ctx.now)
    said = f". Once it has ended, it starts again on {_nodes(nodes)}."
    return Reply((join("Stopping ", code(run.reference), said),))


def _restart(offer: RestartOffer) -> tuple[Markup, ...]:
    how = "To change its nodes, it has to wait in its queue again and restart from its last"
    return (plain(offer.why), plain(f"{how} checkpoint, if it wrote one."))


def _size(run: Run, nodes: int) -> str:
    return f"{_nodes(nodes)} with {gpus(gpus_of(structs.replace(spec_of(run), nodes=nodes)))}"


def _nodes(count: int) -> str:
    return f"{count} node{'' if count == 1 else 's'}"
