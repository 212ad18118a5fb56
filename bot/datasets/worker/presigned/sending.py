"""`quartermaster dataset push`: uploads a folder of a person's computer by presigned requests."""

import threading
import uuid
from dataclasses import dataclass
from typing import Final

import urllib3

from bot.datasets.worker.crew import Crew
from bot.datasets.worker.failures import WorkError, wrong_input
from bot.datasets.worker.parts import part_bytes, read_parts, read_span
from bot.datasets.worker.presigned.messages import (
    FEWER,
    MOST_FILES,
    Answer,
    FolderListing,
    Grant,
    packed,
    read_answer,
)
from bot.datasets.worker.presigned.requests import (
    EXPIRED,
    FORBIDDEN,
    REDIRECTED,
    SignedRequests,
    SignedResponse,
)
from bot.datasets.worker.progress import CopyProgress
from bot.datasets.worker.push import looked_through
from bot.datasets.worker.stores.presigned import ListedFile, SignedPiece, piece_of
from bot.datasets.worker.tree import PathEntry, Tree, became_another

_READ_SECONDS = 120
_IDLE_TURNS = 5
_SENT_AGAIN_SECONDS = 60.0
_AGAIN = "Files that have arrived stay. Repeat the command to push the rest."


@dataclass(frozen=True)
class SendOrder:
    """What to push by which grant; `ca_file` has authorities to trust besides the system's."""

    tree: Tree
    grant: Grant
    workers: int
    patience_seconds: float = 60.0
    answer_seconds: float = 600.0
    poll_seconds: float = 1.0
    connect_seconds: float = 10.0
    ca_file: str | None = None


@dataclass(frozen=True)
class Sent:
    """What was pushed: all files of the folder, and those that this run uploaded."""

    files: int
    bytes: int
    uploaded_bytes: int
    links: int


@dataclass(frozen=True)
class _Task:
    file: ListedFile
    piece: SignedPiece


def send(order: SendOrder, progress: CopyProgress) -> Sent:
    """Uploads what the store does not have, until the bot's worker finds everything there."""
    listed = _listed(order, progress)
    return _Sender(order, progress).send(listed)


def _listed(order: SendOrder, progress: CopyProgress) -> FolderListing:
    """Reads every file for its checksums; WorkError if some cannot be objects."""
    prefix = order.grant.target.partition("://")[2].partition("/")[2]
    looked = looked_through(order.tree, prefix, progress)
    if looked.files > MOST_FILES:
        raise wrong_input(
            f"The folder has {looked.files:,} files. A push from a computer takes up to"
            f" {MOST_FILES:,}.", FEWER,
        )  # fmt: skip
    files: list[ListedFile] = []
    lock = threading.Lock()

    def read(found: PathEntry) -> None:
        file = _read(order.tree, found)
        progress.add(1, file.size)
        with lock:
            files.append(file)

    tasks = (found for found in order.tree.walk() if found.kind == "file")
    Crew(order.patience_seconds).work(tasks, read, order.workers)
    files.sort(key=lambda file: file.key)
    return FolderListing("", tuple(files), looked.links.remarks().count)


def _read(tree: Tree, found: PathEntry) -> ListedFile:
    with tree.opened(found.key) as descriptor:
        pieces = tuple(map(piece_of, read_parts(descriptor, found.size, part_bytes(found.size))))
    file = ListedFile(found.key, found.size, pieces)
    if len(pieces) != len(file.sizes):
        raise became_another(found.key)
    return file


