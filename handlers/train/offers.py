"""The button that caches the data of a run and submits the run."""

from bot.commands.context import Context
from bot.people.access import Right
from bot.slack.card import Reply
from bot.slack.grammar.declarations import Part
from bot.training.offers.replies import CONFIRM, accepted

train = Part("train")


def _of_offer(ctx: Context, offer_id: str) -> str:
    return ctx.training.offers.get(ctx.session, offer_id, ctx.caller.person, ctx.now).team


@train.button(CONFIRM, right=Right.RUN_SUBMIT, team=_of_offer, repeats=True)
def click_cache_and_run(ctx: Context, offer_id: str) -> Reply:
    """Creates the missing caches of a run and submits it, or neither."""
    offer = ctx.training.offers.get(ctx.session, offer_id, ctx.caller.person, ctx.now)
    ctx.require(Right.DATASET_CACHE)
    return accepted(
        ctx.training.offers.accept(ctx.session, ctx.caller, offer, ctx.now), ctx.format_command
    )
