import io
import random
import stat
import unicodedata
from pathlib import Path

import pytest
from boto3.s3.transfer import TransferConfig
from typing_extensions import override

from bot.datasets.worker.copying import IN_MEMORY_BYTES, PIECE_BYTES
from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.volume import TargetFolder
from tests.bot.datasets.worker.fills import Dataset
from tests.object_stores import Lake

PARTS = TransferConfig(multipart_threshold=5 << 20, preferred_transfer_client="classic")


def of_every_size(chance: random.Random) -> dict[str, bytes]:
    sizes = {
        "in memory": IN_MEMORY_BYTES,
        "streamed": IN_MEMORY_BYTES + 1,
        "in pieces": 2 * PIECE_BYTES + 1,
    }
    return {name: chance.randbytes(size) for name, size in sizes.items()}


def test_fill_process_makes_tree_and_says_so(dataset: Dataset) -> None:
    end = dataset.fill()
    assert (end.code, end.complaints) == (0, "")
    assert end.last | {"seconds": 0} == {
        "event": "done",
        "phase": "finishing",
        "digest": dataset.digest,
        "objects": 5,
        "bytes": 6001,
        "seconds": 0,
        "copied_files": 5,
        "copied_bytes": 6001,
        "verified_by": {"md5": 5},
        "verified_bytes": {"md5": 6001},
        "ready": True,
        "engine": "obstore",
    }
    assert end.lines[0]["phase"] == "copying"
    assert dataset.files() == dataset.content
    assert dataset.kept_digest() == (f"{dataset.digest}\n", dataset.digest)
    assert dataset.left_over() == []


def test_second_fill_finds_all_there(dataset: Dataset) -> None:
    dataset.copy()
    again = dataset.copy()
    assert (again.is_ready, again.copied_files, again.copied_bytes) == (True, 0, 0)
    assert dataset.files() == dataset.content


@pytest.mark.parametrize("engine", ["obstore", "boto3"])
def test_objects_of_every_size_arrive_whole(
    dataset: Dataset, chance: random.Random, engine: str
) -> None:
    dataset.put(of_every_size(chance))
    several = chance.randbytes(12 << 20)
    key = "set/in parts"
    dataset.lake.client.upload_fileobj(io.BytesIO(several), dataset.bucket, key, Config=PARTS)
    dataset.content["in parts"] = several
    dataset.survey()
    dataset.copy(engine=engine)
    assert dataset.files() == dataset.content
    assert sum(dataset.counts.values()) == len(dataset.content)
    assert dataset.counts["md5"] == len(dataset.content) - 1


def test_keys_obstore_refuses_come_by_boto3(dataset: Dataset) -> None:
    dataset.put({"line\nfeed": b"5"})
    dataset.survey()
    end = dataset.fill()
    assert end.last["engine"] == "obstore and boto3"
    assert dataset.files() == dataset.content


def test_versioned_objects_are_those_of_manifest(dataset: Dataset) -> None:
    dataset.lake.client.put_bucket_versioning(
        Bucket=dataset.bucket, VersioningConfiguration={"Status": "Enabled"}
    )
    dataset.put({"a/one": b"second"})
    dataset.survey()
    dataset.lake.put(dataset.bucket, {"a/one": b"third"})
    dataset.copy()
    assert dataset.files() == dataset.content


def test_files_have_the_mode_of_umask(dataset: Dataset) -> None:
    assert dataset.fill("--umask", "0027").code == 0
    files = dataset.volume / "ready" / "files"
    modes = [stat.S_IMODE((files / name).stat().st_mode) for name in ("a", "a/one")]
    assert modes == [0o750, 0o640]


def owner(path: Path) -> tuple[int, int]:
    return path.stat().st_uid, path.stat().st_gid


