"""`fill --only`: some folders of a version, from a real object store."""

import hashlib
import json

import pytest

from bot.datasets.worker.fill import wanted
from bot.datasets.worker.part_shelf import parted
from bot.datasets.worker.stores.registry import connected, read_settings
from bot.datasets.worker.survey import Shelf
from tests.bot.datasets.worker.fills import Dataset
from tests.bot.datasets.worker.workers import End
from tests.object_stores import Lake

MANY = {f"train/{number:04}": b"%d" % number for number in range(200)}
OTHERS = {"train-old/0001": b"old", "train.txt": b"list", "val/a/0001": b"v", "val/b": b"w"}


@pytest.fixture
def folders(dataset: Dataset) -> Dataset:
    """More folders, some with a similar name."""
    dataset.put({**MANY, **OTHERS})
    dataset.survey()
    return dataset


def digest_of(dataset: Dataset, *keys: str) -> str:
    """The digest of these objects, counted from what the store says of them."""
    lines = b""
    for key in sorted(keys, key=str.encode):
        found = dataset.lake.client.head_object(Bucket=dataset.bucket, Key=f"set/{key}")
        line = [key, found["ContentLength"], found["ETag"].strip('"'), None]
        lines += json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
    return f"sha256:{hashlib.sha256(lines).hexdigest()}"


def fill(dataset: Dataset, digest: str, *more: str) -> End:
    dataset.digest = digest
    return dataset.fill(*more)


def test_only_files_of_named_folders_are_copied(folders: Dataset) -> None:
    wanted_files = {**MANY, "val/a/0001": b"v", "val/b": b"w"}
    digest = digest_of(folders, *wanted_files)
    end = fill(folders, digest, "--only", "val/", "--only", "train/")
    assert (end.code, end.complaints) == (0, "")
    assert (end.last["digest"], end.last["objects"], end.last["ready"]) == (digest, 202, True)
    assert (folders.files(), folders.left_over()) == (wanted_files, [])
    assert folders.kept_digest() == (f"{digest}\n", digest)


def test_several_pods_share_a_part(folders: Dataset) -> None:
    digest = digest_of(folders, *MANY)
    ends = [
        fill(folders, digest, "--only", "train/", "--shards", "2", "--shard", str(shard))
        for shard in range(2)
    ]
    assert [end.last["ready"] for end in ends] == [False, True]
    assert folders.files() == MANY


def test_another_part_than_recorded_is_refused(folders: Dataset) -> None:
    end = fill(folders, digest_of(folders, *MANY), "--only", "val/")
    assert (end.code, end.last["reason"]) == (65, "wrong_input")
    assert folders.files() is None


def test_part_that_is_there_is_not_copied_again(folders: Dataset) -> None:
    digest = digest_of(folders, *MANY)
    assert fill(folders, digest, "--only", "train/").last["copied_files"] == 200
    again = fill(folders, digest, "--only", "train/")
    assert (again.code, again.last["copied_files"], again.last["ready"]) == (0, 0, True)


def test_changed_object_of_a_part_is_not_copied(folders: Dataset) -> None:
    digest = digest_of(folders, *MANY)
    folders.put({"train/0007": b"new"})
    end = fill(folders, digest, "--only", "train/")
    assert (end.code, end.last["reason"], end.last["keys"]) == (65, "changed", ["train/0007"])


def test_manifest_of_a_part_has_its_source(lake: Lake, folders: Dataset) -> None:
    client = connected(read_settings(lake.store(), "--source-store"), folders.bucket, 5.0)
    try:
        shelf = Shelf(client, "manifest/")
        with parted(shelf, ()) as whole:
            assert wanted(whole, folders.digest).objects == 209
        with parted(shelf, ["val/"]) as part:
            digest = digest_of(folders, "val/a/0001", "val/b")
            index = wanted(part, digest)
            assert (index.objects, index.bytes, index.source) == (
                2,
                2,
                f"s3://{folders.bucket}/set/",
            )
    finally:
        client.close()
