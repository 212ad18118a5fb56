"""Verifies files against their objects, and counts the methods used."""

import threading
from collections import Counter
from typing import Final

from bot.datasets.manifest import Entry
from bot.datasets.worker.stores.client import StoreClient
from bot.datasets.worker.stores.comparing import Kind


class Verifier:
    """Compares files with their objects in the store, and counts the methods used.

    With `are_ours` the objects are those that this worker pushes.
    """

    def __init__(self, client: StoreClient, prefix: str, *, are_ours: bool = False) -> None:
        self._client: Final = client
        self._prefix: Final = prefix
        self._comparison: Final = client.comparison(prefix, are_ours=are_ours)
        self._lock: Final = threading.Lock()
        self.counts: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()

    def count(self, kind: Kind, size: int) -> None:
        """Counts the method by which an object was verified."""
        with self._lock:
            self.counts[kind] += 1
            self.bytes[kind] += size

    def verify(self, entry: Entry, descriptor: int, found: str = "") -> bool:
        """Whether the file is the object; `found` is the file's MD5, if known."""
        if kind := self.compared(entry, descriptor, found):
            self.count(kind, entry.size)
        return kind is not None

    def compared(self, entry: Entry, descriptor: int, found: str = "") -> Kind | None:
        """The method by which the file is verified as the object; None if it differs."""
        return self._comparison.compared(entry, descriptor, found)

    def is_stored(self, key: str) -> bool:
        """Whether the store has an object of that key now."""
        return self._client.head(f"{self._prefix}{key}") is not None
