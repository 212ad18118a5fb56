import os
import random
from pathlib import Path

import pytest
from boto3.s3.transfer import TransferConfig

from bot.datasets.manifest import Remark, Remarks
from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.parts import PART_BYTES
from tests.bot.datasets.worker.pushes import Folder


def failure(folder: Folder) -> WorkError:
    with pytest.raises(WorkError) as failed:
        folder.copy()
    return failed.value


def test_push_process_copies_tree_and_says_so(folder: Folder) -> None:
    end = folder.push()
    assert (end.code, end.complaints) == (0, "")
    assert end.last | {"seconds": 0} == {
        "event": "done",
        "phase": "verifying",
        "objects": 5,
        "bytes": 6001,
        "seconds": 0,
        "copied_files": 5,
        "copied_bytes": 6001,
        "verified_by": {"md5": 5},
        "verified_bytes": {"md5": 6001},
        "links": {"count": 0, "first": []},
        "others": 0,
    }
    assert end.lines[0]["phase"] == "listing"
    assert folder.stored() == folder.files()


def test_encoded_names_stay_below_the_target(folder: Folder) -> None:
    names = ("%2e%2e/up", "%2F/slash", "%252e%252e/twice", "..%2fboth")
    folder.write({name: name.encode() for name in names})
    folder.copy()
    assert folder.stored() == folder.files()
    listed = folder.lake.client.list_objects_v2(Bucket=folder.bucket)
    assert all(found["Key"].startswith("set/") for found in listed["Contents"])


def test_second_push_compares_and_copies_nothing(folder: Folder, chance: random.Random) -> None:
    folder.write({"large": chance.randbytes(PART_BYTES + 1)})
    folder.copy()
    again = folder.copy()
    assert (again.files, again.copied_files, again.others) == (6, 0, 0)
    assert folder.counts == {"md5": 6}


def test_files_around_a_part_arrive_whole(folder: Folder, chance: random.Random) -> None:
    sizes = {"whole": PART_BYTES, "two": PART_BYTES + 1, "three": 2 * PART_BYTES + 9}
    folder.write({name: chance.randbytes(size) for name, size in sizes.items()})
    folder.copy()
    assert folder.stored() == folder.files()
    assert (folder.counts, folder.unfinished()) == ({"md5": 8}, [])


def test_large_object_of_other_parts_is_known(folder: Folder, chance: random.Random) -> None:
    folder.write({"large": chance.randbytes(PART_BYTES + 1)})
    folder.lake.client.upload_file(
        str(folder.root / "large"),
        folder.bucket,
        "set/large",
        ExtraArgs={"ChecksumAlgorithm": "SHA256"},
        Config=TransferConfig(
            multipart_threshold=4 * PART_BYTES, preferred_transfer_client="classic"
        ),
    )
    assert folder.copy().copied_files == 5


def test_object_with_another_content_is_kept(folder: Folder) -> None:
    folder.copy()
    folder.write({"c/three": b"!" * 3000})
    error = failure(folder)
    assert (error.reason, error.exit_code, error.keys) == ("wrong_input", 65, ("c/three",))
    assert error.message == (
        "c/three is already in the store with different content (3000 bytes in the store, 3000 in"
        " the folder)."
    )
    assert error.hint == (
        "Push to another prefix, or use --overwrite if no version needs the existing object."
    )
    assert folder.stored()["c/three"] == b"3" * 3000
    assert folder.copy(overwrite=True).copied_files == 1
    assert folder.stored() == folder.files()


def test_objects_of_others_are_counted_and_left(folder: Folder) -> None:
    others = {"a-b": b"before a/", "zz": b"last"}
    folder.lake.put(folder.bucket, others)
    assert folder.copy().others == 2
    assert folder.stored() == folder.files() | others


def test_links_are_counted_and_never_followed(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("secret")
    (folder.root / "to folder").symlink_to(tmp_path / "outside")
    (folder.root / "to file").symlink_to(tmp_path / "outside" / "secret")
    (folder.root / "broken").symlink_to("nowhere")
    result = folder.copy()
    names = ("broken", "to file", "to folder")
    assert result.links == Remarks(3, tuple(Remark(name, "is a symbolic link") for name in names))
    assert folder.stored() == folder.files()


def test_snapshots_in_the_tree_stay_there(folder: Folder) -> None:
    expected = folder.files()
    folder.write({".snapshot/nightly/a/one": b"1", "a/.snapshot/x": b"2", "lost+found/x": b"3"})
    assert folder.copy().files == 5
    assert folder.stored() == expected


def test_files_that_cannot_be_objects_are_named(folder: Folder) -> None:
    os.mkfifo(folder.root / "pipe")
    Path(os.fsdecode(bytes(folder.root) + b"/caf\xe9")).write_bytes(b"1")
    (folder.root / "two\nlines").write_bytes(b"2")
    deep = "/".join(["d" * 200] * 6)
    (folder.root / deep).mkdir(parents=True)
    (folder.root / deep / "deep").write_bytes(b"3")
    error = failure(folder)
    assert (error.reason, error.exit_code) == ("bad_keys", 65)
    assert error.message == ("4 files cannot be objects: caf\\xe9 has a name that is not UTF-8.")
    assert error.hint == "Rename or remove them, then push again. Nothing was pushed."
    assert error.keys == ("caf\\xe9", f"{deep}/deep", "pipe", "two\\nlines")
    assert folder.stored() == {}


def test_folder_without_files_is_refused(folder: Folder) -> None:
    folder.root /= "hollow"
    folder.root.mkdir()
    error = failure(folder)
    assert (error.reason, error.message) == ("not_found", "There is no file below the source.")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_file_nobody_may_read_is_named(folder: Folder) -> None:
    (folder.root / "a" / "one").chmod(0)
    error = failure(folder)
    assert (error.reason, error.keys) == ("no_access", ("a/one",))
    assert error.message == f"a/one cannot be read by uid {os.geteuid()}."


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--source", "/nowhere", "/nowhere is not a folder, or its path contains a symbolic link."),
        ("--source", "/usr/../etc", "/usr/../etc has .. in its path."),
        ("--target", "lake/x", "--target is not an address in an object store: lake/x"),
        ("--workers", "many", "--workers is not a number: many."),
    ],
)
def test_wrong_options_of_push_are_explained(
    folder: Folder, option: str, value: str, message: str
) -> None:
    end = folder.push(option, value)
    assert (end.code, end.last["reason"], end.last["message"]) == (65, "wrong_input", message)


def test_bucket_that_is_missing_is_named(folder: Folder) -> None:
    folder.bucket = "no-such-bucket"
    error = failure(folder)
    assert (error.reason, error.exit_code) == ("not_found", 65)
