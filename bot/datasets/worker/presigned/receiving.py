"""`quartermaster receive`: lets a person's computer push a folder, and verifies what arrives."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final

import msgspec

from bot.datasets.manifest import Entry
from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.presigned.messages import (
    ANSWER,
    FEWER,
    GRANT,
    LISTING,
    MOST_BYTES,
    MOST_FILES,
    RECORD,
    Answer,
    FolderListing,
    Grant,
    Refusal,
    WantedFile,
    packed,
    read_listing,
)
from bot.datasets.worker.progress import CopyProgress
from bot.datasets.worker.push import in_the_way, refusal
from bot.datasets.worker.stores.client import StoreClient
from bot.datasets.worker.stores.comparing import Kind
from bot.datasets.worker.stores.presigned import ListedFile, PresignedUploads
from bot.datasets.worker.stores.settings import Address
from bot.datasets.worker.tree import PathEntry

LINK_LASTS = timedelta(hours=1)
"""How long a request for a piece can be sent; the computer asks for new ones after that."""

_GRANT_RENEWED = timedelta(minutes=30)
_SIGNERS = 16


@dataclass(frozen=True)
class Box:
    """The folder in the bot's bucket where grant, listing and answer are."""

    client: StoreClient
    prefix: str


@dataclass(frozen=True)
class ReceiveOrder:
    """Where the files go, for how long, and whether objects that differ are replaced.

    An answer has the requests for `at_once` pieces, and some more.
    """

    box: Box
    client: StoreClient
    target: Address
    lasts: timedelta
    every_seconds: float = 2.0
    at_once: int = 2_000
    overwrite: bool = False


@dataclass(frozen=True)
class Received:
    """What has arrived; `copied` were not there before, `others` are not files of the folder."""

    files: int
    bytes: int
    copied_files: int
    copied_bytes: int
    links: int
    others: int
    verified_by: dict[str, int]
    verified_bytes: dict[str, int]


@dataclass
class _State:
    """A comparison of a listing with the target."""

    there: dict[str, Kind] = field(default_factory=dict)
    missing: list[ListedFile] = field(default_factory=list)
    differing: list[tuple[Entry, ListedFile]] = field(default_factory=list)
    others: int = 0


