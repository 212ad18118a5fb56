"""Puts the objects of a listing into the order of their keys, whatever the store's order."""

import contextlib
import gzip
import heapq
import tempfile
from collections.abc import Generator, Iterable, Iterator
from operator import attrgetter
from pathlib import Path

import msgspec

from bot.datasets.manifest import Entry
from bot.datasets.worker.failures import WorkError

_RUN_OBJECTS = 100_000
_LINES_READ = 200_000
_ENCODER = msgspec.json.Encoder()
_ENTRY = msgspec.json.Decoder(Entry)
_BY_KEY = attrgetter("key")


class OutOfOrderError(Exception):
    """The store lists keys in another order than that of their bytes."""


def in_order(entries: Iterable[Entry]) -> Iterator[Entry]:
    """The same entries; OutOfOrderError at the first entry that is out of order."""
    last: str | None = None
    for entry in entries:
        if last is not None and entry.key <= last:
            raise OutOfOrderError
        last = entry.key
        yield entry


def sorted_on_disk(entries: Iterable[Entry]) -> Generator[Entry, None, None]:
    """The same entries sorted, by runs in files; a key that is listed twice is yielded once."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="quartermaster-")))
        runs = [_written(run, folder / f"{number}.gz") for number, run in enumerate(_runs(entries))]
        last: Entry | None = None
        for entry in heapq.merge(*map(_read, runs), key=_BY_KEY):
            if last is None or entry.key != last.key:
                yield entry
            elif entry != last:
                raise WorkError(
                    "changed",
                    f"{entry.key} changed while it was listed.",
                    "List it again when nothing writes to it.",
                    (entry.key,),
                )
            last = entry


def _runs(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    run: list[Entry] = []
    for entry in entries:
        run.append(entry)
        if len(run) >= _RUN_OBJECTS:
            yield sorted(run, key=_BY_KEY)
            run = []
    yield sorted(run, key=_BY_KEY)


def _written(run: list[Entry], path: Path) -> Path:
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(_ENCODER.encode_lines(run))
    return path


def _read(path: Path) -> Iterator[Entry]:
    with gzip.open(path, "rb") as file:
        while lines := file.readlines(_LINES_READ):
            yield from map(_ENTRY.decode, lines)
