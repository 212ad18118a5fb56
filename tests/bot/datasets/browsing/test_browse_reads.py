"""Files of versions, read from a manifest and from objects in a real object store."""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from bot.config import Settings
from bot.datasets.browsing.card import Spelled, file_card, head_card, listing_card
from bot.datasets.browsing.listing import Listing, ListRequest
from bot.datasets.browsing.reads import BrowseReads
from bot.datasets.manifest import Entry, ManifestWriter, write_index
from bot.datasets.tables import Version
from bot.errors import NotFoundError, QuartermasterError, StorageError, UsageError
from bot.slack.card import Reply
from bot.slack.text import as_text
from tests.bot.datasets.rig import SETTINGS
from tests.bot.ground import START
from tests.object_stores import Lake

FILES = {
    "labels.csv": b"image,finding\n0.png,none\n1.png,mass\n",
    "notes.txt.gz": gzip.compress(b"frontal views\nonly\n"),
    "empty.txt": b"",
    **{f"train/{number}.png": b"\x89PNG\r\n\x1a\n" + bytes(1000 * number) for number in range(3)},
}


@dataclass(frozen=True)
class Recorded:
    """A recorded version in a bucket of its own, and what reads it."""

    lake: Lake
    bucket: str
    version: Version
    reads: BrowseReads

    def put(self, key: str, content: bytes) -> None:
        self.lake.put(self.bucket, {key: content})

    def lists(self, path: str = "", **how: object) -> str:
        """The answer to `/dataset ls`."""
        request = ListRequest(path, **how)  # type: ignore[arg-type]
        found = self.reads.listing(self.version, request)
        spelled = Spelled(self.version, lambda said: f"/{said}", "team-a")
        if isinstance(found, Listing):
            return as_text(Reply(card=listing_card(found, request, spelled)))
        return as_text(Reply(card=file_card(found, spelled, shows_content=True)))

    def shows(self, path: str, lines: int = 20) -> str:
        """The answer to `/dataset head`."""
        return as_text(
            Reply(card=head_card(self.version, *self.reads.head(self.version, path, lines)))
        )

    def refuses(self, path: str) -> QuartermasterError:
        with pytest.raises(QuartermasterError) as caught:
            self.shows(path)
        return caught.value


def recorded(
    lake: Lake, files: Mapping[str, bytes] = FILES, *, versioned: bool = False, endpoint: str = ""
) -> Recorded:
    """A version of these files, as a survey records it."""
    bucket = lake.bucket()
    if versioned:
        lake.client.put_bucket_versioning(
            Bucket=bucket, VersioningConfiguration={"Status": "Enabled"}
        )
    entries = []
    for key in sorted(files):
        answer = lake.client.put_object(Bucket=bucket, Key=f"set/{key}", Body=files[key])
        etag, version_id = answer["ETag"].strip('"'), answer.get("VersionId")
        entries.append(Entry(key, len(files[key]), etag, version_id if versioned else None))

    def keep(name: str, content: bytes) -> None:
        lake.client.put_object(Bucket=bucket, Key=f"manifest/{name}", Body=content)

    writer = ManifestWriter(keep, part_objects=2)
    for entry in entries:
        writer.add(entry)
    index = writer.close(f"s3://{bucket}/set/")
    write_index(keep, index)
    store = {"endpoint": lake.server.endpoint, "path_style": True,
             "credentials": str(lake.credentials)}  # fmt: skip
    stores = {"state": store, "lake": store | ({"endpoint": endpoint} if endpoint else {})}
    settings = Settings.model_validate(SETTINGS.model_dump() | {"stores": stores})
    version = Version(
        workspace_id="T0QM", dataset_id="1", dataset="chest-xray", name="v3", team="team-a",
        person="U0ALICE", channel="C0TEAMA", cluster="default", namespace="datasets", job_name="x",
        store="lake", source=f"s3://{bucket}/set/", manifest_store="state",
        manifest=f"s3://{bucket}/manifest/", asked_at=START, since=START, digest=index.digest,
        objects=index.objects, size_bytes=index.bytes,
    )  # fmt: skip
    return Recorded(lake, bucket, version, BrowseReads(lambda: settings))


def test_a_version_is_listed_with_sizes_and_counts(lake: Lake) -> None:
    found = recorded(lake)
    assert found.lists() == _ALL
    assert found.lists("train", is_largest=True) == _LARGEST
    assert found.lists(search="*.csv") == _FOUND
    assert found.lists(search="zebra").splitlines()[1] == "No file matches."


def test_a_file_is_shown_with_its_etag(lake: Lake) -> None:
    assert recorded(lake).lists("labels.csv").splitlines() == [
        "chest-xray@v3: labels.csv",
        "`/dataset head chest-xray@v3 labels.csv` shows its first lines.",
        "  Size  36 bytes",
        "  ETag  `1e824c3e447f0bd46fac3831792a9f3c`",
    ]


def test_long_folders_have_pages(lake: Lake) -> None:
    found = recorded(lake, {f"my set/{number:03}": b"a" for number in range(95)})
    first = found.lists("my set").splitlines()
    assert first[:4] == [
        "chest-xray@v3: my set/",
        "95 files, 95 bytes.",
        "Rows 1 to 40 of 95.",
        "Next: `/dataset ls chest-xray@v3 'my set' --page 2`",
    ]
    last = found.lists("my set", page=3).splitlines()
    assert last[2:5] == ["Rows 81 to 95 of 95.", "  Name  Size", "  080   1 byte"]
    with pytest.raises(UsageError) as caught:
        found.lists("my set", page=4)
    assert (caught.value.message, caught.value.hint) == (
        "There is no page 4.", "There are pages 1 to 3.",
    )  # fmt: skip