def test_files_belong_to_uid_and_gid(dataset: Dataset) -> None:
    mine = owner(dataset.volume)
    if mine[0]:
        end = dataset.fill("--uid", str(mine[0] + 1))
        assert (end.code, end.last["reason"]) == (65, "wrong_input")
        return
    assert dataset.fill("--uid", "1234", "--gid", "2345").code == 0
    tree = dataset.volume / "ready"
    assert {owner(tree / "files"), owner(tree / "files" / "a" / "one")} == {(1234, 2345)}


def failure(dataset: Dataset) -> WorkError:
    with pytest.raises(WorkError) as failed:
        dataset.copy()
    assert dataset.files() is None
    return failed.value


def test_changed_object_fails_and_is_named(dataset: Dataset) -> None:
    dataset.lake.put(dataset.bucket, {"a/b/two": b"!" * 2000})
    error = failure(dataset)
    assert (error.reason, error.keys, error.exit_code) == ("changed", ("a/b/two",), 65)
    assert error.message == "a/b/two changed after the version was recorded."
    assert error.hint == "Record a new version of the dataset and cache that one."


def test_vanished_object_fails_and_is_named(dataset: Dataset) -> None:
    dataset.lake.client.delete_object(Bucket=dataset.bucket, Key="set/empty")
    error = failure(dataset)
    assert (error.reason, error.keys) == ("changed", ("empty",))
    assert error.message == "empty was deleted after the version was recorded."


def test_bad_keys_are_named_before_copying(dataset: Dataset) -> None:
    dataset.put({"a": b"a file"})
    dataset.survey()
    error = failure(dataset)
    assert error.reason == "bad_keys"
    assert error.message == (
        "2 keys cannot be stored as files: a/b/two needs a folder a, which is a file."
    )
    assert error.keys == ("a/b/two", "a/one")
    assert dataset.left_over() == []


def test_another_digest_than_asked_is_refused(dataset: Dataset) -> None:
    found, dataset.digest = dataset.digest, "sha256:00"
    assert failure(dataset).message == f"The manifest is that of {found}, not of sha256:00."


def test_volume_of_another_version_is_refused(dataset: Dataset) -> None:
    dataset.copy()
    first = dataset.digest
    dataset.put({"new": b"new"})
    dataset.survey()
    with pytest.raises(WorkError) as failed:
        dataset.copy()
    assert failed.value.message == f"{dataset.volume} already holds another version: {first}."


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--target", "/nowhere", "/nowhere is not a folder."),
        ("--umask", "rw", "--umask is not a number: rw."),
        ("--workers", "many", "--workers is not a number: many."),
        ("--shard", "1", "Shard 1 is not one of 1."),
    ],
)
def test_wrong_options_of_fill_are_explained(
    dataset: Dataset, option: str, value: str, message: str
) -> None:
    end = dataset.fill(option, value)
    assert (end.code, end.last["reason"], end.last["message"]) == (65, "wrong_input", message)


class Folding(TargetFolder):
    """A volume that takes names of other case for the same, as CIFS and some NAS do."""

    @override
    def path(self, key: str) -> str:
        return super().path(key.casefold())


class Decomposing(TargetFolder):
    """A volume that keeps other code points for a letter than it was given."""

    @override
    def path(self, key: str) -> str:
        return super().path(unicodedata.normalize("NFD", key))


@pytest.mark.parametrize(
    ("kind", "content", "listed"),
    [
        (Folding, {"labels": b"1", "Labels": b"2", "more": b"3"}, "3 files were copied, but the"),
        (Decomposing, {"é": b"1"}, "1 file was copied, but the volume lists 1 or other names"),
    ],
)
def test_volumes_that_fold_names_are_refused(
    lake: Lake, tmp_path: Path, kind: type[TargetFolder], content: dict[str, bytes], listed: str
) -> None:
    (tmp_path / "folding").mkdir()
    folding = Dataset(lake, lake.bucket(), tmp_path / "folding", kind=kind)
    folding.put(content)
    folding.survey()
    with pytest.raises(WorkError) as failed:
        folding.copy()
    assert (failed.value.reason, folding.files()) == ("bad_keys", None)
    assert failed.value.message.startswith(listed)
