"""Cards of reverts. Only the renderer reads rows."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.approvals import Approvals
from bot.approvals.deciding import RequestSubject, RequestView, deciding
from bot.clock import Clock
from bot.config import Settings
from bot.datasets.wording import name_of
from bot.durations import format_duration
from bot.slack.card import Button, Card, Confirm, Tone
from bot.slack.markup import Markup, code, join, person, plain, sentence, when
from bot.snapshots.tables import REVERT, Revert, RevertPhase

CANCEL = "snapshot.cancel-revert"
_STATES = {
    RevertPhase.ASKED: ("Waiting for approval", Tone.WAITING),
    RevertPhase.SAVING: ("Cloning its data", Tone.WORKING),
    RevertPhase.REVERTING: ("Reverting", Tone.WORKING),
    RevertPhase.DONE: ("Reverted", Tone.GOOD),
    RevertPhase.FAILED: ("Failed", Tone.BAD),
    RevertPhase.DENIED: ("Denied", Tone.BAD),
    RevertPhase.EXPIRED: ("Expired", Tone.STOPPED),
    RevertPhase.CANCELLED: ("Cancelled", Tone.STOPPED),
}


class RevertRenderer:
    """Renders reverts, for the approvers and for the channel of the request."""

    kind = REVERT

    def __init__(
        self, clock: Clock, settings: Callable[[], Settings], approvals: Approvals
    ) -> None:
        self._clock = clock
        self._settings = settings
        self._approvals = approvals

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The card: with Cancel in the channel of the request, elsewhere with the decision."""
        row = session.get(Revert, subject_id)
        if row is None:
            return None
        asker = name_of(session, row.workspace_id, row.person)
        asked = RequestSubject(REVERT, row.id, row.channel)
        found = deciding(session, self._approvals, self._settings(), asked, channel)
        return revert_card(row, asker, found, self._clock.now())


def revert_card(row: Revert, asker: str, deciding: RequestView, now: datetime) -> Card:
    """The card of a revert; the approvers' copy has the buttons to decide."""
    state, tone = _STATES[RevertPhase(row.phase)]
    is_hindered = row.is_live and bool(row.trouble or row.is_late)
    return Card(
        title=f"Revert PVC {row.claim_name} to {row.snapshot}",
        state=state,
        tone=Tone.WARNING if is_hindered else tone,
        lines=tuple(_lines(row, deciding, now)),
        facts=tuple(_facts(row, asker)),
        buttons=deciding.buttons if deciding.is_there else tuple(_own_buttons(row)),
    )


def lost(row: Revert, now: datetime) -> str:
    """What the PVC loses by the revert, as a sentence."""
    lasted = format_duration(max(now - row.shows_at, timedelta()))
    return f"{row.claim_name} loses what was written in the last {lasted}."


def _lines(row: Revert, deciding: RequestView, now: datetime) -> Iterator[Markup]:
    if row.phase == RevertPhase.ASKED:
        yield plain(lost(row, now))
    yield from deciding.lines
    if row.is_live and deciding.deciders:
        yield join(" or ".join(person(each) for each in deciding.deciders), " can decide.")
    for line in (row.reason, row.unblock, row.obstacle):
        if line:
            yield sentence(line)
    if row.is_live and row.is_late:
        yield plain("This is late. Trident usually takes a minute.")
    if row.trouble and not row.is_cleared:
        yield sentence(f"{row.trouble} Retrying.")


def _facts(row: Revert, asker: str) -> Iterator[tuple[str, Markup]]:
    yield "PVC", code(f"{row.namespace}/{row.claim_name}")
    yield "Revert to", join(code(row.snapshot), ", as of ", when(row.shows_at))
    saved = "not saved: no clone was requested"
    if row.saves:
        saved = f"saved in PVC {row.clone}" if row.clone else "cloned first"
    yield "Old data", plain(saved)
    if row.why:
        yield "Reason", plain(row.why)
    yield "Requested by", plain(asker)
    yield "Requested", when(row.asked_at)
    if row.ended_at is not None:
        yield "Ended", when(row.ended_at)


def _own_buttons(row: Revert) -> Iterator[Button]:
    if row.is_live and row.cancelled_by is None:
        yield Button(CANCEL, "Cancel", row.id, None, _CANCEL)


_CANCEL = Confirm(
    "Cancel this revert?",
    "The PVC stays unchanged, unless Trident has started. An existing clone stays too.",
    "Cancel it",
    "Continue",
)
