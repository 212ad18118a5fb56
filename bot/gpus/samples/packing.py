"""Packs the amounts of a cluster's series in a minute into a few bytes for each series."""

import zlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from operator import add

import msgspec

from bot.gpus.amounts import Amounts

_QUICK = 1
_Row = tuple[int, ...]
_ENCODER = msgspec.msgpack.Encoder()
# Values of a column are alike, so columns pack well; the first column holds the series ids.
_DECODER = msgspec.msgpack.Decoder(tuple[_Row, ...])


def pack(entries: Mapping[int, Amounts]) -> bytes:
    """Packs entries by series id into bytes."""
    ids = sorted(entries)
    columns = zip(*(tuple(entries[each]) for each in ids), strict=True)
    steps = tuple(after - before for before, after in zip([0, *ids], ids, strict=False))
    return zlib.compress(_ENCODER.encode((steps, *columns)), _QUICK)


def unpack(packed: bytes) -> dict[int, Amounts]:
    """The entries of packed bytes, by series id."""
    return {series: Amounts(*row) for series, row in _rows(packed)}


def unpack_one(packed: bytes, wanted: frozenset[int]) -> Amounts:
    """The total amounts of these series in packed bytes."""
    chosen = [row for series, row in _rows(packed) if series in wanted]
    return Amounts(*map(sum, zip(*chosen, strict=True))) if chosen else Amounts()


def add_up(packed: Iterable[bytes]) -> dict[int, Amounts]:
    """The totals of several packed samples, by series id."""
    sums: dict[int, _Row] = {}
    for each in packed:
        for series, row in _rows(each):
            so_far = sums.get(series)
            sums[series] = row if so_far is None else tuple(map(add, so_far, row))
    return {series: Amounts(*row) for series, row in sums.items()}


def _rows(packed: bytes) -> Iterator[tuple[int, _Row]]:
    steps, *columns = _DECODER.decode(zlib.decompress(packed))
    return zip(accumulate(steps), zip(*columns, strict=True), strict=True)
