"""Finds the files of a message, and refuses what cannot be copied before anything is."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Protocol

from bot.datasets.drops.tables import Drop, DroppedFile
from bot.datasets.wording import capacity
from bot.datasets.wording import files as counted
from bot.datasets.worker.failures import WorkError, wrong_input
from bot.datasets.worker.push import refusal
from bot.datasets.worker.tree import PathEntry
from bot.errors import ChatError
from bot.slack.client import MessageRef, User
from bot.slack.shared_files import NOT_SLACK, OTHER_SIZE, SIGN_IN_PAGE, SharedFile

MOST_FILES = 100
_COPIED = {"hosted", "snippet"}
_NO_CONTENT = {
    "tombstone": "was deleted",
    "hidden_by_limit": "is hidden by the limit of the workspace's plan",
}
_GONE = {"file_not_found", "file_deleted", "access_denied"}
_NOT_THERE = {"thread_not_found", "message_not_found"}
_LONGEST_NAME = 200  # bytes
_UNSAFE = re.compile(r"[/\\\x00-\x1f\x7f]+")


class SlackFiles(Protocol):
    """What is asked of Slack about files; failures are ChatErrors."""

    def files_at(self, spot: MessageRef, thread_ts: str) -> Sequence[SharedFile] | None:
        """The files of a message; None if there is no such message."""

    def file_info(self, file_id: str) -> SharedFile:
        """How Slack describes this file now."""

    def download(self, file: SharedFile, first: int, size: int) -> bytes:
        """Some bytes of a file, from the position `first` on."""

    def user(self, user_id: str) -> User:
        """How Slack describes this person."""


def find(slack: SlackFiles, drop: Drop, most_bytes: int, prefix: str) -> tuple[DroppedFile, ...]:
    """The files of a message, below a prefix of a bucket; WorkError if some cannot be copied."""
    there = _of_message(slack, drop)
    found = [file_of(slack, each) for each in there]
    for file in found:
        _refuse_unreadable(file)
    _refuse_foreign(slack, drop, found)
    total = sum(file.size for file in found)
    if total > most_bytes:
        raise wrong_input(
            f"The message has {counted(len(found))} of {capacity(total)}; up to"
            f" {capacity(most_bytes)} are copied from Slack.",
            _OTHERWISE,
        )
    names = _keys([file.name or file.id for file in found])
    listed = [DroppedFile(f.id, f.name, key, f.size) for f, key in zip(found, names, strict=True)]
    for each in listed:
        if words := refusal(PathEntry(each.key, "file", each.size), prefix):
            raise WorkError("bad_keys", f"{each.name!a} {words}.", "Rename it.", (each.key,))
    return tuple(listed)


def file_of(slack: SlackFiles, file: SharedFile) -> SharedFile:
    """How Slack describes a file now; WorkError if it is gone."""
    if file.mode in _NO_CONTENT:
        raise _uncopied(file, _NO_CONTENT[file.mode])
    try:
        return slack.file_info(file.id)
    except ChatError as error:
        raise (final(error, file.name) or error) from error


def final(error: ChatError, name: str = "") -> WorkError | None:
    """What a failure means that a retry cannot mend; None for others."""
    if error.code in {"missing_scope", SIGN_IN_PAGE}:
        said = "" if error.code == "missing_scope" else f" {error.message}"
        return WorkError("no_access", f"{_SCOPE}{said}", _SCOPE_HINT)
    if error.code in _GONE:
        return WorkError("not_found", f"{name or 'A file'} was deleted in Slack.", _DROP_AGAIN)
    if error.code in {OTHER_SIZE, NOT_SLACK}:
        return WorkError("wrong_input", error.message, _OTHERWISE)
    if error.code in {"not_in_channel", "channel_not_found"}:
        return WorkError("no_access", error.message, error.hint)
    return None


def _of_message(slack: SlackFiles, drop: Drop) -> Sequence[SharedFile]:
    try:
        found = slack.files_at(MessageRef(drop.channel, drop.ts), drop.thread_ts)
    except ChatError as error:
        if error.code == "missing_scope":
            # Messages of a group take another scope than those of a channel.
            raise WorkError("no_access", _UNREAD, _UNREAD_HINT) from error
        if error.code not in _NOT_THERE:
            raise (final(error) or error) from error
        found = None
    if found is None:
        raise WorkError("not_found", "This message is no longer there.", _DROP_AGAIN)
    if not found:
        raise wrong_input("This message has no files.", _DROP_AGAIN)
    if len(found) > MOST_FILES:
        raise wrong_input(
            f"The message has {len(found)} files; up to {MOST_FILES} are copied.", _OTHERWISE
        )
    return found


def _refuse_unreadable(file: SharedFile) -> None:
    if file.mode in _NO_CONTENT:
        raise _uncopied(file, _NO_CONTENT[file.mode])
    if file.mode == "external":
        where = f" ({file.service})" if file.service else ""
        raise _uncopied(file, f"is a link to another service{where}, so Slack does not have it")
    if file.is_hidden or not file.url:
        raise _uncopied(file, "is of another organisation, whose files Slack does not give the bot")
    if file.mode not in _COPIED:
        raise _uncopied(file, f"is no file but a {file.mode or 'thing'} of Slack")


def _refuse_foreign(slack: SlackFiles, drop: Drop, found: Sequence[SharedFile]) -> None:
    """WorkError if somebody of another organisation shared a file."""
    for file in found:
        if not file.uploader and file.team not in {"", drop.workspace_id}:
            raise _uncopied(file, "was shared by another organisation")
    for uploader in dict.fromkeys(file.uploader for file in found if file.uploader):
        if _is_foreign(slack, uploader):
            file = next(each for each in found if each.uploader == uploader)
            raise _uncopied(file, "was shared by a person of another organisation")


def _is_foreign(slack: SlackFiles, person: str) -> bool:
    try:
        return slack.user(person).is_stranger
    except ChatError as error:
        # Slack does not know people of organisations that share no channel with this one.
        if error.code != "user_not_found":
            raise
        return True


def _uncopied(file: SharedFile, why: str) -> WorkError:
    return wrong_input(f"{file.name or 'A file of the message'} {why}.", _DROP_AGAIN)


def _keys(names: Sequence[str]) -> list[str]:
    """A key for each name: names may have slashes, and several files the same name."""
    free = _free(map(_safe, names))
    return [next(free) for _ in names]


def _free(names: Iterator[str]) -> Iterator[str]:
    taken = set[str]()
    for name in names:
        at, key, number = PurePosixPath(name), name, 1
        while key in taken:
            number += 1
            key = f"{at.stem}-{number}{at.suffix}"
        taken.add(key)
        yield key


def _safe(name: str) -> str:
    plain = _UNSAFE.sub("_", unicodedata.normalize("NFC", name)).strip()
    stem, dot, kind = plain.rpartition(".") if "." in plain else (plain, "", "")
    while stem and len(plain.encode()) > _LONGEST_NAME:
        stem = stem[:-1]
        plain = f"{stem}{dot}{kind}"
    return plain if plain.strip(".") else f"file{plain.replace('.', '_')}"


_DROP_AGAIN = (
    "Drop the files into the channel again, then choose Save files as a dataset in the menu of that"
    " message."
)
_OTHERWISE = (
    "Push them from your computer: `/dataset put`, then `quartermaster dataset push FOLDER`."
)
_UNREAD = "The bot may not read messages here: its Slack app lacks a scope for that."
_UNREAD_HINT = (
    "Drop the files into another channel of your team, or ask a platform admin to run"
    " `quartermaster doctor`."
)
_SCOPE = "The bot may not read files: its Slack app lacks the scope `files:read`."
_SCOPE_HINT = (
    "Ask a platform admin to save the app's manifest again and to reinstall the app. Until then,"
    " push the files from your computer by `/dataset put`."
)
