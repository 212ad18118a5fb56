"""`quartermaster verify`: every file is read and compared, and nothing else is there."""

import os
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from boto3.s3.transfer import TransferConfig

from tests.bot.datasets.worker.conftest import SMALL
from tests.bot.datasets.worker.fills import Dataset
from tests.bot.datasets.worker.proxy import Exchange, proxied
from tests.bot.datasets.worker.workers import End, ended
from tests.object_stores import Lake

PARTS = TransferConfig(multipart_threshold=5 << 20, preferred_transfer_client="classic")


def verified(dataset: Dataset, endpoint: str | None = None) -> End:
    """What a worker says of the files below the volume."""
    words = dataset.words(endpoint=endpoint)
    return ended("verify", *words[1:])


@pytest.fixture
def imported(dataset: Dataset) -> Dataset:
    """The dataset's files, as something else than a fill has put them there."""
    for key, content in dataset.content.items():
        path = dataset.volume / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (dataset.volume / "folder").mkdir()
    return dataset


def test_what_is_there_is_compared_whole(imported: Dataset) -> None:
    end = verified(imported)
    assert (end.code, end.complaints) == (0, "")
    assert end.last | {"seconds": 0.0} == {
        "event": "done",
        "phase": "verifying",
        "digest": imported.digest,
        "objects": len(SMALL),
        "bytes": sum(map(len, SMALL.values())),
        "seconds": 0.0,
        "verified_by": {"md5": len(SMALL)},
        "verified_bytes": {"md5": 6001},
        "ready": True,
    }


def spoil(root: Path) -> str:
    (root / "c/three").write_bytes(b"4" * 3000)
    return "The content of c/three is not what was recorded."


def shorten(root: Path) -> str:
    (root / "c/three").write_bytes(b"3" * 2999)
    return "c/three is 2999 bytes, not 3000 bytes."


def remove(root: Path) -> str:
    (root / "a/b/two").unlink()
    return "a/b/two does not exist."


def link(root: Path) -> str:
    (root / "a/one").unlink()
    (root / "a/one").symlink_to(root / "c/three")
    return "a/one is a link, not 1000 bytes."


@pytest.mark.parametrize("change", [spoil, shorten, remove, link])
def test_what_differs_is_never_ready(imported: Dataset, change: Callable[[Path], str]) -> None:
    message = change(imported.volume)
    end = verified(imported)
    assert (end.code, end.last["event"], end.last["reason"]) == (65, "failed", "changed")
    assert (end.last["message"], end.last["hint"]) == (
        message,
        "Runs would not read the recorded version. Record a new one.",
    )


@pytest.mark.parametrize("key", ["a/a", "öther"])
def test_new_objects_need_a_new_version(imported: Dataset, key: str) -> None:
    imported.put({key: b"new"})
    (imported.volume / key).write_bytes(b"new")
    end = verified(imported)
    assert (end.code, end.last["reason"], end.last["keys"]) == (65, "changed", [key])
    assert end.last["message"] == f"{key!r} exists, but was not recorded."


def test_files_of_deleted_objects_are_named(imported: Dataset) -> None:
    for key in ("a/a", "öther"):
        (imported.volume / key).write_bytes(b"old")
    end = verified(imported)
    assert (end.code, end.last["reason"]) == (65, "left_behind")
    assert end.last["keys"] == ["a/a", "öther"]
    assert end.last["message"] == (
        "2 files of objects that were deleted in the bucket still exist: 'a/a', 'öther'."
    )
    assert "Record a new one" not in end.last["hint"]
    for key in end.last["keys"]:
        (imported.volume / key).unlink()
    assert verified(imported).code == 0


def test_files_of_others_are_named(imported: Dataset) -> None:
    path = imported.volume / "c/three"
    path.chmod(0)
    end = verified(imported)
    if os.geteuid() == 0:  # Root may read all.
        assert end.code == 0
        return
    assert (end.code, end.last["reason"], end.last["keys"]) == (65, "no_access", ["c/three"])


def test_no_such_folder_is_told(dataset: Dataset) -> None:
    dataset.volume = dataset.volume / "missing"
    end = verified(dataset)
    assert (end.code, end.last["reason"], end.last["message"]) == (
        65,
        "not_found",
        f"{dataset.volume} is not a folder of the volume, or cannot be read.",
    )


def test_another_version_is_refused_at_once(imported: Dataset) -> None:
    right, imported.digest = imported.digest, "sha256:" + "0" * 64
    end = verified(imported)
    assert (end.code, end.last["reason"], end.last["message"]) == (
        65,
        "wrong_input",
        f"The manifest is that of {right}, not of {imported.digest}.",
    )


def test_objects_in_parts_are_read_too(lake: Lake, tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    volume.mkdir()
    dataset = Dataset(lake, lake.bucket(), volume)
    content = os.urandom(6 << 20)
    lake.client.upload_fileobj(BytesIO(content), dataset.bucket, "set/large", Config=PARTS)
    dataset.survey()
    (volume / "large").write_bytes(content)
    assert verified(dataset).last["verified_by"] == {"checksum": 1}


def test_a_store_that_is_down_may_return(imported: Dataset) -> None:
    def refuse(exchange: Exchange) -> None:
        exchange.answer(503, "SlowDown")

    with proxied(imported.lake.server.endpoint, after=refuse) as proxy:
        end = verified(imported, proxy.endpoint)
    assert (end.code, end.last["reason"]) == (75, "store_down")
