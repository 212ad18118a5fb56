"""What every type of object store can do: the one protocol between the program and a store."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Protocol

from bot.datasets.manifest import Entry
from bot.datasets.worker.stores.comparing import Kind
from bot.datasets.worker.stores.engine import Engine
from bot.datasets.worker.stores.presigned import PresignedUploads
from bot.datasets.worker.stores.settings import Address


class Uploader(Protocol):
    """Writes files as objects below a prefix; thread-safe."""

    def upload(
        self, key: str, descriptor: int, size: int, *, only_new: bool = False
    ) -> tuple[str, str]:
        """Uploads a file; returns the ETag computed from its bytes, and the store's ETag.

        AppearedError if `only_new` and there is an object, as far as the store supports that.
        """

    def etag(self, descriptor: int, size: int) -> str:
        """The ETag that a file has once it is uploaded."""


class Comparison(Protocol):
    """Compares files with the objects below a prefix; thread-safe."""

    def compared(self, entry: Entry, descriptor: int, found: str = "") -> Kind | None:
        """The method by which a file is verified as the object; None if it differs.

        `found` is the file's MD5, if known.
        """


class ServerCopies(Protocol):
    """Copies objects within a store, without reading them; thread-safe."""

    def copy(self, entry: Entry, name: str) -> Kind:
        """Copies the recorded object under a new name; returns how the copy was verified.

        WorkError (changed) if it is no longer the recorded one, UnfitError if the store cannot
        copy.
        """


class StoreClient(Protocol):
    """One bucket of an object store; thread-safe. Failures are WorkErrors.

    Keys are full keys, except in what is made for a prefix: `listed`, `engine`, `uploader` and
    `comparison` have keys relative to it.
    """

    def keeps_versions(self) -> bool | None:
        """Whether the bucket keeps versions; None if the store does not report it."""

    def listed(self, prefix: str, *, versioned: bool, page_objects: int = 1000) -> Iterator[Entry]:
        """Every object below a prefix, page by page, in the store's order."""

    def probe(self, prefix: str) -> None:
        """Lists at most one object; WorkError if that is not possible."""

    def head(self, key: str) -> Entry | None:
        """The metadata of an object; None without one."""

    def read(self, key: str) -> bytes:
        """The content of a small object."""

    def write(self, key: str, content: bytes) -> None:
        """Writes a small object; idempotent."""

    def remove(self, key: str) -> None:
        """Deletes an object."""

    def sign(self, key: str, lifetime: timedelta) -> str:
        """A URL by which anyone can read an object for a while; treat it as a secret."""

    def engine(self, name: str, prefix: str, connections: int) -> Engine:
        """Reads the bulk of the data; `name` is auto, or an engine of this store."""

    def uploader(self, prefix: str) -> Uploader:
        """Writes the bulk of the data."""

    def server_copies(self, source: Address, prefix: str) -> ServerCopies | None:
        """Copies from another bucket of the same store to a prefix; None if it cannot."""

    def comparison(self, prefix: str, *, are_ours: bool) -> Comparison:
        """Compares files with objects; `are_ours`: this worker uploads the objects."""

    def presigned(self, prefix: str) -> PresignedUploads:
        """Lets people upload named files; WorkError if this type of store cannot."""

    def close(self) -> None:
        """Closes the connections."""
