"""Lists the objects below a prefix in the order of their keys, whatever the store's order."""

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
from bot.datasets.worker.requests import RefusedError, Requests
from bot.datasets.worker.store import Address
from bot.datasets.worker.xml import objects_page, versioning, versions_page

_RUN_OBJECTS = 100_000
_LINES_READ = 200_000
_ENCODER = msgspec.json.Encoder()
_ENTRY = msgspec.json.Decoder(Entry)
_BY_KEY = attrgetter("key")


class OutOfOrderError(Exception):
    """The store lists keys in another order than that of their bytes."""


def is_versioned(requests: Requests) -> bool | None:
    """Whether the bucket keeps versions; None if the store does not report it."""
    try:
        status = versioning(requests.get(query={"versioning": ""}).body)
    except RefusedError as refusal:
        # Not every store knows the request, and not every key may make it.
        if refusal.reason in {"no_access", "wrong_input"}:
            return None
        raise
    return status in {"Enabled", "Suspended"}


def listed(
    requests: Requests, source: Address, *, versioned: bool, page_objects: int = 1000
) -> Iterator[Entry]:
    """Every object in the store's order; keys are relative to the prefix."""
    cut = len(source.prefix)
    pages = objects = 0
    for page in _pages(requests, source, page_objects, versioned=versioned):
        pages += 1
        objects += len(page)
        for entry in page:
            yield Entry(entry.key[cut:], entry.size, entry.etag, entry.version_id)
    if versioned and pages > 1:
        _check_that_none_is_left_out(requests, source, objects)


def _pages(
    requests: Requests, source: Address, page_objects: int, *, versioned: bool
) -> Iterator[list[Entry]]:
    question = {
        "prefix": source.prefix,
        "encoding-type": "url",
        "max-keys": str(page_objects),
        **({"versions": ""} if versioned else {"list-type": "2"}),
    }
    read, following = (versions_page if versioned else objects_page), dict[str, str]()
    while True:
        page = read(requests.get(query=question | following).body)
        yield page.entries
        if not page.following:
            return
        if page.following == following:
            raise WorkError("wrong_input", "The store returned the same page of its listing twice.")
        following = page.following


def _check_that_none_is_left_out(requests: Requests, source: Address, objects: int) -> None:
    """Detects stores that omit keys between two pages of versions, such as SeaweedFS 4.48."""
    counted = sum(map(len, _pages(requests, source, 1000, versioned=False)))
    if counted != objects:
        raise WorkError(
            "wrong_input",
            f"The store lists {counted} objects below {source}, but {objects} when it lists their"
            " versions.",
            "Survey it again while nothing writes to it. If the numbers stay, this store omits"
            " objects when it lists versions: copy the data to a bucket without versions.",
        )


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
