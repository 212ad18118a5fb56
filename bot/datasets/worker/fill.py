"""`quartermaster fill`: copies the objects of a manifest into a tree that appears complete."""

import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bot.datasets.manifest import Entry, Index, read_entries, read_index, write_index
from bot.datasets.worker.copying import Copier, Object, Ways, is_full
from bot.datasets.worker.failures import WorkError, wrong_input
from bot.datasets.worker.keys import problem
from bot.datasets.worker.names import Names, below
from bot.datasets.worker.part_shelf import PartShelf
from bot.datasets.worker.progress import CopyProgress
from bot.datasets.worker.records import Done, Record, boot_id, read
from bot.datasets.worker.survey import Shelf
from bot.datasets.worker.volume import TargetFolder
from bot.errors import StorageError

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_UNIT = 1024


@dataclass(frozen=True)
class Shard:
    """The share of this shard: the objects whose key hashes to its number."""

    shard: int = 0
    shards: int = 1

    def has(self, key: str) -> bool:
        """Whether a key belongs to this shard."""
        return self.shards == 1 or zlib.crc32(key.encode()) % self.shards == self.shard


@dataclass(frozen=True)
class Order:
    """What to copy where, and how long to retry; `keep_open` skips the last rename."""

    digest: str
    shelf: Shelf | PartShelf
    volume: TargetFolder
    share: Shard
    workers: int
    patience_seconds: float
    keep_open: bool = False


@dataclass(frozen=True)
class Result:
    """The result of one shard's fill; `is_ready`: the tree is complete and in its place.

    `growing` is the path of the files within the volume while the tree is kept open, else empty.
    """

    index: Index
    is_ready: bool
    copied_files: int
    copied_bytes: int
    growing: str = ""


def fill(order: Order, ways: Ways, progress: CopyProgress) -> Result:
    """Copies the missing objects of one shard; the last shard makes the tree ready."""
    try:
        index = wanted(order.shelf, order.digest)
        if order.volume.is_ready():
            order.volume.tidy()
            return Result(index, is_ready=True, copied_files=0, copied_bytes=0)
        if order.volume.is_kept_open():
            return _left_open(order, index)
        order.volume.prepare()
        copier = _copied(order, index, ways, progress)
        ready = _finished(order, index, progress)
    except WorkError:
        raise
    except StorageError as error:
        raise WorkError("corrupt", error.message, error.hint) from error
    except OSError as error:
        raise _volume_failure(order.volume, error) from error
    growing = order.volume.growing if order.volume.is_kept_open() else ""
    return Result(index, ready, copier.copied_files, copier.copied_bytes, growing)


def finish(volume: TargetFolder) -> None:
    """Makes a tree ready that was kept open; safe to repeat."""
    try:
        volume.finish()
    except OSError as error:
        raise _volume_failure(volume, error) from error


def _left_open(order: Order, index: Index) -> Result:
    """The result for a tree kept open: a layout may have changed it, so nothing is copied."""
    if not order.keep_open:
        raise wrong_input(
            f"{order.volume.target} is complete and kept open for a layout.",
            "Make it ready: quartermaster finish --target ... --digest ...",
        )
    return Result(
        index, is_ready=False, copied_files=0, copied_bytes=0, growing=order.volume.growing
    )


def recorded(shelf: Shelf | PartShelf, digest: str) -> Index:
    """The index of a manifest; WorkError for another version."""
    index = read_index(shelf.get)
    if index.digest != digest:
        raise wrong_input(
            f"The manifest is that of {index.digest}, not of {digest}.",
            "Use the manifest that the version was recorded with.",
        )
    return index


def wanted(shelf: Shelf | PartShelf, digest: str) -> Index:
    """The index of a manifest; WorkError for another version, or keys unfit as files."""
    index = recorded(shelf, digest)
    problems = index.findings.problems
    if problems.count:
        first = problems.first[0]
        raise WorkError(
            "bad_keys",
            f"{problems.count} keys cannot be stored as files: {first.key} {first.problem}.",
            "Rename or remove these objects, then record a new version.",
            tuple(remark.key for remark in problems.first),
        )
    return index


def _copied(order: Order, index: Index, ways: Ways, progress: CopyProgress) -> Copier:
    path = order.volume.record(order.share.shard, order.share.shards)
    done = read(path, boot_id())
    _check_room(order, index)
    progress.files_total, progress.bytes_total = _totals(order, index)
    record = Record(path)
    try:
        copier = Copier(ways, order.volume, record, progress, order.patience_seconds)
        copier.run(_objects(order, index, done), order.workers)
        record.complete()
    finally:
        record.close()
    return copier


