"""Folders of a version, as its manifest has them."""

from random import Random

import pytest

from bot.datasets.folders import Row
from bot.datasets.manifest import Entry
from tests.bot.datasets.browsing.manifests import Kept, entries

KEYS = ["a-b", "a.csv", "a/1", "a/2/x", "a/2/y", "b/c/d/e", "labels.csv", "z/1", "z/2"]


def test_files_and_folders_have_sizes_and_counts() -> None:
    manifest = Kept(entries(KEYS)).opened()
    assert list(manifest.rows("")) == [
        Row("a-b", 10),
        Row("a.csv", 20),
        Row("a/", 30 + 40 + 50, 3),
        Row("b/", 60, 1),
        Row("labels.csv", 70),
        Row("z/", 80 + 90, 2),
    ]
    assert list(manifest.rows("a/")) == [Row("1", 30), Row("2/", 90, 2)]
    assert list(manifest.rows("b/c/")) == [Row("d/", 60, 1)]
    assert list(manifest.rows("c/")) == []


def test_parts_of_one_folder_are_not_read() -> None:
    kept = Kept(entries([f"train/{number:04}" for number in range(300)] + ["val/1"]))
    assert list(kept.opened().rows("")) == [Row("train/", sum(range(10, 3001, 10)), 300),
                                            Row("val/", 3010, 1)]  # fmt: skip
    assert kept.reads == ["part-00099.jsonl.gz", "part-00100.jsonl.gz"]


def test_a_folder_reads_only_its_own_parts() -> None:
    kept = Kept(entries([f"{folder}/{number}" for folder in "abc" for number in range(9)]))
    assert len(list(kept.opened().rows("b/"))) == 9
    assert kept.reads == [f"part-{number:05}.jsonl.gz" for number in (2, 3, 4, 5)]


def test_one_file_reads_at_most_two_parts() -> None:
    kept = Kept(entries([f"{number:03}" for number in range(0, 100, 2)]))
    manifest = kept.opened()
    found = manifest.find("052")
    assert found is not None
    assert found.size == 270
    assert manifest.find("053") is None
    assert manifest.find("999") is None
    assert len(kept.reads) <= 4


def test_what_was_not_read_is_not_claimed() -> None:
    manifest = Kept(entries([f"{f}/{n}" for f in "ab" for n in range(10)])).opened(objects=4)
    rows = list(manifest.rows(""))
    assert manifest.budget.is_spent
    assert rows[-1].is_partial
    assert sum(row.files or 0 for row in rows) < 20


def test_reading_stops_at_its_deadline() -> None:
    manifest = Kept(entries(["a", "b"])).opened(deadline=0)
    assert list(manifest.files("")) == []
    assert manifest.budget.is_spent


@pytest.mark.parametrize("seed", range(60))
def test_any_tree_is_listed_as_counting_would(seed: int) -> None:
    random = Random(seed)  # noqa: S311
    names = ["a", "b", "a-b", "a.b", "ä", "b0", "", ".", "\U0001f680", "\ue000", "z z"]
    depth = random.randint(1, 4)
    keys = {
        "/".join(random.choices(names, k=random.randint(1, depth)))
        for _ in range(random.randint(0, 120))
    }
    found = entries([key for key in keys if key and not key.endswith("/")])
    kept = Kept(found, random.randint(1, 9))
    folders = {"", "nothing/"}
    for each in found:
        ends = (place + 1 for place, letter in enumerate(each.key) if letter == "/")
        folders |= {each.key[:end] for end in ends}
    for folder in folders:
        manifest = kept.opened()
        assert list(manifest.rows(folder)) == _counted(found, folder)
        assert list(manifest.files(folder)) == [e for e in found if e.key.startswith(folder)]
        assert manifest.has_folder(folder) == any(e.key.startswith(folder) for e in found)
    for entry in found:
        assert kept.opened().find(entry.key) == entry


def _counted(found: list[Entry], folder: str) -> list[Row]:
    rows: dict[str, Row] = {}
    for entry in found:
        if not entry.key.startswith(folder):
            continue
        name, slash, _ = entry.key[len(folder) :].partition("/")
        if not slash:
            rows[name] = Row(name, entry.size)
            continue
        before = rows.get(name + slash, Row(name + slash, 0, 0))
        rows[name + slash] = Row(name + slash, before.size + entry.size, (before.files or 0) + 1)
    return list(rows.values())