class _Sender:
    """Sends the listing, uploads what the answer asks for, and repeats that."""

    def __init__(self, order: SendOrder, progress: CopyProgress) -> None:
        self._order: Final = order
        self._progress: Final = progress
        self._requests: Final = SignedRequests(
            order.workers,
            [order.ca_file] if order.ca_file is not None else [],
            urllib3.Timeout(connect=order.connect_seconds, read=_READ_SECONDS),
            again=_AGAIN,
            untrusted="Name the file with its CA: --ca-file ca.crt",
        )
        self._pause: Final = threading.Event()
        self._lock: Final = threading.Lock()
        self._uploaded = self._refusals = 0
        self._refused = ""

    def send(self, listed: FolderListing) -> Sent:
        """Ends once the bot's worker has verified every file."""
        idle, least = 0, len(listed.files) + 1
        progress, total = self._progress, sum(file.size for file in listed.files)
        progress.phase = "copying"
        progress.set(0, 0)
        while True:
            answer = self._asked(listed)
            if answer.is_done:
                return Sent(len(listed.files), total, self._uploaded, listed.links)
            progress.set(len(listed.files) - answer.missing, total - answer.missing_bytes)
            uploaded, refusals = self._uploaded, self._refusals
            self._upload(listed, answer)
            # What was accepted, all of it, has to be there in the next answer.
            is_partial = self._uploaded > uploaded and self._refusals > refusals
            has_moved = is_partial or answer.missing < least
            idle, least = 0 if has_moved else idle + 1, min(least, answer.missing)
            if idle >= _IDLE_TURNS:
                raise self._stuck(answer)

    def _asked(self, listed: FolderListing) -> Answer:
        """Sends the listing and waits for its answer; WorkError if it is refused."""
        listing = FolderListing(uuid.uuid4().hex, listed.files, listed.links)
        content, waited, sent = packed(listing), 0.0, -_SENT_AGAIN_SECONDS
        turns = {listing.turn}
        while waited < self._order.answer_seconds:
            # A worker that was moved to another node has lost it.
            if waited - sent >= _SENT_AGAIN_SECONDS:
                sent = waited
                # A listing that cannot be read is answered by its ETag.
                turns.add(self._call("PUT", self._order.grant.listing, content).etag)
            answer = self._answer()
            refusal = answer.refusal
            if refusal is not None and (answer.turn in turns or answer.is_over):
                raise WorkError("wrong_input", refusal.message, refusal.hint, refusal.keys)
            if answer.turn == listing.turn:
                return answer
            if answer.is_over:
                raise _ended_before()
            self._pause.wait(self._order.poll_seconds)
            waited += self._order.poll_seconds
        raise WorkError(
            "store_down",
            f"The bot's worker did not answer within {self._order.answer_seconds / 60:g} minutes.",
            f"The card of the push in Slack shows how it is. {_AGAIN}",
        )

    def _answer(self) -> Answer:
        return read_answer(self._call("GET", self._order.grant.answer, b"").body)

    def _call(self, method: str, url: str, content: bytes) -> SignedResponse:
        """Reads or writes one of the two objects, with retries for a while."""
        found = list[SignedResponse]()

        def call(url: str) -> None:
            response = self._requests.send(method, url, content, {})
            if response.status >= REDIRECTED:
                raise _unanswered(response)
            found.append(response)

        Crew(self._order.patience_seconds).work([url], call, 1)
        return found[0]

    def _upload(self, listed: FolderListing, answer: Answer) -> None:
        """Uploads the pieces; those whose requests have expired are asked for again."""
        known = {file.key: file for file in listed.files}
        tasks = (
            _Task(known[wanted.key], piece)
            for wanted in answer.files
            if wanted.key in known
            for piece in wanted.pieces
        )
        Crew(self._order.patience_seconds).work(tasks, self._put, self._order.workers)

    def _put(self, task: _Task) -> None:
        file, number = task.file, task.piece.number
        if not 0 <= number < len(file.pieces):
            return
        content = self._content(file, number)
        response = self._requests.send("PUT", task.piece.url, content, task.piece.headers)
        if response.is_outdated:
            # The next answer knows what is there now.
            with self._lock:
                self._refusals, self._refused = self._refusals + 1, response.said
            return
        if response.status >= REDIRECTED:
            raise _not_uploaded(file.key, response)
        with self._lock:
            self._uploaded += len(content)
        self._progress.add(1 if len(file.pieces) == 1 else 0, len(content))

    def _content(self, file: ListedFile, number: int) -> bytes:
        """The bytes of a piece; WorkError if they are not those that were listed."""
        sizes = file.sizes
        with self._order.tree.opened(file.key) as descriptor:
            content = read_span(descriptor, number * sizes[0], sizes[number])
        if piece_of(content) != file.pieces[number]:
            raise became_another(file.key)
        return content

    def _stuck(self, answer: Answer) -> WorkError:
        why = f" Its last refusal: {self._refused}." if self._refused else ""
        return WorkError(
            "corrupt",
            f"{answer.missing:,} files do not arrive in the store.{why}",
            f"Check the clock of this computer and of the store. {_AGAIN}",
        )


def _unanswered(response: SignedResponse) -> WorkError:
    if response.status == FORBIDDEN or response.code == EXPIRED:
        return WorkError(
            "no_access",
            "The store no longer accepts this grant: it has expired, or the clock of this computer"
            " is wrong.",
            "Click Get the command on the card in Slack again.",
        )
    return WorkError("not_found", f"The store returned {response.status} for this grant.", _ENDED)


_ENDED = "The push has probably ended; its card in Slack says so. Use /dataset put again."


def _ended_before() -> WorkError:
    return WorkError(
        "not_found",
        "The push has ended: all files that were listed last have arrived.",
        "Use /dataset put again to push other files.",
    )


def _not_uploaded(key: str, response: SignedResponse) -> WorkError:
    said = f"The store rejected {key}: {response.said}."
    return WorkError("wrong_input", said, _AGAIN, (key,))
