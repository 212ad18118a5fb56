"""/anf repair: update Trident's record of a moved volume."""

from bot.commands.context import Context
from bot.people.access import Right
from bot.slack.card import Reply
from bot.slack.grammar.declarations import CLUSTER, TEAM, Part
from bot.slack.markup import code, join, plain
from bot.volumes.repairs.card import GO, WITHDRAW, question
from bot.volumes.repairs.plan import read
from handlers.anf.volumes import ClaimName

anf = Part("anf")


@anf.verb(
    "repair",
    "Tell Trident where a moved volume is; shows every write, and another person approves",
    right=Right.ANF_REPAIR,
    mutates=True,
    repeats=True,
    examples=("repair lane-data", "repair lane-data --dry-run"),
    team=TEAM,
    cluster=CLUSTER,
)
@anf.argument("claim", ClaimName(), help="PVC")
@anf.option("--dry-run", "is_trial", flag=True, help="Only show what would be written")
def repair(ctx: Context, claim: str, *, is_trial: bool, cluster: str | None) -> Reply:
    """Answers with the two writes and a button, once Azure and Trident have answered."""
    name, found = ctx.team(cluster)
    anf_settings = ctx.volumes.reads.configured()
    where, mine = ctx.volumes.reads.find(found, claim, cluster)
    repairs = ctx.volumes.repairs

    def later() -> Reply:
        return question(repairs.plan(name, where, mine), anf_settings, is_trial=is_trial)

    return Reply(
        (join("Asking Azure and Trident about ", code(claim), "…"),), later=later, is_question=True
    )


def _of_plan(_ctx: Context, value: str) -> str:
    return read(value).team


@anf.button(GO, right=Right.ANF_REPAIR, team=_of_plan, once=True)
def click_repair(ctx: Context, value: str) -> Reply:
    """Requests the repair; its card in the channel shows the progress."""
    ctx.volumes.repairs.ask(ctx.session, ctx.caller, read(value), ctx.now)
    return Reply((plain("Requested. Its card in this channel shows the progress."),))


def _of_repair(ctx: Context, row_id: str) -> str:
    return ctx.volumes.repairs.get(ctx.session, row_id).team


@anf.button(WITHDRAW, right=Right.ANF_REPAIR, team=_of_repair)
def click_withdraw_repair(ctx: Context, row_id: str) -> Reply:
    """Withdraws a repair that has not been approved yet."""
    row = ctx.volumes.repairs.get(ctx.session, row_id)
    ctx.volumes.repairs.withdraw(ctx.session, ctx.caller, row, ctx.now)
    return Reply((plain("Withdrawn. Nothing was changed."),))
