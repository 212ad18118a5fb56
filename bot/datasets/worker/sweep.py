"""`quartermaster sweep`: deletes the copies of a dataset that no version needs."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

from bot.datasets.manifest import Entry, read_entries, read_index
from bot.datasets.worker.copies import names_of
from bot.datasets.worker.crew import Crew
from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.listing import sorted_on_disk
from bot.datasets.worker.progress import CopyProgress
from bot.datasets.worker.stores.client import StoreClient
from bot.datasets.worker.stores.http import RefusedError
from bot.datasets.worker.survey import Shelf
from bot.errors import StorageError


@dataclass(frozen=True)
class SweepOrder:
    """Which copies to look through, and the manifests of the versions that keep theirs."""

    client: StoreClient
    prefix: str
    kept: tuple[Shelf, ...]
    workers: int
    patience_seconds: float


class Sweeper:
    """Deletes the copies that no manifest names; safe to repeat."""

    def __init__(self, order: SweepOrder, progress: CopyProgress) -> None:
        self._order: Final = order
        self._progress: Final = progress
        self.kept_files = self.kept_bytes = 0

    def run(self) -> None:
        """Reads all manifests before it deletes the first copy; WorkError if one is damaged."""
        order = self._order
        try:
            needed = sorted_on_disk(chain.from_iterable(map(_names, order.kept)))
            # Nothing is deleted unless all manifests could be read.
            first = next(needed, None)
        except StorageError as error:
            raise WorkError("corrupt", error.message, error.hint) from error
        names = chain([first] if first else [], needed)
        stored = sorted_on_disk(order.client.listed(order.prefix, versioned=False))
        unneeded = self._unneeded(stored, names)
        Crew(order.patience_seconds).work(unneeded, self._remove, order.workers)

    def _unneeded(self, stored: Iterable[Entry], names: Iterator[Entry]) -> Iterator[Entry]:
        needed = next(names, None)
        for found in stored:
            while needed and needed.key < found.key:
                needed = next(names, None)
            if needed and needed.key == found.key:
                self.kept_files, self.kept_bytes = self.kept_files + 1, self.kept_bytes + found.size
                continue
            yield found

    def _remove(self, found: Entry) -> None:
        try:
            self._order.client.remove(self._order.prefix + found.key)
        except RefusedError as refusal:
            # Cloud Storage says so of an object whose deletion was not answered.
            if refusal.reason != "not_found":
                raise
        self._progress.add(1, found.size)


def _names(shelf: Shelf) -> Iterator[Entry]:
    """The names and sizes of a version's copies."""
    for entry in read_entries(shelf.get, read_index(shelf.get)):
        yield from (Entry(name, entry.size, "") for name in names_of(entry))
