"""What is answered to those who have a PVC put back in place: pure."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from bot.durations import format_duration
from bot.slack.card import Button, Reply
from bot.slack.markup import Markup, code, join, plain, sentence, when
from bot.snapshots.revert_tables import Revert
from bot.snapshots.reverting import Offer

SAVE, NO_CLONE = "snapshot.revert-saved", "snapshot.revert-unsaved"


def offered(offer: Offer, now: datetime) -> Reply:
    """What it would do, with a button that saves first, and one that does not."""
    row = offer.snapshot
    shows = row.taken_at or row.asked_at
    lasted = format_duration(max(now - shows, timedelta()))
    value = f"{row.id}:{offer.why}"
    plain_one = Button(NO_CLONE, "Ask, without a clone", value, "danger")
    saving = Button(SAVE, "Clone it first, and ask", value, "primary")
    clone = (
        sentence(offer.unsaved)
        if offer.unsaved
        else plain(
            "A clone of what it holds can be made first, as a PVC of its own that stays; it takes"
            " as much room as your store's clones take. ONTAP splits it off first, which takes as"
            " much room as the PVC holds, and may take hours: until then it refuses to put the PVC"
            " back, and it is tried again."
        )
    )
    return Reply(
        (
            join("PVC ", code(row.claim_name), " itself would hold what ", code(row.name),
                 " shows, as at ", when(shows), plain(f". What was written in the last {lasted} is"
                 " lost there. This cannot be undone.")),
            clone,
            plain("Somebody else has to approve it, and nothing may mount the PVC meanwhile."),
        ),
        buttons=(plain_one,) if offer.unsaved else (saving, plain_one),
        is_question=True,
    )  # fmt: skip


def asked(row: Revert) -> Reply:
    """That it waits for somebody's approval."""
    return Reply(
        (
            join("It is asked to put ", code(row.claim_name), " back to ", code(row.snapshot), "."),
            join("Its card in this channel follows it. Until then no snapshot is taken of the PVC,"
                 " because Trident goes back to the newest only."),
        )
    )  # fmt: skip


def cancelling(row: Revert) -> Reply:
    """That it is cancelled, as far as it can be."""
    return Reply((join("The restore of ", code(row.claim_name), " in place is being cancelled,"
                       " unless Trident has begun. Its card follows it."),))  # fmt: skip


def waiting(rows: Sequence[Revert]) -> tuple[Markup, ...]:
    """Those that wait for a decision."""
    return tuple(
        join(code(row.claim_name), plain(f" of {row.team} back to "), code(row.snapshot),
             ", asked ", when(row.asked_at))
        for row in rows
    )  # fmt: skip
