"""`quartermaster select`: writes the manifest of the selected files of a version."""

import math
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from tempfile import TemporaryFile

from msgspec.structs import replace

from bot.datasets.folders import Budget, Manifest
from bot.datasets.manifest import Entry, Index, read_entries, read_part, write_index
from bot.datasets.patterns import PathPattern
from bot.datasets.selection import Label
from bot.datasets.worker.copying import Ways, corrupt
from bot.datasets.worker.failures import WorkError, wrong_input
from bot.datasets.worker.fill import recorded
from bot.datasets.worker.labels import LARGEST_BYTES, LabelledFiles
from bot.datasets.worker.progress import CopyProgress
from bot.datasets.worker.survey import ListingTotals, Shelf
from bot.errors import StorageError


@dataclass(frozen=True)
class SelectOrder:
    """What to select from which manifest, and where to write the new one.

    Without patterns, all paths match. `labels` is the path of a file of the version, which has
    the labels in `where`; `ways` read and verify it.
    """

    digest: str
    whole: Shelf
    shelf: Shelf
    ways: Ways
    paths: Sequence[str]
    labels: str
    where: Sequence[Label]


def select(order: SelectOrder, progress: CopyProgress) -> Index:
    """Writes the manifest of the selected files; WorkError if there are none."""
    try:
        return _written(order, progress)
    except WorkError:
        raise
    except StorageError as error:
        raise WorkError("corrupt", error.message, error.hint) from error


def _written(order: SelectOrder, progress: CopyProgress) -> Index:
    """The manifest as it was written; StorageError if that of the whole version is damaged."""
    whole = recorded(order.whole, order.digest)
    found = ListingTotals(progress, versioned=whole.findings.versioned)
    index = found.written(_selected(order, whole), order.shelf)
    if not index.objects:
        raise WorkError(
            "not_found",
            "None of its files is selected.",
            "Check the spelling. `*` stands for text within one name, `**` for any folders.",
        )
    index = replace(index, source=whole.source, findings=found.findings(order.shelf, index))
    write_index(order.shelf.put, index)
    return index


def _selected(order: SelectOrder, whole: Index) -> Iterator[Entry]:
    patterns = [PathPattern(each) for each in order.paths]
    labelled = _labelled(order, whole) if order.labels else None
    for entry in read_entries(order.whole.get, whole):
        is_there = not patterns or any(each.matches(entry.key) for each in patterns)
        if is_there and (labelled is None or entry.key in labelled):
            yield entry


def _labelled(order: SelectOrder, whole: Index) -> LabelledFiles:
    """The files with the labels; WorkError if the file of labels cannot be read."""
    budget = Budget(sys.maxsize, math.inf, time.monotonic)
    entry = Manifest(whole, partial(read_part, order.whole.get), budget).find(order.labels)
    if entry is None:
        raise WorkError(
            "not_found",
            f"There is no file {order.labels}.",
            "Name the file with labels by its path in the version, such as train/labels.csv.",
        )
    if entry.size > LARGEST_BYTES:
        raise wrong_input(
            f"{order.labels} has {entry.size >> 20:,} MiB; labels are read from files of at most"
            f" {LARGEST_BYTES >> 20} MiB.",
            "Split it by folder, or leave out columns.",
        )
    content = bytes(order.ways.engine.whole(entry))
    with TemporaryFile() as file:
        file.write(content)
        file.flush()
        if len(content) != entry.size or not order.ways.verifier.verify(entry, file.fileno()):
            raise corrupt(entry)
    return LabelledFiles(order.labels, content, order.where)
