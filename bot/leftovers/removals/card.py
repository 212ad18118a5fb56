"""The card of a request to remove something. Only the renderer reads rows."""

from collections.abc import Callable, Iterator

from sqlmodel import Session

from bot.approvals import Approvals
from bot.approvals.deciding import RequestSubject, RequestView, deciding
from bot.config import Settings
from bot.leftovers.removals.tables import REMOVAL_REQUEST, RemovalKind, RemovalPhase, RemovalRequest
from bot.people.people import name_of
from bot.slack.card import Button, Card, Tone
from bot.slack.markup import Markup, channel, join, person, plain, sentence, when
from bot.snapshots.deletions import service as deletions
from bot.volumes.wording import UNKNOWN, capacity, money

WITHDRAW = "qm.withdraw-removal"
_STATES = {
    RemovalPhase.ASKED: ("Waiting for approval", Tone.WAITING),
    RemovalPhase.STARTED: ("Approved and started", Tone.STOPPED),
    RemovalPhase.REFUSED: ("Not removed", Tone.BAD),
    RemovalPhase.DENIED: ("Denied", Tone.BAD),
    RemovalPhase.EXPIRED: ("Expired", Tone.STOPPED),
    RemovalPhase.WITHDRAWN: ("Withdrawn", Tone.STOPPED),
}
_LOST = {
    RemovalKind.CLAIM: "Its volume and data are deleted with it, unless its PV is retained.",
    RemovalKind.SNAPSHOT: "The state of the PVC that it holds is lost.",
    RemovalKind.CACHE: "Caching it again copies everything again.",
    RemovalKind.OBJECT: "Everything on it is deleted with it.",
}


def removal_card(row: RemovalRequest, asker: str, deciding: RequestView, shown_in: str) -> Card:
    """The card of a request; in the channel where it was made it can be withdrawn."""
    state, tone = _STATES[RemovalPhase(row.phase)]
    is_hindered = row.is_live and bool(row.trouble or row.obstacle)
    can_withdraw = row.is_live and row.channel == shown_in
    own = (Button(WITHDRAW, "Withdraw", row.id),) if can_withdraw else ()
    return Card(
        title=f"Remove {row.title}",
        state=state,
        tone=Tone.WARNING if is_hindered else tone,
        lines=tuple(_lines(row, deciding)),
        facts=tuple(_facts(row, asker)),
        buttons=(*deciding.buttons, *own),
    )


def _lines(row: RemovalRequest, deciding: RequestView) -> Iterator[Markup]:
    if row.is_live:
        yield plain(_LOST[RemovalKind(row.kind)])
        yield plain(_saves(row))
    yield from deciding.lines
    if deciding.deciders:
        yield join(" or ".join(person(each) for each in deciding.deciders), " can decide.")
    for line in (row.reason, row.unblock, row.obstacle):
        if line:
            yield sentence(line)
    if row.trouble and row.is_live:
        yield sentence(f"{row.trouble} Retrying.")


def _saves(row: RemovalRequest) -> str:
    if row.kind == RemovalKind.CLAIM and deletions.read(row.value).saves:
        return (
            "A snapshot is taken first, and stays. Then it is checked that nothing needs the PVC."
        )
    undo = "" if row.kind == RemovalKind.CACHE else "This cannot be undone. "
    return f"{undo}It is checked once more that nothing needs it."


def _facts(row: RemovalRequest, asker: str) -> Iterator[tuple[str, Markup]]:
    yield "Place", plain(row.place)
    yield "Holds", plain(UNKNOWN if row.size_bytes is None else capacity(row.size_bytes))
    yield "Monthly cost", plain(money(row.cost))
    yield "Requested by", join(plain(asker), " in ", channel(row.channel))
    if row.withdrawn_by is not None:
        yield "Withdrawn by", person(row.withdrawn_by)
    if row.ended_at is not None:
        yield "Ended", when(row.ended_at)


class RemovalRequestRenderer:
    """Renders requests; the buttons to decide are only on the approvers' card."""

    kind = REMOVAL_REQUEST

    def __init__(self, settings: Callable[[], Settings], approvals: Approvals) -> None:
        self._settings = settings
        self._approvals = approvals

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The card of a request in this channel; None if there is no such request."""
        row = session.get(RemovalRequest, subject_id)
        if row is None:
            return None
        asker = name_of(session, row.workspace_id, row.person)
        asked = RequestSubject(REMOVAL_REQUEST, row.id, row.channel)
        found = deciding(session, self._approvals, self._settings(), asked, channel)
        return removal_card(row, asker, found, channel)
