"""PVCs that are put back in place, as their cards: pure."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from bot.approvals.deciding import Deciding
from bot.durations import format_duration
from bot.slack.card import Button, Card, Confirm, Tone
from bot.slack.markup import Markup, code, join, person, plain, sentence, when
from bot.snapshots.revert_tables import Revert, RevertPhase

CANCEL = "snapshot.cancel-revert"
_STATES = {
    RevertPhase.ASKED: ("Waits for approval", Tone.WAITING),
    RevertPhase.SAVING: ("What it holds is being saved", Tone.WORKING),
    RevertPhase.REVERTING: ("Being put back", Tone.WORKING),
    RevertPhase.DONE: ("Put back", Tone.GOOD),
    RevertPhase.FAILED: ("Not put back", Tone.BAD),
    RevertPhase.DENIED: ("Denied", Tone.BAD),
    RevertPhase.EXPIRED: ("Expired", Tone.STOPPED),
    RevertPhase.CANCELLED: ("Cancelled", Tone.STOPPED),
}


def revert_card(row: Revert, asker: str, deciding: Deciding, now: datetime) -> Card:
    """What the card says at this moment; those who decide have the buttons for it."""
    state, tone = _STATES[RevertPhase(row.phase)]
    is_hindered = row.is_live and bool(row.trouble or row.is_late)
    return Card(
        title=f"PVC {row.claim_name} back to {row.snapshot}",
        state=state,
        tone=Tone.WARNING if is_hindered else tone,
        lines=tuple(_lines(row, deciding, now)),
        facts=tuple(_facts(row, asker)),
        buttons=deciding.buttons if deciding.is_there else tuple(_own_buttons(row)),
    )


def lost(row: Revert, now: datetime) -> str:
    """What is lost with it, as a sentence."""
    lasted = format_duration(max(now - row.shows_at, timedelta()))
    return f"What was written to {row.claim_name} in the last {lasted} is lost there."


def _lines(row: Revert, deciding: Deciding, now: datetime) -> Iterator[Markup]:
    if row.phase == RevertPhase.ASKED:
        yield plain(lost(row, now))
    yield from deciding.lines
    if row.is_live and deciding.deciders:
        yield join(" or ".join(person(each) for each in deciding.deciders), " can decide it.")
    for line in (row.reason, row.unblock, row.obstacle):
        if line:
            yield sentence(line)
    if row.is_live and row.is_late:
        yield plain("This is late: Trident takes a minute, mostly.")
    if row.trouble and not row.is_cleared:
        yield sentence(f"{row.trouble} It is tried again.")


def _facts(row: Revert, asker: str) -> Iterator[tuple[str, Markup]]:
    yield "PVC", code(f"{row.namespace}/{row.claim_name}")
    yield "Back to", join(code(row.snapshot), ", as at ", when(row.shows_at))
    saved = "nowhere: no clone was asked for"
    if row.saves:
        saved = f"in PVC {row.clone}" if row.clone else "in a clone that is made first"
    yield "What it holds", plain(saved)
    if row.why:
        yield "Why", plain(row.why)
    yield "Asked by", plain(asker)
    yield "Asked", when(row.asked_at)
    if row.ended_at is not None:
        yield "Ended", when(row.ended_at)


def _own_buttons(row: Revert) -> Iterator[Button]:
    if row.is_live and row.cancelled_by is None:
        yield Button(CANCEL, "Cancel", row.id, None, _CANCEL)


_CANCEL = Confirm(
    "Cancel this restore?",
    "The PVC stays as it is, unless Trident has begun. A clone that is there stays, too.",
    "Cancel it",
    "Go on",
)
