"""/anf grow: grow a PVC on Azure NetApp Files permanently."""

from bot.commands.context import Context
from bot.people.access import Right
from bot.slack.card import Reply
from bot.slack.grammar.container_parameters import MemoryQuantity
from bot.slack.grammar.declarations import CLUSTER, TEAM, Part
from bot.slack.markup import code, join, plain
from bot.volumes.growths.card import GO, WITHDRAW, question
from bot.volumes.growths.plan import GrowthRequest, bytes_of, read
from handlers.anf.volumes import ClaimName

anf = Part("anf")


@anf.verb(
    "grow",
    "Grow a PVC on Azure NetApp Files permanently; shows effect and cost first",
    right=Right.ANF_CHANGE,
    mutates=True,
    repeats=True,
    examples=("grow lane-data 2Ti",),
    team=TEAM,
    cluster=CLUSTER,
)
@anf.argument("claim", ClaimName(), help="PVC")
@anf.argument("size", MemoryQuantity(), help="New size")
def grow(ctx: Context, claim: str, size: str, cluster: str | None) -> Reply:
    """Answers with what it does and costs, and a button, once Azure has answered."""
    name, found = ctx.team(cluster)
    ctx.volumes.reads.configured()
    where, mine = ctx.volumes.reads.find(found, claim, cluster)
    asked = GrowthRequest(team=name, cluster=where, claim=claim, size_bytes=bytes_of(size))
    growing = ctx.volumes.growths
    growing.check(ctx.session, asked, mine)

    def later() -> Reply:
        plan, _ = growing.plan(asked, mine)
        return question(asked, plan)

    return Reply((join("Asking Azure about ", code(claim), "…"),), later=later, is_question=True)


def _of_asked(_ctx: Context, value: str) -> str:
    return read(value).team


@anf.button(GO, right=Right.ANF_CHANGE, team=_of_asked, once=True)
def click_grow(ctx: Context, value: str) -> Reply:
    """Requests the growth; its card in the channel shows the progress."""
    asked = read(value)
    _, team = ctx.team(asked.cluster)
    _, mine = ctx.volumes.reads.find(team, asked.claim, asked.cluster)
    ctx.volumes.growths.begin(ctx.session, ctx.caller, asked, mine, ctx.now)
    return Reply((plain("Requested. Its card in this channel shows the progress."),))


def _of_growth(ctx: Context, row_id: str) -> str:
    return ctx.volumes.growths.get(ctx.session, row_id).team


@anf.button(WITHDRAW, right=Right.ANF_CHANGE, team=_of_growth)
def click_withdraw_growth(ctx: Context, row_id: str) -> Reply:
    """Withdraws a growth that has not started."""
    row = ctx.volumes.growths.get(ctx.session, row_id)
    ctx.volumes.growths.withdraw(ctx.session, ctx.caller, row, ctx.now)
    return Reply((plain("Withdrawn. Nothing was changed."),))
