"""Packs the amounts of all series of a cluster in a minute into a few bytes each."""

import zlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from operator import add

import msgspec

from bot.gpus.amounts import Amounts

_QUICK = 1
_Row = tuple[int, ...]
_ENCODER = msgspec.msgpack.Encoder()
# Column after column is alike, so it packs well; the first tells whose the others are.
_DECODER = msgspec.msgpack.Decoder(tuple[_Row, ...])


def pack(entries: Mapping[int, Amounts]) -> bytes:
    """The entries, by the id of their series, as bytes."""
    ids = sorted(entries)
    columns = zip(*(tuple(entries[each]) for each in ids), strict=True)
    steps = tuple(after - before for before, after in zip([0, *ids], ids, strict=False))
    return zlib.compress(_ENCODER.encode((steps, *columns)), _QUICK)


def unpack(packed: bytes) -> dict[int, Amounts]:
    """What was packed."""
    return {series: Amounts(*row) for series, row in _rows(packed)}


def unpack_one(packed: bytes, wanted: frozenset[int]) -> Amounts:
    """The amounts of these series together."""
    chosen = [row for series, row in _rows(packed) if series in wanted]
    return Amounts(*map(sum, zip(*chosen, strict=True))) if chosen else Amounts()


def add_up(packed: Iterable[bytes]) -> dict[int, Amounts]:
    """All of them together, by the id of their series."""
    sums: dict[int, _Row] = {}
    for each in packed:
        for series, row in _rows(each):
            so_far = sums.get(series)
            sums[series] = row if so_far is None else tuple(map(add, so_far, row))
    return {series: Amounts(*row) for series, row in sums.items()}


def _rows(packed: bytes) -> Iterator[tuple[int, _Row]]:
    steps, *columns = _DECODER.decode(zlib.decompress(packed))
    return zip(accumulate(steps), zip(*columns, strict=True), strict=True)
