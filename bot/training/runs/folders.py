"""Checks that versions have the folders that runs read, before a run's pods mount them."""

from collections.abc import Sequence

from bot.datasets.browsing.reads import BrowseReads
from bot.datasets.caches.using import THERE, DataReadiness
from bot.errors import NotFoundError, StorageError, UsageError
from bot.training.submission.data import ReadFolder


class FolderCheck:
    """Reads manifests: a folder that does not exist would be mounted as an empty one.

    Versions never change, so that what was found is not read again.
    """

    def __init__(self, reads: BrowseReads) -> None:
        self._reads = reads
        self._known: set[tuple[str, str]] = set()

    def readiness(self, folders: Sequence[ReadFolder]) -> DataReadiness:
        """Why a run cannot have these folders, or what it waits for."""
        for version, folder in folders:
            if (version.id, folder) in self._known:
                continue
            try:
                self._reads.insist(version, folder)
            except (NotFoundError, UsageError) as error:
                return DataReadiness(failed=error.message, advice=error.hint)
            except StorageError as error:
                return DataReadiness(waits=f"{error.message} Retrying.")
            self._known.add((version.id, folder))
        return THERE
