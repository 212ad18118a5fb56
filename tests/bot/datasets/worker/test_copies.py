"""Versions that survive overwriting: copies are made, shared, read instead, and deleted."""

import base64
import hashlib
import random
import subprocess
from pathlib import Path

import pytest

from bot.datasets.manifest import Entry
from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.stores.registry import connected, read_settings
from bot.datasets.worker.stores.s3.requests import Requests
from bot.datasets.worker.stores.s3.server_copies import S3ServerCopies
from bot.datasets.worker.stores.s3.settings import S3Settings
from bot.datasets.worker.stores.settings import Address
from tests.bot.datasets.worker.conftest import SMALL
from tests.bot.datasets.worker.copying_versions import CopiedDataset
from tests.bot.datasets.worker.proxy import Exchange, Spoil, proxied
from tests.bot.datasets.worker.workers import ROOT, command
from tests.object_stores import Lake

PART = 5 << 20


@pytest.fixture
def copied(lake: Lake, tmp_path: Path) -> CopiedDataset:
    """A few small objects in a bucket that keeps no versions."""
    found = CopiedDataset(lake, lake.bucket(), lake.bucket(), tmp_path)
    found.put(SMALL)
    return found


def lost(number: int) -> Spoil:
    def spoil(exchange: Exchange) -> None:
        if exchange.number == number:
            exchange.lose()

    return spoil


def test_overwritten_and_deleted_objects_come_from_copies(copied: CopiedDataset) -> None:
    end = copied.record("1")
    assert (end.code, end.complaints) == (0, "")
    told = ("copy", "copied_files", "copied_bytes", "verified_by", "verified_bytes")
    assert {name: end.last[name] for name in told} == {
        "copy": "made",
        "copied_files": 5,
        "copied_bytes": 6001,
        "verified_by": {"md5": 5},
        "verified_bytes": {"md5": 6001},
    }
    copied.put({"a/one": b"overwritten", "new": b"not of this version"})
    copied.delete("c/three")
    filled = copied.fill("1")
    assert (filled.code, filled.last["from_copies"], copied.files()) == (0, 2, SMALL)
    without = copied.fill("1", from_copies=False)
    assert (without.code, without.last["reason"]) == (65, "changed")


def test_versions_share_copies_of_unchanged_objects(copied: CopiedDataset) -> None:
    copied.record("1")
    before = copied.copies()
    copied.put({"a/one": b"changed"})
    second = copied.record("2")
    assert (second.last["copied_files"], second.last["copied_bytes"]) == (1, 7)
    added = copied.names("2")["a/one"]
    assert copied.copies() == before | {added: b"changed"}
    assert sorted(before) == sorted(copied.names("1").values())
    third = copied.record("3")
    assert (third.last["copied_files"], third.last["digest"]) == (0, second.last["digest"])


def test_objects_of_many_parts_survive_overwriting(
    copied: CopiedDataset, chance: random.Random
) -> None:
    parts = [chance.randbytes(PART), chance.randbytes(PART), chance.randbytes(7)]
    large = chance.randbytes(40 << 20)
    copied.put_in_parts("parts", parts)
    copied.put({"large": large})
    assert copied.record("1").last["verified_by"] == {"md5": 7}
    copied.put_in_parts("parts", [*parts[::-1][1:], b"end"])
    copied.put({"large": large[::-1]})
    filled = copied.fill("1")
    assert (filled.code, filled.last["from_copies"]) == (0, 2)
    assert copied.files() == SMALL | {"parts": b"".join(parts), "large": large}


def test_other_stores_get_verified_streams(copied: CopiedDataset, chance: random.Random) -> None:
    parts = [chance.randbytes(PART), chance.randbytes(PART), chance.randbytes(7)]
    copied.put_in_parts("parts", parts)
    with proxied(copied.lake.server.endpoint) as proxy:
        end = copied.record("1", source=copied.lake.store(proxy.endpoint))
        asked = {exchange.method for exchange in proxy.exchanges}
    assert (end.code, end.last["verified_by"], asked) == (0, {"md5": 6}, {"GET", "HEAD"})
    copied.put_in_parts("parts", [*parts[::-1][1:], b"end"])
    copied.put({"a/one": b"overwritten"})
    assert copied.fill("1").last["from_copies"] == 2
    assert copied.files() == SMALL | {"parts": b"".join(parts)}