def _totals(order: Order, index: Index) -> tuple[int, int]:
    """The numbers of files and bytes of this shard."""
    if order.share.shards == 1:
        return index.objects, index.bytes
    files = size = 0
    for entry in read_entries(order.shelf.get, index):
        if order.share.has(entry.key):
            files, size = files + 1, size + entry.size
    return files, size


def _objects(order: Order, index: Index, done: Done) -> Iterator[Object]:
    """This shard's objects in order, their folders made; ordinals count within the shard."""
    ordinal = 0
    for entry in read_entries(order.shelf.get, index):
        if order.share.has(entry.key):
            # The survey has checked this, but the manifest is only verified at its end.
            if words := problem(entry.key):
                raise _bad_key(entry, words)
            order.volume.make_folders(entry.key)
            yield Object(ordinal, entry, known=ordinal in done)
            ordinal += 1


def _bad_key(entry: Entry, words: str) -> WorkError:
    said = f"{entry.key!r} cannot be stored as a file: it {words}."
    return WorkError("bad_keys", said, "", (entry.key,))


def _finished(order: Order, index: Index, progress: CopyProgress) -> bool:
    """Makes the tree ready once all shards are complete; several shards may do so at once."""
    share, volume = order.share, order.volume
    records = (volume.record(shard, share.shards) for shard in range(share.shards))
    if not all(read(path, "").complete for path in records):
        return volume.is_ready()
    progress.phase = "finishing"
    try:
        _check_names(order, index)
        with volume.describing(share.shard) as folder:
            for part in index.parts:
                (folder / part.name).write_bytes(order.shelf.get(part.name))
            write_index(lambda name, content: _written(folder / name, content), index)
        if order.keep_open:
            volume.keep_open()
        else:
            volume.publish()
    except FileNotFoundError:
        # Another shard has finished in the meantime, and removed what this one was using.
        if not volume.is_ready():
            raise
    return not order.keep_open


def _check_names(order: Order, index: Index) -> None:
    """Lists the tree once, as a volume that folds names stores several keys as one file."""
    wanted = Names.of(entry.key.encode() for entry in read_entries(order.shelf.get, index))
    found = Names.of(below(os.fsencode(order.volume.path(""))))
    if found == wanted:
        return
    raise WorkError(
        "bad_keys",
        f"{_files(wanted.count)} copied, but the volume lists {found.count:,} or other names:"
        " it does not keep file names unchanged.",
        "Use a class that distinguishes upper and lower case and keeps Unicode unchanged, or rename"
        " these objects and record a new version.",
        tuple(remark.key for remark in index.findings.warnings.first),
    )


def _files(count: int) -> str:
    return "1 file was" if count == 1 else f"{count:,} files were"


def _written(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _check_room(order: Order, index: Index) -> None:
    share = order.share
    every = [
        read(order.volume.record(shard, share.shards), boot_id()) for shard in range(share.shards)
    ]
    size = index.bytes - sum(done.bytes for done in every)
    files = index.objects - sum(map(len, every))
    free_size, free_files = order.volume.free()
    if size > free_size:
        raise _no_room(
            f"{told(size)} must still be copied, but {order.volume.target} has {told(free_size)}"
            " free."
        )
    if 0 <= free_files < files:
        raise _no_room(
            f"{files:,} file{'' if files == 1 else 's'} must still be copied, but"
            f" {order.volume.target} has capacity for {free_files:,}."
        )


def _volume_failure(volume: TargetFolder, error: OSError) -> WorkError:
    if is_full(error):
        return _no_room(f"{volume.target} is full: {told(volume.free()[0])} are free.")
    return WorkError(
        "store_down",
        f"The volume failed: {error.strerror or error}.",
        "Copied files are kept. The next attempt copies the rest.",
    )


def _no_room(message: str) -> WorkError:
    return WorkError("no_room", message, "Cache it again with a larger size.")


def told(size: float) -> str:
    """Bytes as people read them: 1.5 GiB."""
    unit = 0
    while size >= _UNIT and unit < len(_UNITS) - 1:
        size, unit = size / _UNIT, unit + 1
    return f"{size:.1f} {_UNITS[unit]}" if unit else f"{size:.0f} B"
