"""Thread replies of reverts, which mention the requester."""

from datetime import datetime

from sqlmodel import Session

from bot.slack.markup import Markup, code, join, person, plain, sentence, when
from bot.slack.messages import ThreadMessage, post_once
from bot.snapshots.tables import Revert, RevertPhase
from bot.snapshots.wording import mounting

_ENDS = {
    RevertPhase.FAILED: " was not reverted. ",
    RevertPhase.DENIED: " was not reverted: the request was denied. ",
    RevertPhase.EXPIRED: " was not reverted. ",
    RevertPhase.CANCELLED: " was not reverted. ",
}


def ended(session: Session, row: Revert, now: datetime) -> None:
    """Replies once that the revert is done, or why it is not."""
    phase, of = RevertPhase(row.phase), code(row.claim_name)
    if phase is RevertPhase.DONE:
        said = [join("PVC ", of, " was reverted to ", code(row.snapshot), ", as of ",
                     when(row.shows_at), ".")]  # fmt: skip
    else:
        said = [join("PVC ", of, _ENDS[phase], sentence(row.reason))]
        said += [sentence(row.unblock)] if row.unblock else []
    if row.clone:
        mount = code(mounting(row.clone))
        remove = code(f"kubectl delete pvc {row.clone} -n {row.namespace}")
        said.append(join(plain(f"Its earlier data is in PVC {row.clone} ("), mount,
                         "). When it is no longer needed: ", remove))  # fmt: skip
    _say(session, row, "ended", said, now, is_bad=phase is not RevertPhase.DONE)


def late(session: Session, row: Revert, now: datetime) -> None:
    """Replies that Trident takes longer than it should."""
    said = [join("PVC ", code(row.claim_name), " should have been reverted by now. ",
                 sentence(row.obstacle), " A platform admin has to check Trident.")]  # fmt: skip
    _say(session, row, "late", said, now, is_bad=True)


def _say(
    session: Session, row: Revert, purpose: str, said: list[Markup], now: datetime, *, is_bad: bool
) -> None:
    lines = (join(person(row.person), " ", said[0]), *said[1:])
    note = ThreadMessage(purpose, lines, broadcast=is_bad, owner=row.person)
    post_once(session, row.subject, row.channel, note, now)
