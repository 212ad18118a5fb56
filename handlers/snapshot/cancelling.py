"""/snapshot cancel: cancel restores, clones and reverts in progress."""

from bot.commands.context import Context
from bot.people.access import Right
from bot.slack.card import Reply
from bot.slack.grammar.declarations import TEAM, Part
from bot.snapshots.cancelling import replies as answers
from bot.snapshots.cancelling import service
from bot.snapshots.restores.card import CANCEL
from bot.snapshots.tables import Restore
from handlers.snapshot.snapshots import ClaimName

snapshot = Part("snapshot")


@snapshot.verb(
    "cancel",
    "Cancel a restore or clone in progress; asks first",
    right=Right.SNAPSHOT_RESTORE,
    examples=("cancel imagenet-before",),
    team=TEAM,
)
@snapshot.argument("name", ClaimName(), help="PVC that is being created or reverted")
def cancel(ctx: Context, name: str) -> Reply:
    """Answers with what that would do, and a button."""
    row = service.waiting(ctx.session, ctx.team()[0], name)
    if isinstance(row, Restore):
        service.refuse(ctx.caller, row)
        return answers.question(row)
    return answers.question_in_place(row)


def _of_restore(ctx: Context, row_id: str) -> str:
    return service.get(ctx.session, row_id).team


@snapshot.button(CANCEL, right=Right.SNAPSHOT_RESTORE, team=_of_restore)
def click_cancel_restore(ctx: Context, row_id: str) -> Reply:
    """Cancels the restore of a card or a question."""
    row = service.get(ctx.session, row_id)
    return answers.cancelled(service.cancel(ctx.session, ctx.caller, row, ctx.now))
