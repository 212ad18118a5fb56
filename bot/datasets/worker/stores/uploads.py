"""What uploads to every type of store share: the memory they take, and their errors."""

import contextlib
import ctypes
import threading
from collections.abc import Iterator
from typing import Final

from obstore.exceptions import PermissionDeniedError, UnauthenticatedError

from bot.datasets.worker.failures import WorkError, wrong_input

IN_FLIGHT_BYTES = 96 << 20
# obstore copies what it sends, and reads one part ahead.
PARTS_SENT, PARTS_HELD, COPIES = 2, 4, 2
_M_MMAP_THRESHOLD, _LARGE_BLOCK_BYTES = -3, 1 << 20
_WORDS_SHOWN = 200


class AppearedError(Exception):
    """An object has appeared where there was none."""


class ByteBudget:
    """Limits the bytes held at a time; who needs more than the limit waits to be alone."""

    def __init__(self, most_bytes: int) -> None:
        self._most: Final = most_bytes
        self._held = 0
        self._changed: Final = threading.Condition()

    @contextlib.contextmanager
    def taken(self, size: int) -> Iterator[None]:
        """Holds `size` bytes while the block runs."""
        with self._changed:
            self._changed.wait_for(lambda: not self._held or self._held + size <= self._most)
            self._held += size
        try:
            yield
        finally:
            with self._changed:
                self._held -= size
                self._changed.notify_all()


def give_back_large_blocks() -> None:
    """Makes the C library return freed blocks of 1 MiB and more to the system.

    By default glibc stops doing so after the first ones, and keeps a few parts for each thread.
    """
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        mallopt(_M_MMAP_THRESHOLD, _LARGE_BLOCK_BYTES)


def write_denied(key: str, words: str) -> WorkError:
    """The error for an object that the keys may not write."""
    return WorkError(
        "no_access",
        f"The store denied writing {key}: {words}",
        "Allow the keys in the store's Secret to write below the target.",
        (key,),
    )


def not_stored(key: str, words: str) -> WorkError:
    """The error for an object that could not be written now; a retry may succeed."""
    return WorkError(
        "store_down",
        f"{key} could not be stored: {words}",
        "Nothing is lost: pushed objects are kept, and the next attempt pushes the rest.",
        (key,),
    )


def translated(error: Exception, key: str) -> WorkError:
    """The WorkError for an exception of obstore."""
    words = str(error).partition("\n")[0][:_WORDS_SHOWN]
    if isinstance(error, (PermissionDeniedError, UnauthenticatedError)):
        return write_denied(key, words)
    if isinstance(error, FileNotFoundError) and "NoSuchBucket" in str(error):
        return WorkError("not_found", f"The bucket does not exist: {words}", "Check its spelling.")
    if "InvalidCertificate" in str(error):
        return wrong_input(
            f"The object store's certificate is not trusted: {words}",
            "Set ca_file in the store's settings to the CA that signed it.",
        )
    return not_stored(key, words)