@pytest.mark.slow
def test_every_lost_request_of_copies_is_repeated(copied: CopiedDataset) -> None:
    def recorded(**spoilt: Spoil) -> int:
        for name in copied.copies():
            copied.lake.client.delete_object(Bucket=copied.state, Key=f"copies/{name}")
        with proxied(copied.lake.server.endpoint, **spoilt) as proxy:
            where = copied.lake.store(proxy.endpoint)
            end = copied.record("1", source=where, state=where)
            assert (end.code, end.last["copy"]) == (0, "made")
        assert sorted(copied.copies().values()) == sorted(SMALL.values())
        return len(proxy.exchanges)

    count = recorded()
    for number in range(3, count):
        recorded(before=lost(number))
        recorded(after=lost(number))


def test_killed_copy_goes_on_where_it_stopped(copied: CopiedDataset) -> None:
    stopped: list[subprocess.Popen[bytes]] = []

    def kill(exchange: Exchange) -> None:
        copies = [each for each in proxy.exchanges if "x-amz-copy-source" in each.asked]
        if len(copies) >= 3:
            stopped[0].kill()
            exchange.lose()

    with proxied(copied.lake.server.endpoint, before=kill) as proxy:
        where = copied.lake.store(proxy.endpoint)
        words = copied.words("1", where, where)
        with subprocess.Popen(command(*words), cwd=ROOT, stdout=subprocess.DEVNULL) as worker:
            stopped.append(worker)
            assert worker.wait() != 0
    done = len(copied.copies())
    assert done < len(SMALL)
    again = copied.record("1")
    assert (again.code, again.last["copied_files"]) == (0, len(SMALL) - done)
    assert sorted(copied.copies().values()) == sorted(SMALL.values())


def test_buckets_with_versions_need_no_copies(copied: CopiedDataset) -> None:
    copied.lake.client.put_bucket_versioning(
        Bucket=copied.bucket, VersioningConfiguration={"Status": "Enabled"}
    )
    copied.put(SMALL)
    end = copied.record("1")
    assert (end.code, end.last["copy"], copied.copies()) == (0, "not_needed", {})
    copied.put({"a/one": b"overwritten"})
    assert copied.fill("1", from_copies=False).code == 0
    assert copied.files() == SMALL


def overwriting(copied: CopiedDataset, times: int) -> Spoil:
    """Overwrites an object each time before the first copy is made, so many times."""
    left = list(range(times))

    def spoil(exchange: Exchange) -> None:
        if exchange.asked.get("x-amz-copy-source", "").endswith("a/one") and left:
            copied.put({"a/one": b"overwritten %d" % left.pop()})

    return spoil


def test_object_that_changes_meanwhile_is_listed_again(copied: CopiedDataset) -> None:
    with proxied(copied.lake.server.endpoint, before=overwriting(copied, 2)) as proxy:
        where = copied.lake.store(proxy.endpoint)
        end = copied.record("1", source=where, state=where)
    assert (end.code, end.last["objects"]) == (0, 5)
    assert copied.copies()[copied.names("1")["a/one"]] == b"overwritten 0"
    copied.delete("a/one")
    assert (copied.fill("1").code, copied.files()["a/one"]) == (0, b"overwritten 0")


def test_object_that_always_changes_ends_the_survey(copied: CopiedDataset) -> None:
    with proxied(copied.lake.server.endpoint, before=overwriting(copied, 3)) as proxy:
        where = copied.lake.store(proxy.endpoint)
        end = copied.record("1", source=where, state=where)
    assert end.code == 65
    assert end.last == {
        "event": "failed",
        "reason": "changed",
        "message": "a/one was overwritten or deleted between listing and copying it. The source was"
        " listed 3 times.",
        "hint": "Record the version when nothing writes to the source. Copied objects are kept.",
        "keys": ["a/one"],
    }


def test_store_that_cannot_copy_gets_streams(copied: CopiedDataset) -> None:
    def refuse(exchange: Exchange) -> None:
        if "x-amz-copy-source" in exchange.asked:
            exchange.answer(501, "NotImplemented")

    with proxied(copied.lake.server.endpoint, before=refuse) as proxy:
        where = copied.lake.store(proxy.endpoint)
        end = copied.record("1", source=where, state=where)
    assert (end.code, end.last["copied_files"]) == (0, 5)
    assert sorted(copied.copies().values()) == sorted(SMALL.values())


