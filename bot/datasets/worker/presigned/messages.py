"""What the bot, its worker and a person's computer tell each other about a push.

Nothing listens for the computer: it writes a listing of its files into one object of the bot's
bucket, and reads the answer from another one. Both URLs are in its grant.
"""

import base64
import binascii
import gzip
import io
import zlib
from datetime import datetime
from typing import Final, TypeVar

import msgspec

from bot.datasets.worker.failures import WorkError, wrong_input
from bot.datasets.worker.stores.presigned import ListedFile, SignedPiece

GRANT, LISTING, ANSWER = "grant.json", "listing.json.gz", "answer.json.gz"
"""The names of the objects; the first is read by the bot, the others by their URLs."""

RECORD: Final = "files.json.gz"
"""The listing of which all has arrived, where no URL leads: the listing can be written later."""

MOST_FILES: Final = 100_000
MOST_BYTES: Final = 64 << 20
_MARK: Final = "qmput1."
_COMPRESSION_LEVEL = 3
_HTTP = ("http://", "https://")


class Grant(msgspec.Struct, frozen=True):
    """The right to push one folder to `target`, for anyone who has it; a secret.

    `listing` and `answer` are URLs that work until `expires_at`.
    """

    target: str
    listing: str
    answer: str
    expires_at: datetime


class FolderListing(msgspec.Struct, frozen=True):
    """The files of a folder; `turn` is another word each time it is sent, which its answer has."""

    turn: str
    files: tuple[ListedFile, ...]
    links: int = 0


class WantedFile(msgspec.Struct, frozen=True, array_like=True):
    """A file that the store does not have, with the requests that upload what is missing of it."""

    key: str
    pieces: tuple[SignedPiece, ...]


class Refusal(msgspec.Struct, frozen=True):
    """Why the files are not taken, what to do, and the first keys affected."""

    message: str
    hint: str = ""
    keys: tuple[str, ...] = ()


class Answer(msgspec.Struct, frozen=True):
    """The answer to a listing: what to upload now, before the listing is sent again.

    `turn` is that of the listing, or the ETag of a listing that cannot be read. `missing` counts
    all files that are missing, with those not asked for yet. `is_done`: all are there and verified.
    `is_over`: the push has ended, and nothing more will be answered.
    """

    turn: str = ""
    files: tuple[WantedFile, ...] = ()
    missing: int = 0
    missing_bytes: int = 0
    is_done: bool = False
    is_over: bool = False
    refusal: Refusal | None = None


# msgspec inspects a class on first use, and a second thread doing so at that moment crashes.
_GRANTS = msgspec.json.Decoder(Grant)
_LISTINGS = msgspec.json.Decoder(FolderListing)
_ANSWERS = msgspec.json.Decoder(Answer)
_Message = TypeVar("_Message")


def spelled(grant: Grant) -> str:
    """A grant as one word that people paste."""
    packed = zlib.compress(msgspec.json.encode(grant), 9)
    return f"{_MARK}{base64.urlsafe_b64encode(packed).decode()}"


def read_grant(word: str) -> Grant:
    """The grant that a person pasted; WorkError if it is not one."""
    text = "".join(word.split())
    if not text.startswith(_MARK):
        raise _no_grant()
    try:
        packed = base64.urlsafe_b64decode(text.removeprefix(_MARK))
        grant = _GRANTS.decode(_unpacked(zlib.decompressobj(), packed))
    except (binascii.Error, zlib.error, msgspec.MsgspecError):
        raise _no_grant() from None
    if not grant.listing.startswith(_HTTP) or not grant.answer.startswith(_HTTP):
        raise _no_grant()
    return grant


def stored_grant(content: bytes) -> Grant:
    """The grant as the worker has written it; msgspec.MsgspecError if it is damaged."""
    return _GRANTS.decode(content)


def packed(message: FolderListing | Answer) -> bytes:
    """A listing or an answer as an object's content."""
    return gzip.compress(msgspec.json.encode(message), _COMPRESSION_LEVEL, mtime=0)


def read_listing(content: bytes) -> FolderListing:
    """The listing that a computer wrote; WorkError if it is none, or too large."""
    return _read(content, _LISTINGS, "The listing of the files")


def read_answer(content: bytes) -> Answer:
    """The answer; WorkError if it cannot be read."""
    return _read(content, _ANSWERS, "The answer")


def _read(content: bytes, decoder: "msgspec.json.Decoder[_Message]", what: str) -> _Message:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            text = file.read(MOST_BYTES + 1)
        if len(text) > MOST_BYTES:
            raise wrong_input(f"{what} has more than {MOST_BYTES >> 20} MiB.", FEWER)
        return decoder.decode(text)
    except (OSError, EOFError, zlib.error, msgspec.MsgspecError) as error:
        raise wrong_input(f"{what} cannot be read: {error}.", _OTHER_VERSION) from error


def _unpacked(unpacker: "zlib._Decompress", content: bytes) -> bytes:
    """At most 64 KiB, which is far more than a grant has."""
    return unpacker.decompress(content, 64 << 10)


def _no_grant() -> WorkError:
    return wrong_input(
        "This is not an upload grant, or only a part of one.",
        "Type /dataset put in Slack, then click Get the command on the card, and copy all of the"
        f" word that starts with {_MARK}",
    )


FEWER: Final = (
    "Pack small files into larger ones (tar, WebDataset, Parquet), or copy the folder to a PVC and"
    " use /dataset push."
)
_OTHER_VERSION = "Use the same version of quartermaster on the computer as the bot has."
