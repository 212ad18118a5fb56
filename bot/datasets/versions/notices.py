"""Posts the end of a survey to its requester, and new content to the owning team."""

from datetime import datetime

from sqlmodel import Session, col, select

from bot.datasets import finding
from bot.datasets.tables import Version, VersionPhase
from bot.datasets.versions import copies
from bot.datasets.wording import objects, size
from bot.slack.card import Button
from bot.slack.markup import FormatCommand, Markup, code, join, person, plain, sentence
from bot.slack.messages import ThreadMessage, post_once

RECORD = "dataset.version"
_MOST_KEYS = 3


def ended(session: Session, version: Version, format_command: FormatCommand, now: datetime) -> None:
    """Posts once how a survey ended, and mentions its requester."""
    match VersionPhase(version.phase):
        case VersionPhase.READY:
            said = _ready(session, version, format_command)
        case VersionPhase.UNCHANGED:
            same = session.get_one(Version, version.same_as)
            said = [plain(_unchanged(version, same)), *_copy(same, version)]
        case VersionPhase.REMOVED:
            said = [plain(copies.removed(version))]
        case _:
            said = _failed(version)
    lines = (join(person(version.person), " ", said[0]), *said[1:])
    note = ThreadMessage(
        "ended", lines, broadcast=version.phase == VersionPhase.FAILED, owner=version.person
    )
    post_once(session, version.subject, version.channel, note, now)


def changed(session: Session, found: Version, format_command: FormatCommand, now: datetime) -> None:
    """Posts to the owner's channel, once per content, that a dataset's source has changed."""
    earlier = select(Version.id).where(
        col(Version.dataset_id) == found.dataset_id,
        col(Version.phase) == VersionPhase.CHANGED,
        col(Version.digest) == found.digest,
        col(Version.id) != found.id,
    )
    newest = finding.newest(finding.versions(session, found.dataset_id))
    if newest is None or session.exec(earlier).first() is not None:
        return
    lines = (
        plain(
            f"The source of {found.dataset} has changed since {newest.name}: it now has"
            f" {_amount(found)}. {newest.name} has {_amount(newest)}."
        ),
        join(code(format_command(f"dataset version {found.dataset}")), " records it."),
    )
    button = Button(RECORD, "Record a new version", found.dataset_id)
    note = ThreadMessage("changed", lines, in_thread=False, buttons=(button,))
    post_once(session, found.subject, found.channel, note, now)


def _unchanged(version: Version, same: Version) -> str:
    if version.selected_from:
        return f"{same.reference} has these files already, so there is no version {version.name}."
    line = f"has not changed since {same.name}, so there is no version {version.name}."
    return f"{version.dataset} {line}"


def _amount(version: Version) -> str:
    return f"{objects(version.objects or 0)}, {size(version.size_bytes or 0)}"


def _ready(session: Session, version: Version, format_command: FormatCommand) -> list[Markup]:
    said = [plain(f"{version.reference} is recorded: {_amount(version)}.")]
    said += _copy(version, version)
    parents = (session.get_one(Version, each) for each in version.parents)
    for parent in [each for each in parents if each.dataset_id == version.dataset_id][-1:]:
        compare = format_command(f"dataset diff {parent.reference} {version.reference}")
        said.append(join("To see what changed: ", code(compare)))
    return said


def _copy(version: Version, survey: Version) -> list[Markup]:
    """A line about the copy of a version, if the survey had to make one."""
    line = copies.made(version) if survey.copies else ""
    return [plain(line)] if line else []


def _failed(version: Version) -> list[Markup]:
    said = [sentence(f"{version.reference} was not recorded. {version.reason}")]
    if version.is_sweep:
        said = [sentence(f"Copies of {version.dataset} were not removed. {version.reason}")]
    if version.keys:
        shown = ", ".join(version.keys[:_MOST_KEYS])
        said.append(plain(f"First keys affected: {shown}."))
    if version.unblock:
        said.append(sentence(version.unblock))
    return said