def test_a_version_without_files_says_so(lake: Lake) -> None:
    assert recorded(lake, {}).lists() == "chest-xray@v3\nThe version has no files."


def test_wrong_paths_name_the_nearest(lake: Lake) -> None:
    found = recorded(lake)
    for path, hint in {
        "label.csv": "Did you mean labels.csv?",
        "trian/1.png": "Did you mean train/?",
        "train/qqqq": "Folder train/ is there.",
        "qqqq": "",
    }.items():
        with pytest.raises(NotFoundError) as caught:
            found.lists(path)
        assert caught.value.message == f"chest-xray@v3 has no file or folder {path}."
        assert caught.value.hint == hint
    assert found.refuses("label.csv").hint == "Did you mean labels.csv?"
    assert found.refuses("train").message == "train/ is a folder of chest-xray@v3."
    assert found.refuses("../manifest/index.json").message == (
        "chest-xray@v3 has no file or folder ../manifest/index.json."
    )


def test_the_first_lines_of_text_are_shown(lake: Lake) -> None:
    found = recorded(lake)
    assert found.shows("labels.csv", 2).splitlines() == [
        "chest-xray@v3: labels.csv",
        "Its first 2 lines; it has 36 bytes.",
        "image,finding",
        "0.png,none",
    ]
    assert found.shows("notes.txt.gz").splitlines()[1:] == [
        "The whole file, 2 lines; it has 39 bytes. Decompressed from gzip.",
        "frontal views",
        "only",
    ]
    assert found.shows("empty.txt").splitlines()[1:] == ["The file is empty."]
    assert found.refuses("train/1.png").message == "This file is a PNG image."


def test_large_files_are_read_only_at_first(lake: Lake) -> None:
    line = b"0123456789abcdef" * 60 + b"\n"
    found = recorded(lake, {"large.txt": line * 30_000})
    assert found.shows("large.txt", 3).splitlines()[1] == "Its first 3 lines; it has 29 MB."
    long = recorded(lake, {"long.txt": b"x" * 1_000_000})
    assert long.shows("long.txt").splitlines()[1] == (
        "Its first 1 line; it has 1.0 MB. Only the first 64 KiB were read."
    )


@pytest.mark.parametrize("key", ["labels.csv", "large.txt", "a\nb.txt"])
def test_an_object_that_changed_is_not_shown(lake: Lake, key: str) -> None:
    found = recorded(lake, {key: b"recorded\n" * 20_000 if key == "large.txt" else b"recorded\n"})
    found.put(key, b"secretly changed\n" * 20_000)
    error = found.refuses(key)
    assert isinstance(error, StorageError)
    assert error.message == f"{key} changed after the version was recorded."
    assert error.hint == "Record a new version of the dataset."
    lake.client.delete_object(Bucket=found.bucket, Key=f"set/{key}")
    assert found.refuses(key).message == f"{key} was deleted after the version was recorded."


def test_a_kept_version_of_an_object_is_shown(lake: Lake) -> None:
    found = recorded(lake, {"labels.csv": b"recorded\n"}, versioned=True)
    found.put("labels.csv", b"changed\n")
    assert found.shows("labels.csv").splitlines()[2:] == ["recorded"]


def test_a_store_that_is_down_is_named(lake: Lake) -> None:
    found = recorded(lake, endpoint="http://127.0.0.1:9")
    assert found.lists().splitlines()[0] == "chest-xray@v3"
    error = found.refuses("labels.csv")
    assert isinstance(error, StorageError)
    assert error.message == (
        f"Reading s3://{found.bucket}/set/labels.csv from store lake failed: the store cannot be"
        " reached, or is too busy."
    )


def test_a_manifest_with_another_digest_is_refused(lake: Lake) -> None:
    found = recorded(lake)
    found.version.digest = "sha256:" + 64 * "a"
    with pytest.raises(StorageError) as caught:
        found.lists()
    assert caught.value.message == (
        "The manifest of chest-xray@v3 is not the one that was recorded."
    )


def test_a_slow_store_ends_the_listing_honestly(lake: Lake) -> None:
    found = recorded(lake)
    moments = iter([0.0, 1.0, 1.0, 60.0, 60.0])
    late = BrowseReads(found.reads._settings, lambda: next(moments))
    request = ListRequest()
    listed = late.listing(found.version, request)
    assert isinstance(listed, Listing)
    card = listing_card(listed, request, Spelled(found.version, str, "team-a"))
    assert as_text(Reply(card=card)) == _STOPPED


_ALL = """\
chest-xray@v3
6 files, 3.1 kB.
  Name          Size      Files
  empty.txt     0 bytes
  labels.csv    36 bytes
  notes.txt.gz  39 bytes
  train/        3.0 kB    3"""
_LARGEST = """\
chest-xray@v3: train/
3 files, 3.0 kB.
  Name   Size
  2.png  2.0 kB
  1.png  1.0 kB
  0.png  8 bytes"""
_FOUND = """\
chest-xray@v3, files like *.csv
1 file, 36 bytes.
  Name        Size
  labels.csv  36 bytes"""
_STOPPED = """\
chest-xray@v3
At least 4 files, 83 bytes.
Not everything was read: an answer takes at most 25 s and 5,000,000 objects; the manifest has 6.\
 Name a folder to read less.
  Name          Size              Files
  empty.txt     0 bytes
  labels.csv    36 bytes
  notes.txt.gz  39 bytes
  train/        at least 8 bytes  at least 1"""
