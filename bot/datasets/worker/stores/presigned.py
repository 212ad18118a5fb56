"""What a store needs to let others upload named files: requests that it signs in advance."""

import base64
from datetime import timedelta
from hashlib import sha256
from typing import Annotated, Literal, Protocol

import msgspec

from bot.datasets.manifest import Entry
from bot.datasets.worker.checksums import equal_parts, new_md5
from bot.datasets.worker.parts import part_bytes
from bot.datasets.worker.stores.comparing import Kind


class Piece(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The checksums of one part of a file, in hexadecimal digits."""

    md5: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]

    @property
    def content_md5(self) -> str:
        """The MD5 as the header Content-MD5 has it."""
        return base64.b64encode(bytes.fromhex(self.md5)).decode()

    @property
    def checksum(self) -> str:
        """The SHA-256 as stores have it."""
        return base64.b64encode(bytes.fromhex(self.sha256)).decode()


class ListedFile(msgspec.Struct, frozen=True, array_like=True):
    """A file that is to become an object; `key` is below the prefix, and pieces are in order."""

    key: str
    size: int
    pieces: tuple[Piece, ...]

    @property
    def sizes(self) -> list[int]:
        """The size of each piece in bytes; the same on both sides, as the ETag depends on it."""
        return equal_parts(self.size, part_bytes(self.size))

    @property
    def etag(self) -> str:
        """The ETag of the object, in a store whose ETags are MD5s."""
        if len(self.pieces) == 1:
            return self.pieces[0].md5
        digests = b"".join(bytes.fromhex(each.md5) for each in self.pieces)
        return f"{new_md5(digests).hexdigest()}-{len(self.pieces)}"

    @property
    def checksum(self) -> str:
        """The SHA-256 of the object: of its content, or of the SHA-256 of its pieces."""
        if len(self.pieces) == 1:
            return self.pieces[0].checksum
        digests = b"".join(bytes.fromhex(each.sha256) for each in self.pieces)
        whole = base64.b64encode(sha256(digests).digest()).decode()
        return f"{whole}-{len(self.pieces)}"


def piece_of(content: bytes) -> Piece:
    """The checksums of a part of a file."""
    return Piece(new_md5(content).hexdigest(), sha256(content).hexdigest())


class SignedPiece(msgspec.Struct, frozen=True, array_like=True):
    """A PUT request for a piece, which anyone can send until it expires; treat it as a secret.

    The headers are signed too: the store accepts no other content.
    """

    number: int
    url: str
    headers: dict[str, str]


class PresignedUploads(Protocol):
    """Signs uploads to a prefix of a bucket; thread-safe. Failures are WorkErrors."""

    def link(self, method: Literal["GET", "PUT"], key: str, lifetime: timedelta) -> str:
        """A URL that reads or writes one object below the prefix; treat it as a secret."""

    def compared(self, file: ListedFile, stored: Entry) -> Kind | None:
        """The method by which an object is verified as the file; None if it differs."""

    def pieces(
        self, file: ListedFile, lifetime: timedelta, *, only_new: bool
    ) -> tuple[SignedPiece, ...]:
        """The requests for what the store does not have of a file yet.

        None once all pieces have arrived: then the store has made an object of them, unless
        `only_new` and there is an object already.
        """
