"""`quartermaster dataset push`: uploads a folder of a person's computer by presigned requests."""

import hashlib
import io
import ssl
import threading
import uuid
from dataclasses import dataclass
from typing import Final, NamedTuple

import urllib3

from bot.datasets.worker.checksums import new_md5
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
from bot.datasets.worker.progress import CopyProgress
from bot.datasets.worker.push import looked_through
from bot.datasets.worker.stores.presigned import ListedFile, Piece, SignedPiece
from bot.datasets.worker.tree import PathEntry, Tree, became_another

_REDIRECTED, _FORBIDDEN, _NOT_FOUND, _TIMED_OUT, _CONFLICT = 300, 403, 404, 408, 409
_PRECONDITION, _BUSY, _SERVER, _NOT_IMPLEMENTED = 412, 429, 500, 501
# With the status 400: of a request whose temporary keys are older than it, and of a body that did
# not arrive whole or in time.
_EXPIRED = "ExpiredToken"
_NOT_ARRIVED = ("RequestTimeout", "IncompleteBody", "BadDigest", "XAmzContentSHA256Mismatch")
_READ_SECONDS = 120
_IDLE_TURNS, _WORDS_SHOWN = 5, 200
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


class _Response(NamedTuple):
    """What the store answers; `code` is that of an error, empty without one."""

    status: int
    body: bytes
    etag: str

    @property
    def code(self) -> str:
        """The error code of an S3 server. The rest of its answer has the URL."""
        text = self.body[:2000].decode("utf-8", "replace")
        return text.partition("<Code>")[2].partition("</Code>")[0][:60]

    @property
    def said(self) -> str:
        """Status and code of an error."""
        return f"{self.status} {self.code}".strip()


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
        pieces = tuple(map(_piece, read_parts(descriptor, found.size, part_bytes(found.size))))
    file = ListedFile(found.key, found.size, pieces)
    if len(pieces) != len(file.sizes):
        raise became_another(found.key)
    return file


def _piece(content: bytes) -> Piece:
    return Piece(new_md5(content).hexdigest(), hashlib.sha256(content).hexdigest())


class _Sender:
    """Sends the listing, uploads what the answer asks for, and repeats that."""

    def __init__(self, order: SendOrder, progress: CopyProgress) -> None:
        self._order: Final = order
        self._progress: Final = progress
        self._pool: Final = urllib3.PoolManager(
            maxsize=order.workers, block=True, ssl_context=_trusting(order.ca_file)
        )
        self._time_out: Final = urllib3.Timeout(connect=order.connect_seconds, read=_READ_SECONDS)
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

    def _call(self, method: str, url: str, content: bytes) -> _Response:
        """Reads or writes one of the two objects, with retries for a while."""
        found = list[_Response]()

        def call(url: str) -> None:
            response = self._request(method, url, content, {})
            if response.status >= _REDIRECTED:
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
        response = self._request("PUT", task.piece.url, content, task.piece.headers)
        outdated = (_FORBIDDEN, _NOT_FOUND, _CONFLICT, _PRECONDITION)
        if response.status in outdated or response.code == _EXPIRED:
            # Expired, or an object or another upload is there now: the next answer knows.
            with self._lock:
                self._refusals, self._refused = self._refusals + 1, response.said
            return
        if response.status >= _REDIRECTED:
            raise _not_uploaded(file.key, response)
        with self._lock:
            self._uploaded += len(content)
        self._progress.add(1 if len(file.pieces) == 1 else 0, len(content))

    def _content(self, file: ListedFile, number: int) -> bytes:
        """The bytes of a piece; WorkError if they are not those that were listed."""
        sizes = file.sizes
        with self._order.tree.opened(file.key) as descriptor:
            content = read_span(descriptor, number * sizes[0], sizes[number])
        if _piece(content) != file.pieces[number]:
            raise became_another(file.key)
        return content

    def _request(self, method: str, url: str, content: bytes, headers: dict[str, str]) -> _Response:
        """The response; WorkError (store_down) if the store does not respond."""
        try:
            answer = self._pool.request(
                method,
                url,
                # A file is sent in blocks, each with a time-out; bytes have one for all of them,
                # which a slow line would exceed.
                body=io.BytesIO(content) if content else None,
                headers=headers | ({"Content-Length": str(len(content))} if content else {}),
                timeout=self._time_out,
                retries=False,
                redirect=False,
                decode_content=False,
            )
        except urllib3.exceptions.SSLError as error:
            raise wrong_input(
                f"The certificate of the object store is not trusted: {_why(error)}.",
                "Name the file with its CA: --ca-file ca.crt",
            ) from None
        except urllib3.exceptions.HTTPError as error:
            # Without the cause: it has the URL, which is a secret.
            host = urllib3.util.parse_url(url).host
            raise WorkError(
                "store_down", f"The object store {host} does not respond: {_why(error)}.", _AGAIN
            ) from None
        response = _Response(answer.status, answer.data, answer.headers.get("ETag", "").strip('"'))
        if _may_be_repeated(response):
            said = response.said
            raise WorkError("store_down", f"The object store is too busy: {said}.", _AGAIN)
        return response

    def _stuck(self, answer: Answer) -> WorkError:
        why = f" Its last refusal: {self._refused}." if self._refused else ""
        return WorkError(
            "corrupt",
            f"{answer.missing:,} files do not arrive in the store.{why}",
            f"Check the clock of this computer and of the store. {_AGAIN}",
        )


def _trusting(ca_file: str | None) -> ssl.SSLContext:
    """Trusts the computer's authorities and that one: the two stores may have different ones."""
    context = ssl.create_default_context()
    if ca_file is not None:
        try:
            context.load_verify_locations(ca_file)
        except OSError as error:
            raise wrong_input(
                f"{ca_file} has no certificates that can be read: {_why(error)}.",
                "Name a PEM file, which has BEGIN CERTIFICATE.",
            ) from error
    return context


def _may_be_repeated(response: _Response) -> bool:
    """Whether a retry of the same request may succeed."""
    status = response.status
    if status in (_BUSY, _TIMED_OUT) or (status >= _REDIRECTED and response.code in _NOT_ARRIVED):
        return True
    return status >= _SERVER and status != _NOT_IMPLEMENTED


def _unanswered(response: _Response) -> WorkError:
    if response.status == _FORBIDDEN or response.code == _EXPIRED:
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


def _not_uploaded(key: str, response: _Response) -> WorkError:
    said = f"The store rejected {key}: {response.said}."
    return WorkError("wrong_input", said, _AGAIN, (key,))


def _why(error: Exception) -> str:
    return str(error).rpartition(": ")[2][:_WORDS_SHOWN] or type(error).__name__
