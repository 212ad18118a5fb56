"""Pages of folders, and searches by name."""

import tracemalloc

import pytest

from bot.datasets.browsing.listing import PAGE_ROWS, ListRequest, listing
from bot.datasets.browsing.near import Nearest, nearest
from bot.datasets.folders import Row
from bot.datasets.manifest import Entry
from tests.bot.datasets.browsing.manifests import Kept, entries

KEYS = [
    "labels.csv", "Masks/1.png", "Masks/2.png", "train/cat/1.jpg", "train/cat/mask.txt",
    "train/dog/1.jpg", "val/labels.CSV",
]  # fmt: skip


def names(request: ListRequest, keys: list[str] = KEYS) -> list[str]:
    return [row.name for row in listing(Kept(entries(keys)).opened(), request).rows]


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("*.csv", ["labels.csv", "val/labels.CSV"]),
        ("mask", ["Masks/1.png", "Masks/2.png", "train/cat/mask.txt"]),
        ("train/*/1.jpg", ["train/cat/1.jpg", "train/dog/1.jpg"]),
        ("?.png", ["Masks/1.png", "Masks/2.png"]),
        ("cat/1", ["train/cat/1.jpg"]),
        ("[1]", []),
        ("nothing", []),
        ("*" * 200 + "b", []),
    ],
)
def test_files_are_found_by_name_anywhere(search: str, found: list[str]) -> None:
    assert names(ListRequest(search=search)) == found


def test_a_search_stays_in_its_folder() -> None:
    assert names(ListRequest("train", search="mask")) == ["cat/mask.txt"]
    assert names(ListRequest("train/cat", search="*.png")) == []


def test_the_largest_come_first_if_asked() -> None:
    found = listing(Kept(entries(KEYS)).opened(), ListRequest(is_largest=True))
    assert [(row.name, row.size) for row in found.rows] == [
        ("train/", 150), ("val/", 70), ("Masks/", 30), ("labels.csv", 30),
    ]  # fmt: skip


def test_pages_follow_each_other_without_gaps() -> None:
    keys = [f"{number:03}" for number in range(100)]
    kept = Kept(entries(keys))
    for is_largest in (False, True):
        shown: list[str] = []
        for page in (1, 2, 3):
            found = listing(kept.opened(), ListRequest(is_largest=is_largest, page=page))
            assert (found.rows_found, found.skipped) == (100, (page - 1) * PAGE_ROWS)
            assert (found.files, found.size_bytes) == (100, 50_500)
            shown += [row.name for row in found.rows]
        assert shown == sorted(keys, reverse=is_largest)
    assert listing(kept.opened(), ListRequest(page=4)).rows == ()


def test_a_listing_that_stopped_is_not_whole() -> None:
    found = listing(Kept(entries(KEYS)).opened(objects=3), ListRequest())
    assert not found.is_whole
    assert found.objects == 7
    assert found.files < 7


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("label.csv", Nearest("", "labels.csv")),
        ("masks/1.png", Nearest("", "Masks/")),
        ("train/cat/mask.tx", Nearest("train/cat/", "train/cat/mask.txt")),
        ("train/catt/1.jpg", Nearest("train/", "train/cat/")),
        ("train/qqqqqqqq", Nearest("train/")),
        ("qqqqqqqq", Nearest("")),
    ],
)
def test_wrong_paths_suggest_near_names(path: str, near: Nearest) -> None:
    assert nearest(Kept(entries(KEYS)).opened(), path) == near


def test_a_near_name_is_found_among_thousands() -> None:
    kept = Kept(entries([f"{number:07}_000.png" for number in range(20_000)]), 500)
    assert nearest(kept.opened(), "0015123_000.pgn").path == "0015123_000.png"


@pytest.mark.slow
def test_a_million_objects_need_little_memory() -> None:
    made = (Entry(f"{n:09}_000.png", 100_000 + n % 977, f"{n:032x}") for n in range(1_000_000))
    kept = Kept(made, 50_000)
    tracemalloc.start()
    try:
        found = listing(kept.opened(), ListRequest(is_largest=True))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (found.rows_found, found.is_whole) == (1_000_000, True)
    assert peak < 40_000_000


def test_rows_are_named_below_their_folder() -> None:
    found = listing(Kept(entries(KEYS)).opened(), ListRequest("train"))
    assert found.rows == (Row("cat/", 90, 2), Row("dog/", 60, 1))