class Receiver:
    """One push from a computer; `stopped` ends it at once."""

    def __init__(
        self,
        order: ReceiveOrder,
        progress: CopyProgress,
        stopped: threading.Event,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._order: Final = order
        self._box: Final = order.box
        self._progress: Final = progress
        self._stopped: Final = stopped
        self._now: Final = now
        self._ends_at: Final = now() + order.lasts
        self._links: Final[PresignedUploads] = order.client.presigned(order.target.prefix)
        self._to_box: Final[PresignedUploads] = order.box.client.presigned(order.box.prefix)
        self._verified: Final = dict[tuple[str, str], Kind]()
        self._granted_at = self._looks_at = datetime.min.replace(tzinfo=UTC)
        self._seen = ""
        self._listing: FolderListing | None = None
        self._first: frozenset[str] | None = None

    def begin(self) -> None:
        """Writes the grant, so that a person can get it."""
        # Whatever a pod before this one answered no longer counts; its listing does.
        self._write(Answer())
        self._renew_grant()

    def run(self) -> Received:
        """Answers listings until every file has arrived; WorkError if that takes too long.

        Whatever ends it, the grant is removed. Unless all has arrived, the listing is removed too,
        and the answer says that it is over.
        """
        over: Refusal | None = None
        try:
            return self._answer_all()
        except WorkError as error:
            # A store that is down is tried again by the next pod, while the computer waits.
            if error.reason != "store_down" or self._stopped.is_set():
                over = Refusal(error.message, error.hint, error.keys)
            raise
        finally:
            self._close(over)

    def _answer_all(self) -> Received:
        while not self._stopped.is_set():
            self._renew_grant()
            is_new = self._has_new_listing()
            if self._listing and (is_new or self._now() >= self._looks_at):
                received = self._look(self._listing, is_new=is_new)
                if received is not None:
                    return received
            if self._now() >= self._ends_at:
                raise self._expired()
            self._stopped.wait(self._order.every_seconds)
        raise _was_stopped()

    def _look(self, listing: FolderListing, *, is_new: bool) -> Received | None:
        """Compares the listing with the target, and answers it if it is new; the end, if it is."""
        try:
            _check(listing, self._order.target.prefix)
        except WorkError as error:
            self._refuse(listing.turn, error)
            return None
        began = time.monotonic()
        state = self._compared(listing)
        # Looking takes no more than a twentieth of the time.
        seconds = max(15.0, 20 * (time.monotonic() - began))
        self._looks_at = self._now() + timedelta(seconds=seconds)
        self._show(listing, state)
        if state.differing and not self._order.overwrite:
            stored, file = state.differing[0]
            self._refuse(listing.turn, in_the_way(stored, file.size))
            return None
        left = [*state.missing, *(file for _, file in state.differing)]
        if left and not is_new:
            return None
        wanted = list(self._wanted(left))
        # Putting the pieces of a file together makes an object, which is compared like any other.
        if left and not any(each.pieces for each in wanted):
            state = self._compared(listing)
            left = [*state.missing, *(file for _, file in state.differing)]
        if not left:
            self._progress.phase = "verifying"
            self._box.client.write(f"{self._box.prefix}{RECORD}", packed(listing))
            self._write(Answer(listing.turn, is_done=True, is_over=True))
            return self._received(listing, state)
        self._write(
            Answer(
                listing.turn,
                tuple(each for each in wanted if each.pieces),
                missing=len(left),
                missing_bytes=sum(each.size for each in left),
            )
        )
        return None

    def _compared(self, listing: FolderListing) -> _State:
        state, expected = _State(), {file.key: file for file in listing.files}
        others: list[tuple[Entry, ListedFile]] = []
        for stored in self._order.client.listed(self._order.target.prefix, versioned=False):
            file = expected.pop(stored.key, None)
            if file is None:
                state.others += 1
            elif stored.size == file.size and stored.etag == file.etag:
                state.there[file.key] = "md5"
            else:
                others.append((stored, file))
        for stored, file, kind in self._by_checksum(others):
            if kind:
                state.there[file.key] = kind
            else:
                state.differing.append((stored, file))
        state.missing = list(expected.values())
        if self._first is None:
            self._first = frozenset(state.there)
        return state

    def _by_checksum(
        self, pairs: Iterable[tuple[Entry, ListedFile]]
    ) -> Iterator[tuple[Entry, ListedFile, Kind | None]]:
        """Compares by another checksum, which takes a request for each object."""
        left = iter(pairs)
        with ThreadPoolExecutor(_SIGNERS, "compare") as pool:
            while some := list(islice(left, 4 * _SIGNERS)):
                if self._stopped.is_set():
                    raise _was_stopped()
                for pair, kind in zip(some, pool.map(self._kind, some), strict=True):
                    yield *pair, kind

    def _kind(self, pair: tuple[Entry, ListedFile]) -> Kind | None:
        stored, file = pair
        # What is equal is remembered, so that the next look does not ask again.
        key = (f"{stored.etag} {stored.key}", file.etag)
        if key not in self._verified and (kind := self._links.compared(file, stored)):
            self._verified[key] = kind
        return self._verified.get(key)

    def _wanted(self, left: Iterable[ListedFile]) -> Iterator[WantedFile]:
        """The next files with their requests, a few thousand requests at a time."""
        only_new, count, files = not self._order.overwrite, 0, iter(left)

        def signed(file: ListedFile) -> WantedFile:
            return WantedFile(file.key, self._links.pieces(file, LINK_LASTS, only_new=only_new))

        with ThreadPoolExecutor(_SIGNERS, "sign") as pool:
            while count < self._order.at_once and (some := list(islice(files, 4 * _SIGNERS))):
                for each in pool.map(signed, some):
                    count += len(each.pieces)
                    yield each

    def _show(self, listing: FolderListing, state: _State) -> None:
        sizes = {file.key: file.size for file in listing.files}
        progress = self._progress
        progress.phase = "copying"
        progress.files_total, progress.bytes_total = len(sizes), sum(sizes.values())
        progress.set(len(state.there), sum(sizes[key] for key in state.there))

    def _received(self, listing: FolderListing, state: _State) -> Received:
        sizes = {file.key: file.size for file in listing.files}
        first = self._first or frozenset()
        counts, amounts = dict[str, int](), dict[str, int]()
        for key, kind in state.there.items():
            counts[kind] = counts.get(kind, 0) + 1
            amounts[kind] = amounts.get(kind, 0) + sizes[key]
        copied = [key for key in sizes if key not in first]
        return Received(
            files=len(sizes),
            bytes=sum(sizes.values()),
            copied_files=len(copied),
            copied_bytes=sum(sizes[key] for key in copied),
            links=listing.links,
            others=state.others,
            verified_by=counts,
            verified_bytes=amounts,
        )

    def _renew_grant(self) -> None:
        """Writes the grant from time to time, as the keys that sign it may have been replaced."""
        now = self._now()
        if now - self._granted_at < _GRANT_RENEWED:
            return
        left = max(self._ends_at - now, timedelta(minutes=1))
        grant = Grant(
            target=str(self._order.target),
            listing=self._to_box.link("PUT", LISTING, left),
            answer=self._to_box.link("GET", ANSWER, left),
            expires_at=self._ends_at,
        )
        self._box.client.write(f"{self._box.prefix}{GRANT}", msgspec.json.encode(grant))
        self._granted_at = now

    def _has_new_listing(self) -> bool:
        """Takes a listing that was not read yet; one that cannot be read is answered."""
        key = f"{self._box.prefix}{LISTING}"
        found = self._box.client.head(key)
        if found is None or found.etag == self._seen:
            return False
        try:
            self._listing = self._read(key, found.size)
        except WorkError as error:
            if error.reason == "store_down":
                raise
            self._seen = found.etag
            # Nothing in it says whose it is; the computer knows the ETag of what it sent.
            self._refuse(found.etag, error)
            return False
        self._seen = found.etag
        return True

    def _read(self, key: str, size: int) -> FolderListing:
        if size > MOST_BYTES:
            raise _too_large()
        return read_listing(self._box.client.read(key))

    def _refuse(self, turn: str, error: WorkError) -> None:
        """Answers why the files are not taken; the computer may send another listing."""
        self._listing = None
        self._write(Answer(turn, refusal=Refusal(error.message, error.hint, error.keys)))

    def _write(self, answer: Answer) -> None:
        self._box.client.write(f"{self._box.prefix}{ANSWER}", packed(answer))

    def _close(self, over: Refusal | None) -> None:
        """Takes the grant back; after all has arrived, the listing stays for another pod."""
        gone = [GRANT]
        if over is not None:
            self._write(Answer(is_over=True, refusal=over))
            gone.append(LISTING)
        with contextlib.suppress(WorkError):
            for name in gone:
                self._box.client.remove(f"{self._box.prefix}{name}")

    def _expired(self) -> WorkError:
        hours = self._order.lasts.total_seconds() / 3600
        return WorkError("expired", f"Not all files arrived within {hours:g} hours.", _AGAIN)


def _was_stopped() -> WorkError:
    return WorkError(
        "store_down",
        "The push was stopped, or its pod was moved to another node.",
        # A push of which the pod was moved goes on, so that /dataset put would be refused.
        "Files that have arrived stay. Click Get the command on the card again if it is there;"
        " otherwise use /dataset put again.",
    )


def _check(listing: FolderListing, prefix: str) -> None:
    """WorkError if the listing names what cannot be an object, or too much of it."""
    if not listing.files:
        raise WorkError("not_found", "There is no file in the folder.", "Check its spelling.")
    if len(listing.files) > MOST_FILES:
        raise _too_large()
    seen = set[str]()
    for file in listing.files:
        words = refusal(PathEntry(file.key, "file", file.size), prefix)
        if file.key in seen:
            words = "is listed twice"
        elif file.size < 0 or len(file.pieces) != len(file.sizes):
            words = "has other pieces than its size requires"
        if words:
            raise WorkError("bad_keys", f"{file.key!a} {words}.", "Rename or remove it.")
        seen.add(file.key)


def _too_large() -> WorkError:
    return WorkError(
        "wrong_input", f"A push from a computer takes up to {MOST_FILES:,} files.", FEWER
    )


_AGAIN = "Files that have arrived stay. Use /dataset put again to push the rest."
