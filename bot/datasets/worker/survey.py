"""`quartermaster survey`: lists the objects below a prefix and writes a manifest of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from bot.datasets.manifest import (
    Entry,
    Index,
    ManifestWriter,
    SurveyFindings,
    read_entries,
    write_index,
)
from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.keys import FilesAsFolders, FoldedPaths, Remarked, problem
from bot.datasets.worker.listing import OutOfOrderError, in_order, sorted_on_disk
from bot.datasets.worker.progress import CopyProgress, say
from bot.datasets.worker.stores.client import StoreClient
from bot.datasets.worker.stores.settings import Address

_KEYS_SHOWN = 10


@dataclass(frozen=True)
class Shelf:
    """The place of a manifest: a prefix of a bucket."""

    client: StoreClient
    prefix: str

    def put(self, name: str, content: bytes) -> None:
        """Stores a part or the index."""
        self.client.write(f"{self.prefix}{name}", content)

    def get(self, name: str) -> bytes:
        """A part or the index."""
        return self.client.read(f"{self.prefix}{name}")


def survey(client: StoreClient, source: Address, shelf: Shelf, progress: CopyProgress) -> Index:
    """Writes the manifest of the objects below `source`; WorkError if there are none."""
    versioned = client.keeps_versions()
    found = ListingTotals(progress, versioned=versioned)
    try:
        entries = client.listed(source.prefix, versioned=bool(versioned))
        index = found.written(in_order(entries), shelf)
    except OutOfOrderError:
        # Only time is lost: parts are overwritten, and the index is written last.
        progress.files_done = progress.bytes_done = 0
        found = ListingTotals(progress, versioned=versioned)
        entries = client.listed(source.prefix, versioned=bool(versioned))
        index = found.written(sorted_on_disk(entries), shelf)
    if not index.objects:
        raise WorkError(
            "not_found",
            f"There are no objects below {source}.",
            "Check the spelling of the prefix. It must end where the dataset's files begin.",
        )
    index = replace(index, source=str(source), findings=found.findings(shelf, index))
    write_index(shelf.put, index)
    return index


def say_written(index: Index, progress: CopyProgress, more: Mapping[str, object]) -> None:
    """Prints the last line of a Job that wrote a manifest, with `more` fields for the bot."""
    say(
        {
            "event": "done",
            "phase": progress.phase,
            "digest": index.digest,
            "objects": index.objects,
            "bytes": index.bytes,
            "seconds": progress.seconds,
            "problems": index.findings.problems.count,
            "warnings": index.findings.warnings.count,
            "keys": [each.key for each in index.findings.problems.first[:_KEYS_SHOWN]],
            **more,
        }
    )


class ListingTotals:
    """The result of one listing."""

    def __init__(self, progress: CopyProgress, *, versioned: bool | None) -> None:
        self._progress = progress
        self._versioned = versioned
        self._folders = 0
        self._problems, self._warnings = Remarked(), Remarked()
        self._files, self._folded = FilesAsFolders(), FoldedPaths()

    def written(self, entries: Iterable[Entry], shelf: Shelf) -> Index:
        """Writes the manifest's parts, and returns the index, without findings."""
        writer = ManifestWriter(shelf.put)
        for entry in entries:
            if entry.size == 0 and (entry.key.endswith("/") or not entry.key):
                self._folders += 1
                continue
            writer.add(entry)
            self._look_at(entry.key)
            self._progress.add(1, entry.size)
        return writer.close("")

    def findings(self, shelf: Shelf, index: Index) -> SurveyFindings:
        """The problems and warnings about the keys; reads the manifest again if necessary."""
        if self._versioned is None:
            self._warnings.add("", "the store does not report whether the bucket keeps versions")
        for remark in self._folded.clashes(
            lambda: (entry.key for entry in read_entries(shelf.get, index))
        ):
            self._warnings.add(remark.key, remark.problem)
        return SurveyFindings(
            versioned=bool(self._versioned),
            folders=self._folders,
            problems=self._problems.remarks(),
            warnings=self._warnings.remarks(),
        )

    def _look_at(self, key: str) -> None:
        file = self._files.folder_that_is_a_file(key)
        if words := problem(key):
            self._problems.add(key, words)
        elif file:
            self._problems.add(key, f"needs a folder {file}, which is a file")
        self._folded.note(key)
