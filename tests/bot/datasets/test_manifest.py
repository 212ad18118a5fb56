import gzip
import hashlib
import json
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.datasets.manifest import (
    Entry,
    Index,
    ManifestWriter,
    differences,
    read_entries,
    read_index,
    write_index,
)
from bot.errors import StorageError

Shelf = dict[str, bytes]

entries = st.builds(
    Entry,
    key=st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    size=st.integers(0, 2**43),
    etag=st.text("0123456789abcdef-", max_size=4),
    version_id=st.none() | st.text("v12", max_size=2),
)
contents = st.dictionaries(st.text(max_size=3), entries, max_size=30).map(
    lambda found: sorted({entry.key: entry for entry in found.values()}.values(), key=by_bytes)
)


def by_bytes(entry: Entry) -> bytes:
    return entry.key.encode()


def written(found: Sequence[Entry], part_objects: int = 7) -> tuple[Index, Shelf]:
    shelf: Shelf = {}
    writer = ManifestWriter(shelf.__setitem__, part_objects)
    for entry in found:
        writer.add(entry)
    index = writer.close("s3://lake/set/")
    write_index(shelf.__setitem__, index)
    return index, shelf


@given(contents)
def test_manifest_reads_back_what_was_written(found: list[Entry]) -> None:
    index, shelf = written(found)
    assert read_index(shelf.__getitem__) == index
    assert list(read_entries(shelf.__getitem__, index)) == found
    assert (index.objects, index.bytes) == (len(found), sum(entry.size for entry in found))


@given(contents, st.integers(1, 40))
def test_digest_does_not_depend_on_parts(found: list[Entry], part_objects: int) -> None:
    assert written(found, part_objects)[0].digest == written(found, 7)[0].digest


@given(contents)
def test_digest_is_that_of_canonical_lines(found: list[Entry]) -> None:
    lines = [
        json.dumps(
            [entry.key, entry.size, entry.etag, entry.version_id],
            ensure_ascii=False,
            separators=(",", ":"),
        )
        for entry in found
    ]
    content = "".join(f"{line}\n" for line in lines).encode()
    assert written(found)[0].digest == f"sha256:{hashlib.sha256(content).hexdigest()}"


def test_digest_of_a_known_list_never_changes() -> None:
    found = [Entry("a b/é", 3, "5eb63bbbe01eeed093cb22bb8f5acdc3"), Entry("\uffee", 0, "x-2", "v1")]
    assert written(found)[0].digest == (
        "sha256:1c981d9108310e06a48e0df3295764956a03c821597850a62d3606234fe33e9b"
    )


@given(contents, contents)
def test_differences_agree_with_a_set_model(before: list[Entry], after: list[Entry]) -> None:
    old, new = ({entry.key: entry for entry in found} for found in (before, after))
    expected = {(key, old.get(key), new.get(key)) for key in old.keys() | new.keys()}
    told = list(differences(iter(before), iter(after)))
    assert {(c.key, c.before, c.after) for c in told} == {c for c in expected if c[1] != c[2]}
    assert [c.key.encode() for c in told] == sorted(c.key.encode() for c in told)


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (None, Entry("k", 1, "a"), "added"),
        (Entry("k", 1, "a"), None, "removed"),
        (Entry("k", 1, "a"), Entry("k", 1, "b"), "changed"),
        (Entry("k", 1, "a"), Entry("k", 2, "a"), "changed"),
        (Entry("k", 1, "a", "1"), Entry("k", 1, "a", "2"), "rewritten"),
    ],
)
def test_differences_say_what_kind_they_are(
    before: Entry | None, after: Entry | None, kind: str
) -> None:
    [change] = differences(*(iter([entry] if entry else []) for entry in (before, after)))
    assert change.kind == kind


def test_entry_out_of_order_is_refused() -> None:
    writer = ManifestWriter(dict[str, bytes]().__setitem__)
    writer.add(Entry("b", 1, "x"))
    with pytest.raises(ValueError, match="'a' does not come after 'b'"):
        writer.add(Entry("a", 1, "x"))
    with pytest.raises(ValueError, match="'b' does not come after 'b'"):
        writer.add(Entry("b", 1, "x"))


def a_part_cut_short(shelf: Shelf) -> None:
    shelf["part-00000.jsonl.gz"] = shelf["part-00000.jsonl.gz"][:-9]


def two_parts_swapped(shelf: Shelf) -> None:
    first, second = "part-00000.jsonl.gz", "part-00001.jsonl.gz"
    shelf[first], shelf[second] = shelf[second], shelf[first]


def an_entry_changed_with_its_checksum(shelf: Shelf) -> None:
    name = "part-00000.jsonl.gz"
    before = shelf[name]
    shelf[name] = gzip.compress(gzip.decompress(before).replace(b"etag", b"gate"))
    old, new = (hashlib.sha256(content).hexdigest() for content in (before, shelf[name]))
    shelf["index.json"] = shelf["index.json"].replace(old.encode(), new.encode())


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (a_part_cut_short, "part-00000.jsonl.gz differs from the file that was written"),
        (two_parts_swapped, "part-00000.jsonl.gz differs from the file that was written"),
        (an_entry_changed_with_its_checksum, "its parts do not match the digest sha256:"),
    ],
)
def test_damaged_manifest_is_not_believed(damage: Callable[[Shelf], None], what: str) -> None:
    _, shelf = written([Entry(f"{number:03}", 1, "etag") for number in range(20)])
    damage(shelf)
    with pytest.raises(StorageError, match=f"The manifest is damaged: {what}"):
        list(read_entries(shelf.__getitem__, read_index(shelf.__getitem__)))


def test_index_of_another_format_is_refused() -> None:
    _, shelf = written([])
    shelf["index.json"] = shelf["index.json"].replace(b'"format": 1', b'"format": 2')
    with pytest.raises(StorageError) as refused:
        read_index(shelf.__getitem__)
    assert refused.value.message == "The manifest has format 2; this version reads format 1."
    shelf["index.json"] = b"<html>"
    with pytest.raises(StorageError, match=r"index\.json cannot be read"):
        read_index(shelf.__getitem__)
