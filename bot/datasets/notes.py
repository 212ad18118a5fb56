"""What is said in the thread of a version's card when its survey has ended, to who asked for it."""

from collections.abc import Callable
from datetime import datetime

from sqlmodel import Session

from bot.datasets.tables import Phase, Version
from bot.datasets.wording import objects, size
from bot.slack.markup import Markup, code, join, person, plain, sentence
from bot.slack.messages import Note, say_once

_MOST_KEYS = 3


def ended(session: Session, version: Version, words: Callable[[str], str], now: datetime) -> None:
    """How it ended, once; whoever asked for it is mentioned."""
    match Phase(version.phase):
        case Phase.READY:
            said = _ready(session, version, words)
        case Phase.UNCHANGED:
            same = session.get_one(Version, version.same_as)
            line = f"nothing changed since {same.name}, so there is no version {version.name}."
            said = [plain(f"{version.dataset}: {line}")]
        case _:
            said = _failed(version)
    lines = (join(person(version.person), " ", said[0]), *said[1:])
    note = Note("ended", lines, broadcast=version.phase == Phase.FAILED, owner=version.person)
    say_once(session, version.subject, version.channel, note, now)


def _ready(session: Session, version: Version, words: Callable[[str], str]) -> list[Markup]:
    amount = f"{objects(version.objects or 0)}, {size(version.size_bytes or 0)}"
    said = [plain(f"{version.reference} is recorded: {amount}.")]
    for each in version.parents[:1]:
        parent = session.get_one(Version, each)
        compare = words(f"dataset diff {parent.reference} {version.reference}")
        said.append(join("What changed: ", code(compare)))
    return said


def _failed(version: Version) -> list[Markup]:
    said = [sentence(f"{version.reference} was not recorded. {version.reason}")]
    if version.keys:
        shown = ", ".join(version.keys[:_MOST_KEYS])
        said.append(plain(f"The first keys it is about: {shown}."))
    if version.unblock:
        said.append(sentence(version.unblock))
    return said
