"""Ephemeral answers of `snapshot cancel`. Pure: no I/O."""

from bot.slack.card import Button, Reply
from bot.slack.markup import code, join, plain
from bot.snapshots.restores.card import CANCEL
from bot.snapshots.reverts.card import CANCEL as CANCEL_IN_PLACE
from bot.snapshots.tables import Restore, Revert


def question(row: Restore) -> Reply:
    """What cancelling would do, with the button that cancels it."""
    lines = (
        join("PVC ", code(row.claim_name), plain(f" is being created from {row.source}. Cancelling"
             " deletes it before it has a volume. If it gets a volume first, it stays.")),
    )  # fmt: skip
    return Reply(lines, buttons=(Button(CANCEL, "Cancel it", row.id, "danger"),), is_question=True)


def question_in_place(row: Revert) -> Reply:
    """What cancelling would do, with the button that cancels it."""
    lines = (
        join("PVC ", code(row.claim_name), " is to be reverted to ", code(row.snapshot),
             ". Cancelling leaves it unchanged, unless Trident has started."),
    )  # fmt: skip
    button = Button(CANCEL_IN_PLACE, "Cancel it", row.id, "danger")
    return Reply(lines, buttons=(button,), is_question=True)


def cancelled(row: Restore) -> Reply:
    """The answer to a click on Cancel."""
    return Reply((join("Cancelling PVC ", code(row.claim_name), ". Its card shows the progress."),))
