"""The buttons of reverts in place."""

from bot.commands.context import Context
from bot.people.access import Right
from bot.slack.card import Reply
from bot.slack.grammar.declarations import Part
from bot.snapshots.reverts import replies as answers
from bot.snapshots.reverts.card import CANCEL
from handlers.snapshot.snapshots import of_snapshot

snapshot = Part("snapshot")


@snapshot.button(answers.SAVE, right=Right.SNAPSHOT_RESTORE, team=of_snapshot, once=True)
def click_saved(ctx: Context, value: str) -> Reply:
    """Requests a revert, with a clone of the PVC first."""
    return _asked(ctx, value, saves=True)


@snapshot.button(answers.NO_CLONE, right=Right.SNAPSHOT_RESTORE, team=of_snapshot, once=True)
def click_unsaved(ctx: Context, value: str) -> Reply:
    """Requests a revert without a clone."""
    return _asked(ctx, value, saves=False)


def _of_revert(ctx: Context, row_id: str) -> str:
    return ctx.snapshots.reverts.get(ctx.session, row_id).team


@snapshot.button(CANCEL, right=Right.SNAPSHOT_RESTORE, team=_of_revert)
def click_cancel(ctx: Context, row_id: str) -> Reply:
    """Cancels the revert of a card."""
    row = ctx.snapshots.reverts.get(ctx.session, row_id)
    return answers.cancelling(ctx.snapshots.reverts.cancel(ctx.session, ctx.caller, row, ctx.now))


def _asked(ctx: Context, value: str, *, saves: bool) -> Reply:
    row_id, _, why = value.partition(":")
    row = ctx.snapshots.snapshots.get(ctx.session, row_id)
    offer = ctx.snapshots.reverts.offer(ctx.session, ctx.caller, row, why)
    return answers.asked(
        ctx.snapshots.reverts.ask(ctx.session, ctx.caller, offer, ctx.now, saves=saves)
    )
