"""What is answered to those who cancel a restore: pure."""

from bot.slack.card import Button, Reply
from bot.slack.markup import code, join, plain
from bot.snapshots.restore_card import CANCEL
from bot.snapshots.revert_card import CANCEL as CANCEL_IN_PLACE
from bot.snapshots.revert_tables import Revert
from bot.snapshots.tables import Restore


def question(row: Restore) -> Reply:
    """What cancelling would do, with the button that does it."""
    lines = (
        join("PVC ", code(row.claim_name), plain(f" is being made from {row.source}. Cancelled, it"
             " is removed before it has a volume; if it gets one first, it stays.")),
    )  # fmt: skip
    return Reply(lines, buttons=(Button(CANCEL, "Cancel it", row.id, "danger"),), is_question=True)


def question_in_place(row: Revert) -> Reply:
    """What cancelling would do, with the button that does it."""
    lines = (
        join("PVC ", code(row.claim_name), " is to be put back to ", code(row.snapshot),
             ". Cancelled, it stays as it is, unless Trident has begun."),
    )  # fmt: skip
    button = Button(CANCEL_IN_PLACE, "Cancel it", row.id, "danger")
    return Reply(lines, buttons=(button,), is_question=True)


def cancelled(row: Restore) -> Reply:
    """That it is being cancelled."""
    return Reply(
        (join("PVC ", code(row.claim_name), " is not made any more. Its card follows it."),)
    )
