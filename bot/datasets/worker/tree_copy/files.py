"""Copies one file with its holes, reads the copy back, and puts it in place by a rename."""

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.tree_copy.attributes import give

TEMPORARY = ".quartermaster-copying-"
_BLOCK = 2**20
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_HOLES = frozenset({errno.EINVAL, errno.ENOTSUP})
_SECTOR_BYTES = 512


@dataclass(frozen=True)
class CopiedFile:
    """What was copied of a file; `kept` and `lost` count its extended attributes."""

    size: int
    is_sparse: bool
    kept: int
    lost: int


def is_sparse(told: os.stat_result) -> bool:
    """Whether a file has holes."""
    return told.st_blocks * _SECTOR_BYTES < told.st_size


def copy_file(name: str, source: int, target: int) -> CopiedFile | None:
    """Copies a file from one open folder to another; None if it is no longer a file.

    A file that changes meanwhile gets its earlier time, so that the next look finds it changed.
    """
    with _opened(name, _READ, source) as reads:
        told = os.fstat(reads)
        if not stat.S_ISREG(told.st_mode):
            return None
        passing = f"{TEMPORARY}{hashlib.sha256(os.fsencode(name)).hexdigest()[:24]}"
        with _opened(passing, _WRITE, target) as writes:
            os.ftruncate(writes, told.st_size)
            parts, digest = _written(reads, writes, told.st_size)
            os.fsync(writes)
            # What is compared must come from the storage, not from this machine's memory.
            os.posix_fadvise(writes, 0, 0, os.POSIX_FADV_DONTNEED)
            if _read(writes, parts) != digest:
                raise WorkError(
                    "corrupt",
                    f"{name} was read back from the new volume with different content.",
                    "Check the storage of the new PVC, then copy again.",
                    (name,),
                )
            kept, lost = give(reads, writes, told)
        os.rename(passing, name, src_dir_fd=target, dst_dir_fd=target)
        return CopiedFile(told.st_size, is_sparse(told), kept, lost)


def _written(reads: int, writes: int, size: int) -> tuple[list[tuple[int, int]], bytes]:
    """Writes the data between the holes; where it is, and its digest."""
    digest, parts = hashlib.sha256(), []
    for start, end in _parts(reads, size):
        place = start
        while place < end:
            block = os.pread(reads, min(_BLOCK, end - place), place)
            if not block:
                break  # it has become shorter
            digest.update(block)
            _write(writes, block, place)
            place += len(block)
        parts.append((start, place))
    return parts, digest.digest()


def _write(writes: int, block: bytes, place: int) -> None:
    left = memoryview(block)
    while left:
        count = os.pwrite(writes, left, place)
        left, place = left[count:], place + count


def _read(writes: int, parts: list[tuple[int, int]]) -> bytes:
    digest = hashlib.sha256()
    for start, end in parts:
        for place in range(start, end, _BLOCK):
            digest.update(os.pread(writes, min(_BLOCK, end - place), place))
    return digest.digest()


def _parts(reads: int, size: int) -> Iterator[tuple[int, int]]:
    """Where a file has data, from and to; the whole file if the storage does not tell."""
    place = 0
    while place < size:
        try:
            start = os.lseek(reads, place, os.SEEK_DATA)
            end = os.lseek(reads, start, os.SEEK_HOLE)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return  # only a hole is left
            if error.errno not in _NO_HOLES:
                raise
            start, end = place, size
        if start >= size:
            return
        yield start, min(end, size)
        place = end


@contextlib.contextmanager
def _opened(name: str, flags: int, folder: int) -> Iterator[int]:
    descriptor = os.open(name, flags, 0o600, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
