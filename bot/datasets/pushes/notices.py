"""Posts the end of a push to its requester, in the thread of its card."""

from datetime import datetime

from sqlmodel import Session

from bot.datasets.tables import Push, PushPhase, Version
from bot.datasets.wording import files, size
from bot.slack.markup import FormatCommand, Markup, code, join, person, plain, sentence
from bot.slack.messages import ThreadMessage, post_once

_MOST_KEYS = 3


def ended(session: Session, push: Push, format_command: FormatCommand, now: datetime) -> None:
    """Posts once how a push ended, and mentions its requester."""
    is_bad = push.phase == PushPhase.FAILED
    said = _failed(push) if is_bad else _pushed(session, push, format_command)
    lines = (join(person(push.person), " ", said[0]), *said[1:])
    note = ThreadMessage("ended", lines, broadcast=is_bad, owner=push.person)
    post_once(session, push.subject, push.channel, note, now)


def waiting(session: Session, push: Push, now: datetime) -> None:
    """Posts once that the files of a person's computer can be pushed, and mentions them."""
    line = join(
        person(push.person),
        f" files for {push.target} can be pushed now: click *Get the command* on the card.",
    )
    post_once(
        session, push.subject, push.channel, ThreadMessage("ready", (line,), owner=push.person), now
    )


def _pushed(session: Session, push: Push, format_command: FormatCommand) -> list[Markup]:
    amount = f"{files(push.files_done)}, {size(push.bytes_done)}"
    said = [plain(f"{_source(push)} pushed to {push.target}: {amount}.")]
    if push.version_id is not None:
        version = session.get_one(Version, push.version_id)
        said.append(plain(f"Recording it as {version.reference}."))
    elif push.unrecorded:
        said.append(sentence(f"No version of {push.dataset} was recorded. {push.unrecorded}"))
    elif not push.dataset:
        again = format_command(f"dataset add NAME {push.target} --store {push.store}")
        said.append(join("To add it as a dataset: ", code(again)))
    return said


def _failed(push: Push) -> list[Markup]:
    said = [sentence(f"{_source(push)} not pushed to {push.target}. {push.reason}")]
    if push.keys:
        said.append(plain(f"First files affected: {', '.join(push.keys[:_MOST_KEYS])}."))
    if push.unblock:
        said.append(sentence(push.unblock))
    return said


def _source(push: Push) -> str:
    return f"{push.source} {'were' if push.is_drop else 'was'}"
