"""The button that withdraws a request to submit a run above a cost limit."""

from bot.commands.context import Context
from bot.people.access import Right
from bot.slack.card import Reply
from bot.slack.grammar.declarations import Part
from bot.slack.markup import plain
from bot.training.requests.card import WITHDRAW

train = Part("train")


def _of_request(ctx: Context, row_id: str) -> str:
    return ctx.training.requests.get(ctx.session, row_id).team


@train.button(WITHDRAW, right=Right.RUN_SUBMIT, team=_of_request)
def click_withdraw(ctx: Context, row_id: str) -> Reply:
    """Withdraws a request that is not decided yet."""
    row = ctx.training.requests.get(ctx.session, row_id)
    ctx.training.requests.withdraw(ctx.session, ctx.caller, row, ctx.now)
    return Reply((plain("Withdrawn. Nothing was submitted."),))
