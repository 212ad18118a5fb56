"""What happens to a run whose data is not cached: an offer, and the button that takes it."""

from bot.access import Right
from bot.slack.card import Reply
from bot.training.offer_answers import CONFIRM, accepted
from handlers.context import Context
from handlers.dataset_caches import acting_for
from handlers.train_records import train

__all__ = ["train"]


@train.button(CONFIRM, right=Right.RUN_SUBMIT)
def click_cache_and_run(ctx: Context, offer_id: str) -> Reply:
    """Has the caches made that a run lacks, and submits it, or neither."""
    offer = ctx.offers.get(ctx.session, offer_id, ctx.caller.person, ctx.now)
    caller = acting_for(ctx, offer.team, Right.RUN_SUBMIT)
    ctx.services.access.require(caller, Right.DATASET_CACHE)
    return accepted(ctx.offers.accept(ctx.session, caller, offer, ctx.now), ctx.words)
