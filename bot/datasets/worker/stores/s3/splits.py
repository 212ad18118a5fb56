"""Finds the parts an object was uploaded in: from the store, else by the usual part sizes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from bot.datasets.manifest import Entry
from bot.datasets.worker.checksums import equal_parts
from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.parts import part_bytes
from bot.datasets.worker.stores.s3.requests import Requests

_MIB, _MB = 1 << 20, 1_000_000
# Defaults of the AWS SDKs and command line, rclone, s5cmd, mc, Hadoop, Spark and ourselves.
_USUAL = (8, 5, 16, 64, 50, 10, 15, 25, 32, 100, 128, 256, 512, 1024)
_MOST_TRIED, _MOST_ASKED = 4, 1000


class Split(NamedTuple):
    """Sizes of parts; `is_certain` if the object is known to have these."""

    sizes: Sequence[int]
    is_certain: bool = False


class Splits:
    """Finds the parts of objects below a prefix.

    With `are_ours` the objects were just pushed by this worker, in its own part sizes, unless the
    store reports others.
    """

    def __init__(self, requests: Requests, prefix: str, *, are_ours: bool = False) -> None:
        self._requests: Final = requests
        self._prefix: Final = prefix
        self._are_ours: Final = are_ours

    def of(self, entry: Entry, count: int) -> Iterator[Split]:
        """The possible splits of an object with `count` parts, the likeliest first.

        None is certain if the store does not report part sizes. This takes one request, or one for
        each part if the parts have different sizes.
        """
        first = self._size(entry, 1, count)
        if first is None:
            yield from map(Split, _guesses(entry.size, count))
            if self._are_ours:
                yield Split(equal_parts(entry.size, part_bytes(entry.size)), is_certain=True)
            return
        alike = equal_parts(entry.size, first) if first else []
        if len(alike) == count:
            yield Split(alike)
        if count <= _MOST_ASKED:
            told = [first, *(self._size(entry, n, count) for n in range(2, count + 1))]
            sizes = [each for each in told if each is not None]
            if len(sizes) == count and sum(sizes) == entry.size:
                yield Split(sizes, is_certain=True)

    def _size(self, entry: Entry, number: int, count: int) -> int | None:
        """The size of a part; None if the store does not report it for this object."""
        query = {"partNumber": str(number)}
        if entry.version_id is not None:
            query["versionId"] = entry.version_id
        try:
            headers = self._requests.head(self._prefix + entry.key, query, {}).headers
        except WorkError as error:
            if error.reason == "store_down":
                raise
            return None
        return int(headers["content-length"]) if _is_of_part(headers, entry, count) else None


def _is_of_part(headers: Mapping[str, str], entry: Entry, count: int) -> bool:
    """Whether the answer is about one part; some stores always describe the whole object."""
    length, parts = headers.get("content-length", ""), headers.get("x-amz-mp-parts-count", "")
    is_it = headers.get("etag", "").strip('"') == entry.etag and length.isdecimal()
    return is_it and (parts == str(count) or (not parts and int(length) < entry.size))


def _guesses(size: int, count: int) -> list[list[int]]:
    """The usual part sizes that give `count` parts."""
    steps = [part_bytes(size), *(each * unit for unit in (_MIB, _MB) for each in _USUAL)]
    steps.append(-(-size // (count * _MIB)) * _MIB)
    fitting = (step for step in dict.fromkeys(steps) if step and -(-size // step) == count)
    return [equal_parts(size, step) for step, _ in zip(fitting, range(_MOST_TRIED), strict=False)]
