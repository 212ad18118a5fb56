"""Ephemeral answers of `snapshot restore --in-place`. Pure: no I/O."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from bot.durations import format_duration
from bot.slack.card import Button, Reply
from bot.slack.markup import Markup, code, join, plain, sentence, when
from bot.snapshots.reverts.service import RevertOffer
from bot.snapshots.tables import Revert

SAVE, NO_CLONE = "snapshot.revert-saved", "snapshot.revert-unsaved"


def offered(offer: RevertOffer, now: datetime) -> Reply:
    """What a revert would do, with a button that clones first and one that does not."""
    row = offer.snapshot
    shows = row.taken_at or row.asked_at
    lasted = format_duration(max(now - shows, timedelta()))
    value = f"{row.id}:{offer.why}"
    plain_one = Button(NO_CLONE, "Request without a clone", value, "danger")
    saving = Button(SAVE, "Request with a clone first", value, "primary")
    clone = (
        sentence(offer.unsaved)
        if offer.unsaved
        else plain(
            "Its current data can be cloned first to a separate PVC, which stays and takes as much"
            " space as clones on your storage take. ONTAP splits the clone off first. That takes"
            " as much space as the PVC holds, and may take hours. Until then ONTAP refuses the"
            " revert, and Quartermaster retries it."
        )
    )
    return Reply(
        (
            join("This reverts PVC ", code(row.claim_name), " itself to ", code(row.name),
                 ", as of ", when(shows), plain(f". It loses what was written in the last {lasted}."
                 " This cannot be undone.")),
            clone,
            plain("Another person has to approve it. Nothing may mount the PVC until it is"
                  " reverted."),
        ),
        buttons=(plain_one,) if offer.unsaved else (saving, plain_one),
        is_question=True,
    )  # fmt: skip


def asked(row: Revert) -> Reply:
    """The answer to a request for a revert."""
    return Reply(
        (
            join("Requested to revert ", code(row.claim_name), " to ", code(row.snapshot), "."),
            join("Its card in this channel shows the progress. Until the revert is done, no"
                 " snapshot of the PVC is taken, because Trident can revert only to the newest."),
        )
    )  # fmt: skip


def cancelling(row: Revert) -> Reply:
    """The answer to a click on Cancel."""
    return Reply((join("Cancelling the revert of ", code(row.claim_name), ", unless Trident has"
                       " started. Its card shows the progress."),))  # fmt: skip


def waiting(rows: Sequence[Revert]) -> tuple[Markup, ...]:
    """Lines of the reverts that wait for a decision."""
    return tuple(
        join(code(row.claim_name), plain(f" of {row.team}: revert to "), code(row.snapshot),
             ", requested ", when(row.asked_at))
        for row in rows
    )  # fmt: skip
