"""`quartermaster copy`: copies all of a volume to another one, and verifies it.

The source is looked at again until nothing differs from the copy. A restart goes on: files that
are in place with the same size and time are not copied again.
"""

import errno
import os
import stat
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from bot.datasets.worker.crew import Crew
from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.progress import CopyProgress
from bot.datasets.worker.tree_copy.attributes import give, give_link, has_owner, is_same_file
from bot.datasets.worker.tree_copy.failures import LARGER, failure, is_gone
from bot.datasets.worker.tree_copy.files import TEMPORARY, copy_file, is_sparse
from bot.datasets.worker.tree_copy.folders import Folders, Root

_LOOKS = 4
_BATCH = 64
_PATIENCE_SECONDS = 120.0
_SECTOR_BYTES = 512
Count = Literal[
    "folders", "links", "hardlinks", "sparse", "attributes", "special", "lost_attributes"
]


@dataclass(frozen=True)
class CopyOrder:
    """What to copy where; with `live` the source may change meanwhile."""

    source: Path
    target: Path
    workers: int
    live: bool = False


@dataclass(frozen=True)
class CopyResult:
    """The result of a copy.

    `counts` are what was kept or left out. `others` counts what is only at the target, `changed`
    the files that still changed at the last look.
    """

    files: int
    bytes: int
    copied_files: int
    copied_bytes: int
    counts: Mapping[Count, int]
    others: int
    changed: int


@dataclass(frozen=True)
class Batch:
    """Some entries of one folder."""

    folders: Folders
    entries: tuple[tuple[str, os.stat_result], ...]


@dataclass
class TreeScan:
    """What one look through the source has found; `links` are hard links and their first names."""

    counts: Counter[Count] = field(default_factory=Counter)
    files: int = 0
    bytes: int = 0
    others: int = 0
    different: int = 0
    first_names: dict[tuple[int, int], Folders] = field(default_factory=dict)
    links: list[tuple[Folders, Folders]] = field(default_factory=list)


def copy_tree(order: CopyOrder, progress: CopyProgress) -> CopyResult:
    """Copies the source; WorkError if it cannot be copied completely."""
    copier = TreeCopier(order, progress)
    try:
        return copier.run()
    except OSError as error:
        raise failure(error, order.source, order.target) from error


