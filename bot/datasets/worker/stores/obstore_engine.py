"""Reads by obstore: Rust without the GIL, with less than half the CPU of boto3."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import obstore
from obstore.exceptions import (
    BaseError,
    InvalidPathError,
    NotSupportedError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)
from typing_extensions import Buffer

from bot.datasets.manifest import Entry
from bot.datasets.worker.failures import WorkError, wrong_input
from bot.datasets.worker.stores.engine import CHUNK_BYTES, UnfitError
from bot.datasets.worker.stores.settings import StoreSettings, authority

if TYPE_CHECKING:
    from obstore import GetOptions
    from obstore.store import ClientConfig, GCSStore, RetryConfig, S3Store

_WORDS_SHOWN = 200
# While a part is sent, the store sends nothing.
_UNHEARD, _UNHEARD_WRITING = timedelta(seconds=20), timedelta(seconds=120)
# The crew of the copy retries for as long as it should.
RETRIES: "RetryConfig" = {"max_retries": 2, "retry_timeout": timedelta(seconds=30)}


class ObstoreEngine:
    """Reads objects below a prefix by obstore; `of_entry` are the options that select an object."""

    name = "obstore"

    def __init__(
        self,
        store: "GCSStore | S3Store",
        prefix: str,
        of_entry: Callable[[Entry], "GetOptions"],
    ) -> None:
        self._store: Final = store
        self._prefix: Final = prefix
        self._of_entry: Final = of_entry

    def whole(self, entry: Entry) -> Buffer:
        """All bytes of an object."""
        try:
            options = self._of_entry(entry)
            answer = obstore.get(self._store, self._prefix + entry.key, options=options)
            return answer.bytes()
        except (BaseError, OSError, ValueError) as error:
            raise _translated(error, entry.key) from error

    def chunks(self, entry: Entry, first: int, size: int) -> Iterator[Buffer]:
        """Some bytes of an object."""
        options = self._of_entry(entry)
        if size < entry.size:
            options["range"] = (first, first + size)
        try:
            answer = obstore.get(self._store, self._prefix + entry.key, options=options)
        except (BaseError, OSError, ValueError) as error:
            raise _translated(error, entry.key) from error
        return _streamed(iter(answer.stream(CHUNK_BYTES)), entry.key)


def client_options(where: StoreSettings, *, to_write: bool = False) -> "ClientConfig":
    """The options of obstore's HTTP client."""
    options: ClientConfig = {
        "connect_timeout": timedelta(seconds=5),
        "read_timeout": _UNHEARD_WRITING if to_write else _UNHEARD,
        # A request may take long, as long as it makes progress.
        "timeout": timedelta(hours=6),
        "allow_http": bool(where.endpoint and where.endpoint.startswith("http://")),
    }
    if certificates := authority(where):
        options["root_certificate"] = certificates
    return options


def _streamed(chunks: Iterator[Buffer], key: str) -> Iterator[Buffer]:
    try:
        yield from chunks
    except (BaseError, OSError, ValueError) as error:
        raise _translated(error, key) from error


def _translated(error: Exception, key: str) -> Exception:
    if isinstance(error, PreconditionError):
        return changed(key)
    if isinstance(error, FileNotFoundError):
        return gone(key)
    if isinstance(error, (PermissionDeniedError, UnauthenticatedError)):
        return no_access(key, _words(error))
    words = str(error)
    if isinstance(error, (NotSupportedError, InvalidPathError)) or "parse path" in words:
        return UnfitError(words)
    # Cloud Storage sends compressed objects in chunks.
    if "Content-Length Header missing" in words:
        return UnfitError(words)
    if "non-partial" in words:
        return UnfitError(words, always=True)
    if "InvalidCertificate" in words:
        return wrong_input(
            f"The object store's certificate is not trusted: {_words(error)}",
            "Set ca_file in the store's settings to the CA that signed it.",
        )
    return not_read(key, _words(error))


def changed(key: str) -> WorkError:
    """The error for an object that is not the one in the manifest."""
    return WorkError(
        "changed", f"{key} changed after the version was recorded.", _NEW_VERSION, (key,)
    )


def gone(key: str) -> WorkError:
    """The error for an object that no longer exists."""
    return WorkError(
        "changed", f"{key} was deleted after the version was recorded.", _NEW_VERSION, (key,)
    )


_NEW_VERSION = "Record a new version of the dataset and cache that one."


def no_access(key: str, words: str) -> WorkError:
    """The error for an object that the keys may not read."""
    return WorkError(
        "no_access",
        f"The store denied reading {key}: {words}",
        "Allow the keys in the store's Secret to read the objects.",
        (key,),
    )


def not_read(key: str, words: str) -> WorkError:
    """The error for an object that could not be read now; a retry may succeed."""
    return WorkError(
        "store_down",
        f"{key} could not be read: {words}",
        "Nothing is lost: copied files are kept, and the next attempt copies the rest.",
        (key,),
    )


def _words(error: Exception) -> str:
    return str(error).partition("\n")[0][:_WORDS_SHOWN]