def odd_etags(exchange: Exchange) -> None:
    """Keys of KMS: ETags that look like an MD5 and are none; those of copies are others again."""
    if "x-amz-copy-source" in exchange.asked:
        exchange.body = exchange.body.replace(b"ETag>", b"ETag>1", 1)


def test_copies_with_odd_etags_are_streamed(copied: CopiedDataset) -> None:
    with proxied(copied.lake.server.endpoint, after=odd_etags) as proxy:
        where = copied.lake.store(proxy.endpoint)
        end = copied.record("1", source=where, state=where)
        sent = [each for each in proxy.exchanges if each.method == "PUT"]
    assert (end.code, end.last["verified_by"]) == (0, {"md5": 5})
    assert len([each for each in sent if "/copies/" in each.path]) == 10
    copied.put({"a/one": b"overwritten"})
    assert (copied.fill("1").code, copied.files()) == (0, SMALL)


def encrypted(copied: CopiedDataset) -> tuple[Spoil, Spoil]:
    """Answers for a/one as for an object that is encrypted with a key of KMS."""
    content, odd = SMALL["a/one"], "0" * 32
    checksum = base64.b64encode(hashlib.sha256(content).digest()).decode()
    of_content = hashlib.md5(content, usedforsecurity=False).hexdigest()

    def before(exchange: Exchange) -> None:
        if exchange.path.startswith(f"/{copied.bucket}/set/a/one"):
            exchange.status, exchange.body = 200, content
            exchange.headers = {
                "Content-Length": str(len(content)),
                "ETag": f'"{odd}"',
                "Last-Modified": "Fri, 27 Nov 2026 17:29:08 GMT",
                "x-amz-server-side-encryption": "aws:kms",
                "x-amz-checksum-sha256": checksum,
            }

    def after(exchange: Exchange) -> None:
        exchange.body = exchange.body.replace(of_content.encode(), odd.encode())

    return before, after


def test_encrypted_objects_survive_by_checksum(copied: CopiedDataset) -> None:
    before, after = encrypted(copied)
    with proxied(copied.lake.server.endpoint, before=before, after=after) as proxy:
        where = copied.lake.store(proxy.endpoint)
        end = copied.record("1", source=where, state=copied.lake.store())
        assert (end.code, end.last.get("verified_by")) == (0, {"md5": 4, "checksum": 1})
        again = copied.record("1", source=where, state=copied.lake.store())
        assert again.last["copied_files"] == 0
    name = f"{copied.names('1')['a/one']}-other"
    assert copied.copies()[name] == SMALL["a/one"]
    assert (copied.fill("1").code, copied.files()) == (0, SMALL)
    assert copied.sweep("1").last["removed_files"] == 0


def test_unverified_copy_is_made_again_after_kill(copied: CopiedDataset) -> None:
    """The store has copied an encrypted object, and the worker dies before it has verified that."""
    encrypt, after = encrypted(copied)
    stopped: list[subprocess.Popen[bytes]] = []

    def before(exchange: Exchange) -> None:
        encrypt(exchange)
        if exchange.asked.get("x-amz-copy-source", "").endswith("/set/a/one"):
            key = exchange.path.removeprefix(f"/{copied.state}/")
            origin = f"{copied.bucket}/set/a/one"
            copied.lake.client.copy_object(Bucket=copied.state, Key=key, CopySource=origin)
            etag = f'<CopyObjectResult><ETag>"{"1" * 32}"</ETag></CopyObjectResult>'
            exchange.status, exchange.body, exchange.headers = 200, etag.encode(), {}
        if exchange.method == "DELETE" and stopped:
            stopped.pop().kill()
            exchange.lose()

    with proxied(copied.lake.server.endpoint, before=before, after=after) as proxy:
        where = copied.lake.store(proxy.endpoint)
        words = copied.words("1", where, where)
        with subprocess.Popen(command(*words), cwd=ROOT, stdout=subprocess.DEVNULL) as worker:
            stopped.append(worker)
            assert worker.wait() != 0
        assert SMALL["a/one"] in copied.copies().values()
        end = copied.record("1", source=where, state=where)
        assert (end.code, end.last["copy"]) == (0, "made")
    assert (copied.fill("1").code, copied.files()) == (0, SMALL)


