"""Copies files from Slack to a store, a piece at a time: first their checksums, then the pieces."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Final, NamedTuple

import msgspec
import urllib3

from bot.config import Settings
from bot.datasets.drops.finding import SlackFiles, file_of, final
from bot.datasets.drops.tables import Drop, DroppedFile
from bot.datasets.location import Location
from bot.datasets.object_store import GONE, opened
from bot.datasets.tables import Push
from bot.datasets.worker.failures import WorkError, wrong_input
from bot.datasets.worker.presigned.messages import (
    GRANT,
    Answer,
    FolderListing,
    Grant,
    WantedFile,
    packed,
    read_answer,
    stored_grant,
)
from bot.datasets.worker.presigned.requests import REDIRECTED, SignedRequests
from bot.datasets.worker.stores.presigned import SignedPiece, piece_of
from bot.errors import ChatError, StorageError
from bot.slack.shared_files import SharedFile

STEP_SECONDS = 15.0
"""No further piece is begun in a step after this time; one takes at most a minute."""

_TIME_OUT = urllib3.Timeout(connect=3, read=20)
_AGAIN = "Try again in a minute."


class NoGrantError(StorageError):
    """The push's worker takes no files at the moment."""


class Sent(NamedTuple):
    """An answer of the push's worker: which listing it answers, and the pieces it asked for."""

    turn: int
    missing: int
    is_done: bool


class Copying:
    """Reads files in Slack and sends them by the grant of their push, which only it has."""

    def __init__(
        self,
        slack: SlackFiles,
        settings: Callable[[], Settings],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._slack: Final = slack
        self._settings: Final = settings
        self._monotonic: Final = monotonic

    def read(self, files: Sequence[DroppedFile]) -> tuple[DroppedFile, ...]:
        """The files with the checksums of some more of their pieces."""
        ends_at, found = self._monotonic() + STEP_SECONDS, list(files)
        for place, file in enumerate(files):
            if file.is_read:
                continue
            shared = self._unchanged(file)
            while not found[place].is_read:
                if self._monotonic() > ends_at:
                    return tuple(found)
                read = found[place]
                piece = piece_of(self._content(shared, file, len(read.pieces)))
                found[place] = msgspec.structs.replace(read, pieces=(*read.pieces, piece))
        return tuple(found)

    def list_files(self, push: Push, drop: Drop) -> None:
        """Sends the listing of the next turn to the worker; harmless if it was sent before."""
        listing = FolderListing(_turn(drop, drop.turns + 1), tuple(f.listed for f in drop.found))
        with self._connected(push) as (grant, requests):
            response = requests.send("PUT", grant.listing, packed(listing), {})
        if response.status >= REDIRECTED:
            raise StorageError(f"The store rejected the listing: {response.said}.", _AGAIN)

    def send(self, push: Push, drop: Drop) -> Sent | None:
        """Sends what the worker asked for last; None if it has not answered the last listing."""
        with self._connected(push) as (grant, requests):
            response = requests.send("GET", grant.answer, b"", {})
            if response.status >= REDIRECTED:
                raise StorageError(f"The store does not have the answer: {response.said}.", _AGAIN)
            answer = read_answer(response.body)
            turn = _number(drop, answer)
            if turn is None or (answer.is_over and not answer.is_done):
                return None
            if answer.refusal is not None:
                refusal = answer.refusal
                raise WorkError("wrong_input", refusal.message, refusal.hint, refusal.keys)
            self._upload(drop, answer, requests)
        return Sent(turn, sum(1 for _ in _pieces(answer.files)), answer.is_done)

    def _upload(self, drop: Drop, answer: Answer, requests: SignedRequests) -> None:
        ends_at, known = self._monotonic() + STEP_SECONDS, {each.key: each for each in drop.found}
        for wanted, piece in _pieces(answer.files):
            if self._monotonic() > ends_at:
                return
            file = known.get(wanted.key)
            if file is not None and 0 <= piece.number < len(file.pieces):
                self._put(file, piece, requests)

    def _put(self, file: DroppedFile, piece: SignedPiece, requests: SignedRequests) -> None:
        content = self._content(self._unchanged(file), file, piece.number)
        if piece_of(content) != file.pieces[piece.number]:
            raise _changed(file)
        response = requests.send("PUT", piece.url, content, piece.headers)
        # One that is outdated may have arrived; the next answer knows.
        if response.status >= REDIRECTED and not response.is_outdated:
            raise WorkError(
                "wrong_input",
                f"The store rejected {file.key}: {response.said}.",
                "A platform admin can run `quartermaster doctor`.",
                (file.key,),
            )

    def _unchanged(self, file: DroppedFile) -> SharedFile:
        """The file as Slack has it now, whose URL may be another one by now."""
        shared = file_of(self._slack, SharedFile(file.id, file.name, file.size, "", "hosted"))
        if shared.size != file.size or not shared.url:
            raise _changed(file)
        return shared

    def _content(self, shared: SharedFile, file: DroppedFile, number: int) -> bytes:
        sizes = file.listed.sizes
        try:
            return self._slack.download(shared, sum(sizes[:number]), sizes[number])
        except ChatError as error:
            raise (final(error, file.name) or error) from error

    @contextmanager
    def _connected(self, push: Push) -> Iterator[tuple[Grant, SignedRequests]]:
        """The push's grant, which is kept nowhere, and connections to its stores."""
        settings = self._settings()
        with closing(opened(settings, push.box_store)) as store:
            try:
                grant = _granted(store.get(Location.of(push.box), GRANT))
            except StorageError as error:
                # Its worker has just ended, or is being started again.
                raise NoGrantError(error.message) if error.code == GONE else error from error
        stores = (settings.stores[each] for each in (push.store, push.box_store))
        authorities = dict.fromkeys(each.ca_file for each in stores if each.ca_file)
        untrusted = f"A platform admin must check stores.{push.store}.ca_file."
        requests = SignedRequests(
            1, tuple(authorities), _TIME_OUT, again=_AGAIN, untrusted=untrusted
        )
        with closing(requests):
            yield grant, requests


def _granted(content: bytes) -> Grant:
    try:
        return stored_grant(content)
    except msgspec.MsgspecError:
        raise StorageError("The grant of the push cannot be read.", _AGAIN) from None


def _pieces(wanted: Sequence[WantedFile]) -> Iterator[tuple[WantedFile, SignedPiece]]:
    return ((file, piece) for file in wanted for piece in file.pieces)


def _turn(drop: Drop, number: int) -> str:
    return f"{drop.id}-{number}"


def _number(drop: Drop, answer: Answer) -> int | None:
    """The turn that is answered, if it is the last one or a later one whose sending was lost."""
    owner, _, number = answer.turn.rpartition("-")
    if owner != drop.id or not number.isdigit() or int(number) < drop.turns:
        return None
    return int(number)


def _changed(file: DroppedFile) -> WorkError:
    return wrong_input(
        f"{file.name} was changed in Slack while it was copied.", "Save the files again."
    )
