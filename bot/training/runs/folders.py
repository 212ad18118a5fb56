"""Checks that versions have the folders that runs read, before a run's pods mount them."""

import time
from collections.abc import Callable, Sequence
from threading import Lock

from bot.datasets.browsing.reads import BrowseReads
from bot.datasets.caches.using import THERE, DataReadiness
from bot.errors import NotFoundError, StorageError, UsageError
from bot.training.submission.data import ReadFolder

_SLOW_SECONDS, _PAUSE_SECONDS = 1.0, 60.0


class FolderCheck:
    """Reads manifests: a folder that does not exist would be mounted as an empty one.

    Versions never change, so that what was found is not read again. Steps wait for the answer, and
    hold up other runs of their cluster: a store that failed after a second or more is asked again
    once a minute, by one step. Thread-safe.
    """

    def __init__(self, reads: BrowseReads, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._reads = reads
        self._monotonic = monotonic
        self._known: set[tuple[str, str]] = set()
        self._lock = Lock()
        self._asked_at: dict[str, float] = {}

    def readiness(self, folders: Sequence[ReadFolder]) -> DataReadiness:
        """Why a run cannot have these folders, or what it waits for."""
        for each in folders:
            version, folder = each
            if (version.id, folder) in self._known:
                continue
            if not self._may_ask(version.manifest_store):
                said = f"Store {version.manifest_store} did not answer in time."
                return DataReadiness(waits=f"{said} Retrying within {_PAUSE_SECONDS:.0f} s.")
            try:
                self._insist(each)
            except (NotFoundError, UsageError) as error:
                return DataReadiness(failed=error.message, advice=error.hint)
            except StorageError as error:
                return DataReadiness(waits=f"{error.message} Retrying.")
            self._known.add((version.id, folder))
        return THERE

    def _may_ask(self, store: str) -> bool:
        """Whether a step may ask a store; after a pause, the first one that may begins the next."""
        now = self._monotonic()
        with self._lock:
            asked_at = self._asked_at.get(store)
            if asked_at is None:
                return True
            if now - asked_at < _PAUSE_SECONDS:
                return False
            self._asked_at[store] = now
            return True

    def _insist(self, read: ReadFolder) -> None:
        begun, is_slow = self._monotonic(), False
        try:
            self._reads.insist(*read)
        except StorageError:
            is_slow = self._monotonic() - begun > _SLOW_SECONDS
            raise
        finally:
            with self._lock:
                if is_slow:
                    self._asked_at[read.version.manifest_store] = self._monotonic()
                else:
                    self._asked_at.pop(read.version.manifest_store, None)
