"""The buttons that have a PVC put back in place."""

from bot.access import Right
from bot.slack.card import Reply
from bot.snapshots import revert_answers as answers
from bot.snapshots.revert_card import CANCEL
from handlers.context import Context
from handlers.dataset_caches import acting_for
from handlers.snapshot_schedules import snapshot

__all__ = ["snapshot"]


@snapshot.button(answers.SAVE, right=Right.SNAPSHOT_RESTORE)
def click_saved(ctx: Context, value: str) -> Reply:
    """Asks for it, with a clone of what the PVC holds first."""
    return _asked(ctx, value, saves=True)


@snapshot.button(answers.NO_CLONE, right=Right.SNAPSHOT_RESTORE)
def click_unsaved(ctx: Context, value: str) -> Reply:
    """Asks for it, and loses what the PVC holds."""
    return _asked(ctx, value, saves=False)


@snapshot.button(CANCEL, right=Right.SNAPSHOT_RESTORE)
def click_cancel(ctx: Context, row_id: str) -> Reply:
    """Cancels it from its card."""
    row = ctx.reverts.get(ctx.session, row_id)
    caller = acting_for(ctx, row.team, Right.SNAPSHOT_RESTORE)
    return answers.cancelling(ctx.reverts.cancel(ctx.session, caller, row, ctx.now))


def _asked(ctx: Context, value: str, *, saves: bool) -> Reply:
    row_id, _, why = value.partition(":")
    row = ctx.snapshots.get(ctx.session, row_id)
    caller = acting_for(ctx, row.team, Right.SNAPSHOT_RESTORE)
    offer = ctx.reverts.offer(ctx.session, caller, row, why)
    return answers.asked(ctx.reverts.ask(ctx.session, caller, offer, ctx.now, saves=saves))