class TreeCopier:
    """One copy of a tree."""

    def __init__(self, order: CopyOrder, progress: CopyProgress) -> None:
        self._order: Final = order
        self._progress: Final = progress
        self._source: Final = Root(order.source)
        self._target: Final = Root(order.target)
        self._lock: Final = threading.Lock()
        self._copied_files = self._copied_bytes = 0
        self._attributes: Counter[Count] = Counter()

    def run(self) -> CopyResult:
        """Looks and copies until nothing differs."""
        self._foresee()
        self._progress.phase = "copying"
        look = self._look()
        for _ in range(_LOOKS - 1):
            self._progress.phase = "verifying"
            look = self._look()
            if not look.different:
                break
        if look.different and not self._order.live:
            files = "1 file" if look.different == 1 else f"{look.different:,} files"
            raise WorkError(
                "changed",
                f"{files} still changed when everything had been copied.",
                "Stop what writes to the PVC, and copy again: only these are copied then.",
            )
        self._finish(())
        os.sync()
        return self._result(look)

    def _result(self, look: TreeScan) -> CopyResult:
        return CopyResult(
            look.files, look.bytes, self._copied_files, self._copied_bytes,
            look.counts + self._attributes, look.others, look.different,
        )  # fmt: skip

    def _foresee(self) -> None:
        """Counts files and bytes, and refuses a target that is too small."""
        files = size = needed = 0
        seen: set[tuple[int, int]] = set()
        for _, entries in self._walked(()):
            for told in entries.values():
                if not stat.S_ISREG(told.st_mode):
                    continue
                files += 1
                key = (told.st_dev, told.st_ino)
                if told.st_nlink == 1 or key not in seen:
                    size, needed = size + told.st_size, needed + told.st_blocks * _SECTOR_BYTES
                if told.st_nlink > 1:
                    seen.add(key)
            self._progress.files_total, self._progress.bytes_total = files, size
        room = os.statvfs(self._order.target)
        has = (room.f_blocks - room.f_bfree + room.f_bavail) * room.f_frsize
        if needed > has:
            raise WorkError(
                "no_room",
                f"The files need {needed:,} bytes, and the new volume has {has:,}.",
                LARGER,
            )

    def _walked(self, folders: Folders) -> Iterator[tuple[Folders, dict[str, os.stat_result]]]:
        """The folders below one, itself first; what disappears meanwhile is left out."""
        try:
            entries = self._source.entries(folders)
        except OSError as error:
            if is_gone(error) and folders:
                return
            raise
        yield folders, entries
        for name, told in entries.items():
            if stat.S_ISDIR(told.st_mode):
                yield from self._walked((*folders, name))

    def _look(self) -> TreeScan:
        """Copies what differs, and counts everything."""
        look, crew = TreeScan(), Crew(_PATIENCE_SECONDS)
        self._progress.set(0, 0)
        crew.work(self._batches(look), lambda batch: self._work(batch, look), self._order.workers)
        for first, other in look.links:
            self._link(first, other, look)
        return look

    def _batches(self, look: TreeScan) -> Iterator[Batch]:
        """The entries to copy; folders are created on the way."""
        for folders, entries in self._walked(()):
            if folders:
                self._target.make(folders)
                look.counts["folders"] += 1
            for each in self._target.names(folders).difference(entries):
                if each.startswith(TEMPORARY):
                    self._clear(folders, each)
                else:
                    look.others += 1
            left = [
                (name, told) for name, told in entries.items()
                if self._is_work(folders, name, told, look)
            ]  # fmt: skip
            for start in range(0, len(left), _BATCH):
                yield Batch(folders, tuple(left[start : start + _BATCH]))

    def _is_work(self, folders: Folders, name: str, told: os.stat_result, look: TreeScan) -> bool:
        """Whether an entry is copied now: no folder, no further name of a file."""
        if stat.S_ISLNK(told.st_mode):
            look.counts["links"] += 1
            return True
        if not stat.S_ISREG(told.st_mode):
            look.counts["special"] += not stat.S_ISDIR(told.st_mode)
            return False
        look.files += 1
        if told.st_nlink > 1:
            key, path = (told.st_dev, told.st_ino), (*folders, name)
            first = look.first_names.setdefault(key, path)
            if first != path:
                look.links.append((first, path))
                return False
        look.bytes += told.st_size
        look.counts["sparse"] += is_sparse(told)
        return True

    def _clear(self, folders: Folders, name: str) -> None:
        with self._target.opened(folders) as folder:
            os.unlink(name, dir_fd=folder)

    def _work(self, batch: Batch, look: TreeScan) -> None:
        try:
            with (
                self._source.opened(batch.folders) as source,
                self._target.opened(batch.folders) as target,
            ):
                for name, told in batch.entries:
                    path = (*batch.folders, name)
                    try:
                        self._entry(path, (source, target), told, look)
                    except OSError as error:
                        if not is_gone(error):
                            raise failure(
                                error, self._order.source, self._order.target, path
                            ) from error
                        self._differs(look)
        except OSError as error:
            if is_gone(error):
                self._differs(look)
                return
            raise failure(error, self._order.source, self._order.target) from error

    def _entry(
        self, path: Folders, folders: tuple[int, int], told: os.stat_result, look: TreeScan
    ) -> None:
        """Copies a file or a symbolic link that is not in place."""
        name, (source, target) = path[-1], folders
        there = _stat_to_replace(path, target)
        if stat.S_ISLNK(told.st_mode):
            self._symlink(name, folders, told, there, look)
            return
        if is_same_file(told, there):
            if there is not None and not has_owner(told, there):
                self._give_again(name, source, target)
            self._progress.skip(1, told.st_size)
            return
        copied = copy_file(name, source, target)
        self._differs(look)
        if copied is None:
            return
        self._progress.add(1, copied.size)
        with self._lock:
            self._copied_files += 1
            self._copied_bytes += copied.size
            self._attributes["attributes"] += copied.kept
            self._attributes["lost_attributes"] += copied.lost

    def _symlink(
        self, name: str, folders: tuple[int, int], told: os.stat_result,
        there: os.stat_result | None, look: TreeScan,
    ) -> None:  # fmt: skip
        source, target = folders
        leads = os.readlink(name, dir_fd=source)
        is_link = there is not None and stat.S_ISLNK(there.st_mode)
        if not is_link or os.readlink(name, dir_fd=target) != leads:
            if there is not None:
                os.unlink(name, dir_fd=target)
            os.symlink(leads, name, dir_fd=target)
            self._differs(look)
        give_link(name, target, told)

    def _give_again(self, name: str, source: int, target: int) -> None:
        """Gives a file that is in place the owner that its source got meanwhile."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        reads, writes = os.open(name, flags, dir_fd=source), -1
        try:
            writes = os.open(name, flags, dir_fd=target)
            give(reads, writes, os.fstat(reads))
        finally:
            os.close(reads)
            if writes >= 0:
                os.close(writes)

    def _link(self, first: Folders, other: Folders, look: TreeScan) -> None:
        """Gives a file that was copied another name."""
        look.counts["hardlinks"] += 1
        self._progress.skip(1, 0)
        *folders, name = other
        *first_folders, first_name = first
        try:
            with (
                self._target.opened(tuple(first_folders)) as from_,
                self._target.opened(tuple(folders)) as to,
            ):
                has, there = _stat(first_name, from_), _stat_to_replace(other, to)
                if has is not None and there is not None and has.st_ino == there.st_ino:
                    return
                if there is not None:
                    os.unlink(name, dir_fd=to)
                os.link(first_name, name, src_dir_fd=from_, dst_dir_fd=to)
        except OSError as error:
            if not is_gone(error):
                raise failure(error, self._order.source, self._order.target, other) from error
        self._differs(look)

    def _differs(self, look: TreeScan) -> None:
        with self._lock:
            look.different += 1

    def _finish(self, folders: Folders) -> None:
        """Gives the folders their attributes, the innermost first: their times change before."""
        for below in reversed([each for each, _ in self._walked(folders)]):
            try:
                with self._source.opened(below) as source, self._target.opened(below) as target:
                    kept, lost = give(source, target, os.fstat(source))
            except OSError as error:
                if is_gone(error) and self._order.live:
                    continue
                raise
            self._attributes["attributes"] += kept
            self._attributes["lost_attributes"] += lost


def _stat(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        if error.errno == errno.ENOENT:
            return None
        raise


def _stat_to_replace(path: Folders, folder: int) -> os.stat_result | None:
    """What an entry would replace; WorkError if it is a folder, in which others may keep files."""
    there = _stat(path[-1], folder)
    if there is not None and stat.S_ISDIR(there.st_mode):
        said = f"{'/'.join(path)} is a folder in the new PVC, and a file or link in the old one."
        hint = "Delete or rename it in the new PVC, then copy again."
        raise WorkError("changed", said, hint, ("/".join(path),))
    return there