def test_lost_copy_is_told_as_a_change(copied: CopiedDataset) -> None:
    copied.record("1")
    copied.put({"a/one": b"overwritten"})
    copied.lake.client.delete_object(
        Bucket=copied.state, Key=f"copies/{copied.names('1')['a/one']}"
    )
    end = copied.fill("1")
    assert (end.code, end.last["reason"], end.last["keys"]) == (65, "changed", ["a/one"])


def test_damaged_copy_never_reaches_a_volume(copied: CopiedDataset) -> None:
    copied.record("1")
    copied.put({"a/one": b"overwritten"})
    name = copied.names("1")["a/one"]
    copied.lake.client.put_object(Bucket=copied.state, Key=f"copies/{name}", Body=b"2" * 1000)
    end = copied.fill("1")
    assert (end.code, end.last["reason"], end.last["keys"]) == (65, "corrupt", ["a/one"])


def test_sweep_deletes_what_no_version_needs(copied: CopiedDataset) -> None:
    copied.record("1")
    copied.put({"a/one": b"changed"})
    copied.record("2")
    gone = copied.names("1")["a/one"]
    kept = {name: content for name, content in copied.copies().items() if name != gone}
    end = copied.sweep("2")
    assert (end.code, end.last | {"seconds": 0}) == (
        0,
        {
            "event": "done",
            "phase": "removing",
            "objects": 5,
            "bytes": 5008,
            "seconds": 0,
            "removed_files": 1,
            "removed_bytes": 1000,
        },
    )
    assert copied.copies() == kept
    assert copied.sweep("2").last["removed_files"] == 0
    assert (copied.sweep().last["removed_files"], copied.copies()) == (5, {})


@pytest.mark.parametrize("name", ["index.json", "part-00000.jsonl.gz"])
def test_sweep_without_a_manifest_deletes_nothing(copied: CopiedDataset, name: str) -> None:
    copied.record("1")
    before = copied.copies()
    copied.lake.client.put_object(
        Bucket=copied.state, Key=f"manifests/1/{name}", Body=b"not what was written"
    )
    assert copied.sweep("1").code == 65
    copied.lake.client.delete_object(Bucket=copied.state, Key=f"manifests/1/{name}")
    assert (copied.sweep("1").code, copied.copies()) == (65, before)


@pytest.mark.slow
def test_every_lost_request_of_a_sweep_is_repeated(copied: CopiedDataset) -> None:
    def swept(**spoilt: Spoil) -> int:
        copied.record("1")
        with proxied(copied.lake.server.endpoint, **spoilt) as proxy:
            end = copied.sweep(store=copied.lake.store(proxy.endpoint))
        assert (end.code, copied.copies()) == (0, {})
        return len(proxy.exchanges)

    for number in range(swept()):
        swept(before=lost(number))
        swept(after=lost(number))


def test_largest_objects_are_copied_in_their_parts(
    copied: CopiedDataset, chance: random.Random
) -> None:
    parts = [chance.randbytes(PART), chance.randbytes(PART), chance.randbytes(7)]
    copied.put_in_parts("parts", parts)
    copied.put({"whole": b"".join(parts)})
    copied.record("1", copy=False)
    entries = {entry.key: entry for entry in copied.entries("1")}
    where = read_settings(copied.lake.store(), "--store")
    assert isinstance(where, S3Settings)
    source, target = (Requests(where, each, 1.0) for each in (copied.bucket, copied.state))
    server = S3ServerCopies(source, Address(copied.bucket, "set/"), target, "copies/", PART)
    for key in ("parts", "whole"):
        server.copy(entries[key], key)
        assert copied.lake.get(copied.state, "copies/", key) == b"".join(parts)
    with pytest.raises(WorkError) as failed:
        server.copy(Entry("parts", 2 * PART + 7, "0" * 32), "other")
    assert failed.value.message == "parts changed after the version was recorded."
    left = copied.lake.client.list_multipart_uploads(Bucket=copied.state)
    assert left.get("Uploads", []) == []
    for each in (source, target):
        each.close()


def test_cloud_storage_copies_nothing_by_itself() -> None:
    told = '{"type": "gcs", "endpoint": "http://127.0.0.1:9"}'
    client = connected(read_settings(told, "--store"), "lake", 1.0)
    assert client.server_copies(Address("lake", "set/", "gs"), "copies/") is None
    client.close()
