"""What changed between versions, read from manifests in a real object store."""

from collections.abc import Sequence
from functools import partial

import pytest

from bot.config import Settings
from bot.datasets.comparing import difference_card
from bot.datasets.manifest import Entry, ManifestWriter, write_index
from bot.datasets.reads import DatasetReads
from bot.datasets.tables import Version
from bot.errors import LimitError, StorageError
from bot.slack.card import Reply
from bot.slack.text import as_text
from tests.bot.datasets.rig import SETTINGS
from tests.bot.ground import START
from tests.object_stores import Lake

BEFORE = [Entry("a.png", 1000, "1"), Entry("b.png", 2000, "2"), Entry("c.png", 3000, "3", "v1")]
AFTER = [Entry("b.png", 2500, "4"), Entry("c.png", 3000, "3", "v2"), Entry("d.png", 7000, "5")]


def reads(lake: Lake) -> DatasetReads:
    told = {
        "endpoint": lake.server.endpoint,
        "path_style": True,
        "credentials": str(lake.credentials),
    }
    everything = SETTINGS.model_dump() | {"stores": {"state": told}}
    settings = Settings.model_validate(everything)
    return DatasetReads(lambda: settings)


def put(lake: Lake, bucket: str, folder: str, name: str, content: bytes) -> None:
    lake.client.put_object(Bucket=bucket, Key=f"{folder}/{name}", Body=content)


def version(lake: Lake, bucket: str, name: str, entries: Sequence[Entry]) -> Version:
    """A recorded version, whose manifest has a part for each two objects."""
    keep = partial(put, lake, bucket, name)
    writer = ManifestWriter(keep, part_objects=2)
    for entry in entries:
        writer.add(entry)
    index = writer.close("s3://lake/chest-xray/")
    write_index(keep, index)
    return Version(
        workspace_id="T0QM",
        dataset_id="1",
        dataset="chest-xray",
        name=name,
        team="team-a",
        person="U0ALICE",
        channel="C0TEAMA",
        cluster="default",
        namespace="datasets",
        job_name="x",
        store="lake",
        source="s3://lake/chest-xray/",
        manifest_store="state",
        manifest=f"s3://{bucket}/{name}/",
        asked_at=START,
        since=START,
        objects=index.objects,
        size_bytes=index.bytes,
    )


def test_every_sort_of_change_is_counted(lake: Lake) -> None:
    bucket = lake.bucket()
    before, after = version(lake, bucket, "v1", BEFORE), version(lake, bucket, "v2", AFTER)
    found = reads(lake).differences(before, after)
    assert as_text(Reply(card=difference_card(before, after, found))) == _CHANGED


def test_manifests_that_are_gone_are_said(lake: Lake) -> None:
    bucket = lake.bucket()
    before, after = version(lake, bucket, "v1", BEFORE), version(lake, bucket, "v2", AFTER)
    lake.client.delete_object(Bucket=bucket, Key="v1/part-00001.jsonl.gz")
    with pytest.raises(StorageError) as caught:
        reads(lake).differences(before, after)
    assert caught.value.message == (
        f"Reading s3://{bucket}/v1/part-00001.jsonl.gz from store state failed: it does not exist"
        " (NoSuchKey)."
    )


def test_too_many_objects_are_refused_with_numbers(lake: Lake) -> None:
    bucket = lake.bucket()
    before, after = version(lake, bucket, "v1", BEFORE), version(lake, bucket, "v2", AFTER)
    before.objects = after.objects = 12_000_000
    with pytest.raises(LimitError) as caught:
        reads(lake).differences(before, after)
    assert caught.value.message == (
        "chest-xray@v1 and chest-xray@v2 have 24,000,000 objects in total; up to 5,000,000 can be"
        " compared here."
    )


def test_comparing_ends_at_its_deadline(lake: Lake) -> None:
    bucket = lake.bucket()
    before, after = version(lake, bucket, "v1", BEFORE), version(lake, bucket, "v2", AFTER)
    moments = iter(range(0, 1000, 61))
    late = DatasetReads(reads(lake)._settings, lambda: float(next(moments)))
    with pytest.raises(StorageError) as caught:
        late.differences(before, after)
    assert caught.value.message == "The comparison took longer than 25 s and was stopped."


_CHANGED = """\
chest-xray@v1 → chest-xray@v2
3 objects, 6.0 kB → 3 objects, 12 kB (+6.5 kB).
Added: `d.png`
Removed: `a.png`
Changed: `b.png`
Rewritten, same content: `c.png`
  Objects                  Count  Size
  Added                    1      7.0 kB
  Removed                  1      1.0 kB
  Changed                  1      2.0 kB → 2.5 kB
  Rewritten, same content  1      3.0 kB"""
