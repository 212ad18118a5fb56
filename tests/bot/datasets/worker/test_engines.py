from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import Buffer

from bot.datasets.manifest import Entry
from bot.datasets.worker.copying import piece_bytes
from bot.datasets.worker.stores.engine import Fallback, UnfitError, cut

ENTRY = Entry("one", 3, "etag")


class Unfit:
    """An engine that cannot read, and counts how often it was asked."""

    name = "first"

    def __init__(self, *, always: bool) -> None:
        self.asked = 0
        self._always = always

    def whole(self, entry: Entry) -> Buffer:
        self.asked += 1
        raise UnfitError(entry.key, always=self._always)

    def chunks(self, entry: Entry, first: int, size: int) -> Iterator[Buffer]:
        self.asked += 1
        raise UnfitError(f"{entry.key} {first} {size}", always=self._always)


class Reading:
    """An engine that reads."""

    name = "second"

    def whole(self, entry: Entry) -> Buffer:
        return bytes(entry.size)

    def chunks(self, entry: Entry, first: int, size: int) -> Iterator[Buffer]:
        assert first + size <= entry.size
        return iter([bytes(size)])


@pytest.mark.parametrize(("always", "asked"), [(True, 1), (False, 4)])
def test_second_engine_reads_what_first_cannot(*, always: bool, asked: int) -> None:
    first = Unfit(always=always)
    both = Fallback(first, Reading)
    assert both.name == "first"
    for _ in range(2):
        assert both.whole(ENTRY) == bytes(3)
        assert list(both.chunks(ENTRY, 1, 2)) == [bytes(2)]
    assert (both.name, first.asked) == ("first and second", asked)


@given(st.lists(st.binary(max_size=5)), st.integers(0, 20), st.integers(0, 20))
def test_range_is_cut_from_whole_answers(chunks: list[bytes], first: int, size: int) -> None:
    assert b"".join(cut(iter(chunks), first, size)) == b"".join(chunks)[first : first + size]


@pytest.mark.parametrize(
    ("mebibytes", "expected"), [(33, 16), (65, 32), (128, 32), (256, 64), (90_000, 64)]
)
def test_large_objects_come_in_few_pieces(mebibytes: int, expected: int) -> None:
    assert piece_bytes(mebibytes << 20) == expected << 20
