"""Cards of changes. Only the renderer reads rows."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.approvals import Approvals
from bot.approvals.deciding import RequestSubject, RequestView, deciding
from bot.config import Settings
from bot.durations import format_duration
from bot.people.people import name_of
from bot.slack.card import Button, Card, Confirm, Tone
from bot.slack.markup import Markup, channel, code, join, person, plain, sentence, when
from bot.volumes.changes.acts import Grow, Move, Shrink, TellTrident, Throttle, acts
from bot.volumes.changes.notices import change_of
from bot.volumes.changes.replies import TRIDENT, bill
from bot.volumes.changes.tables import CHANGE, ChangeKind, ChangePhase, Direction, VolumeChange
from bot.volumes.wording import capacity, throughput

GIVE_BACK = "anf.give-back"
_STATES = {
    ChangePhase.CHECKING: ("Checking", Tone.WORKING),
    ChangePhase.ASKED: ("Waiting for approval", Tone.WAITING),
    ChangePhase.APPROVED: ("Pending", Tone.WORKING),
    ChangePhase.HELD: ("Active", Tone.GOOD),
    ChangePhase.DONE: ("Done", Tone.GOOD),
    ChangePhase.RETURNED: ("Reverted", Tone.QUIET),
    ChangePhase.FAILED: ("Failed", Tone.BAD),
    ChangePhase.REFUSED: ("Rejected", Tone.BAD),
    ChangePhase.DENIED: ("Denied", Tone.BAD),
    ChangePhase.EXPIRED: ("Expired", Tone.STOPPED),
    ChangePhase.WITHDRAWN: ("Withdrawn", Tone.STOPPED),
}


class ChangeRenderer:
    """Renders changes; the buttons to decide are only on the approvers' card."""

    kind = CHANGE

    def __init__(self, settings: Callable[[], Settings], approvals: Approvals) -> None:
        self._settings = settings
        self._approvals = approvals

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The card of a change in this channel; None if there is no such change."""
        row = session.get(VolumeChange, subject_id)
        if row is None:
            return None
        asker = name_of(session, row.workspace_id, row.person)
        asked = RequestSubject(CHANGE, row.id, row.channel)
        settings = self._settings()
        found = deciding(session, self._approvals, settings, asked, channel)
        is_wide = settings.anf is not None and settings.anf.has_several
        return change_card(row, asker, found, is_wide=is_wide)


def change_card(row: VolumeChange, asker: str, deciding: RequestView, *, is_wide: bool) -> Card:
    """The card of a change; `asker` is a name, which notifies no one.

    `is_wide` names the subscription, if there are several.
    """
    is_hindered = row.is_live and bool(row.trouble or row.is_late)
    left = row.phase in {ChangePhase.DONE, ChangePhase.RETURNED, ChangePhase.HELD} and bool(
        row.remains
    )
    state, tone = _STATES.get(ChangePhase(row.phase), (_work(row), Tone.WORKING))
    return Card(
        title=f"{row.namespace}/{change_of(row)}",
        state=state,
        tone=Tone.WARNING if is_hindered or left else tone,
        lines=(*deciding.lines, *_called(deciding), *_lines(row)),
        facts=(*(_where(row) if is_wide else ()), *_facts(row, asker)),
        buttons=(*deciding.buttons, *_buttons(row, deciding)),
        footer=(join("Change ", code(row.number)),),
    )


def _work(row: VolumeChange) -> str:
    """The current act, in words."""
    way = acts(row)
    act = way[row.position] if row.position < len(way) else None
    prefix = {Direction.BACK: "Reverting: ", Direction.UNDO: "Undoing: "}.get(
        Direction(row.direction), "Applying: "
    )
    match act:
        case Grow(pool):
            return f"{prefix}growing pool {pool}"
        case Move(_, target):
            return f"{prefix}moving to pool {target}"
        case Throttle(_, mibps):
            return f"{prefix}setting {throughput(mibps)}"
        case Shrink(pool):
            return f"{prefix}shrinking pool {pool}"
        case TellTrident():
            return f"{prefix}updating Trident's record"
        case None:
            return f"{prefix}finishing"


def _called(deciding: RequestView) -> Iterator[Markup]:
    if deciding.deciders:
        yield join(" or ".join(person(each) for each in deciding.deciders), " can decide.")


def _lines(row: VolumeChange) -> Iterator[Markup]:
    if row.is_trident and row.phase == ChangePhase.ASKED:
        yield plain(TRIDENT)
    if row.is_live and row.trouble:
        tried = row.phase == ChangePhase.WORKING and row.not_before is not None
        again = join(" Next attempt: ", _moment(row.not_before), ".") if tried else Markup("")
        if row.phase == ChangePhase.CHECKING:
            again = Markup(" Retrying.")
        yield join("*Late*: ", sentence(row.trouble), again)
    elif row.is_live and row.is_late:
        yield join("*Late*: Azure has been working since ", when(row.since), ". Still waiting.")
    for line in (row.outcome, row.hint, row.remains):
        if line:
            yield sentence(line)


def _moment(moment: datetime | None) -> Markup:
    return when(moment) if moment is not None else Markup("soon")


def _where(row: VolumeChange) -> Iterator[tuple[str, Markup]]:
    if row.subscription:
        yield "Subscription", code(row.subscription)


def _facts(row: VolumeChange, asker: str) -> Iterator[tuple[str, Markup]]:
    if row.kind == ChangeKind.LEVEL and row.source_pool:
        yield "From", plain(f"{row.source_level}, pool {row.source_pool}")
        yield "To", plain(f"{row.target_level}, pool {row.target_pool}")
    if row.source_pool:
        yield "Throughput", plain(_change_of_throughput(row))
        yield "Cost", plain(bill(row.cost_delta))
    yield from _pools(row)
    yield from _times(row)
    yield "Requested by", join(plain(asker), " in ", channel(row.channel))
    if row.reason:
        yield "Reason", plain(row.reason)
    if row.returned_by:
        word = "Withdrawn by" if row.phase == ChangePhase.WITHDRAWN else "Reverted by"
        yield word, person(row.returned_by)


def _change_of_throughput(row: VolumeChange) -> str:
    after = row.mibps_seen if row.mibps_seen is not None else row.mibps_after
    is_told = row.mibps_seen is not None or row.kind == ChangeKind.THROUGHPUT
    return f"{throughput(row.mibps_before)} → {'' if is_told else 'about '}{throughput(after)}"


def _pools(row: VolumeChange) -> Iterator[tuple[str, Markup]]:
    if row.grow_to is not None:
        before = capacity(row.grow_to - row.grow_by)
        grown = " (grown)" if row.grown_from is not None else ""
        yield "Target pool", plain(f"{row.target_pool}: {before} → {capacity(row.grow_to)}{grown}")
    if row.shrink_to is not None:
        smaller = capacity(row.shrink_to)
        done = " (shrunk)" if row.shrunk_from is not None else ""
        yield "Source pool", plain(f"{row.source_pool}: to {smaller}{done}")


def _times(row: VolumeChange) -> Iterator[tuple[str, Markup]]:
    if row.ended_at is not None:
        yield "Ended", when(row.ended_at)
    elif row.boosted_id:
        yield "Until", plain(f"{row.boosted_name} is filled, or no longer has to be")
    elif row.ends_at is not None:
        yield "Until", when(row.ends_at)
    elif row.duration_seconds is not None:
        length = format_duration(timedelta(seconds=row.duration_seconds))
        yield "Until", plain(f"{length} after it takes effect, or later if a run uses it then")
    if row.phase == ChangePhase.HELD and row.ends_at is not None:
        later = row.not_before or row.ends_at
        if row.kept_for and not row.boosted_id:
            yield "Reverts", _after_use(row)
        elif later > row.ends_at:
            yield "Reverts", join(when(later), ", when Azure allows a lower level")


def _after_use(row: VolumeChange) -> Markup:
    """When a change that is kept for a run or a fill is reverted."""
    latest = join(", ", when(row.kept_until), " at the latest") if row.kept_until else Markup("")
    return join("after ", sentence(row.kept_for), latest)


def _buttons(row: VolumeChange, deciding: RequestView) -> Iterator[Button]:
    if deciding.is_there:
        return
    match row.phase:
        case ChangePhase.ASKED | ChangePhase.APPROVED:
            yield Button(GIVE_BACK, "Withdraw", row.id)
        case ChangePhase.HELD if row.returned_by is None:
            ask = Confirm("Revert it now?", f"{change_of(row)} ends now.", "Revert")
            yield Button(GIVE_BACK, "Revert now", row.id, confirm=ask)
        case _:
            pass
