import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bot.datasets.manifest import Entry, Remark, Remarks, SurveyFindings
from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.progress import CopyProgress
from bot.datasets.worker.stores.client import StoreClient
from bot.datasets.worker.stores.registry import connected, read_settings
from bot.datasets.worker.stores.settings import Address
from bot.datasets.worker.survey import Shelf, survey
from tests.bot.datasets.worker.proxy import Exchange, Spoil, proxied
from tests.bot.datasets.worker.workers import ended
from tests.object_stores import Lake

FEW = {"b/2": b"two", "a/1": b"one", "a-b": b"dash"}


@pytest.fixture
def bucket(lake: Lake) -> str:
    return lake.bucket()


@contextmanager
def opened(lake: Lake, bucket: str, endpoint: str | None = None) -> Iterator[StoreClient]:
    client = connected(read_settings(lake.store(endpoint), "--source-store"), bucket, 1.0)
    try:
        yield client
    finally:
        client.close()


def keep_versions(lake: Lake, bucket: str) -> None:
    lake.client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})


def md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def digest_of(lake: Lake, bucket: str, endpoint: str | None = None, prefix: str = "set/") -> str:
    """Surveys within this process."""
    with opened(lake, bucket, endpoint) as client:
        shelf = Shelf(client, "manifest/")
        return survey(client, Address(bucket, prefix), shelf, CopyProgress("listing")).digest


def words_of(lake: Lake, bucket: str, source: str | None = None, store: str = "") -> list[str]:
    where = store or lake.store()
    return [
        *("survey", "--source", source or f"s3://{bucket}/set", "--source-store", where),
        *("--manifest", f"s3://{bucket}/manifest/", "--manifest-store", lake.store()),
        *("--patience", "1"),
    ]


def test_survey_process_writes_manifest_and_says_so(lake: Lake, bucket: str) -> None:
    lake.put(bucket, FEW | {"folder/": b""})
    end = ended(*words_of(lake, bucket))
    index, entries = lake.manifest(bucket, "manifest/")
    assert (end.code, end.complaints) == (0, "")
    assert end.last | {"seconds": 0} == {
        "event": "done",
        "phase": "listing",
        "digest": index.digest,
        "objects": 3,
        "bytes": 10,
        "seconds": 0,
        "problems": 0,
        "warnings": 0,
        "keys": [],
    }
    assert end.lines[0]["event"] == "progress"
    assert entries == [
        Entry("a-b", 4, md5(b"dash")),
        Entry("a/1", 3, md5(b"one")),
        Entry("b/2", 3, md5(b"two")),
    ]
    assert (index.source, index.findings) == (f"s3://{bucket}/set/", SurveyFindings(folders=1))


def test_same_content_elsewhere_has_same_digest(lake: Lake, bucket: str) -> None:
    lake.put(bucket, FEW)
    other = lake.bucket()
    lake.put(other, FEW)
    assert digest_of(lake, bucket) == digest_of(lake, bucket) == digest_of(lake, other)
    lake.put(other, {"b/2": b"TWO"})
    assert digest_of(lake, bucket) != digest_of(lake, other)


def test_versions_are_named_and_deleted_ones_not(lake: Lake, bucket: str) -> None:
    keep_versions(lake, bucket)
    lake.put(bucket, FEW | {"gone": b"x"})
    lake.client.delete_object(Bucket=bucket, Key="set/gone")
    lake.put(bucket, {"a/1": b"new"})
    digest_of(lake, bucket)
    index, entries = lake.manifest(bucket, "manifest/")
    newest = lake.client.head_object(Bucket=bucket, Key="set/a/1")["VersionId"]
    assert index.findings.versioned
    assert [entry.key for entry in entries] == ["a-b", "a/1", "b/2"]
    assert entries[1] == Entry("a/1", 3, md5(b"new"), newest)


@pytest.mark.parametrize("versioned", [False, True])
def test_listing_takes_as_many_pages_as_needed(lake: Lake, bucket: str, *, versioned: bool) -> None:
    if versioned:
        keep_versions(lake, bucket)
    lake.put(bucket, {"a": b"1", "b": b"2", "page +%é": b"x"})
    with opened(lake, bucket) as client:
        pages = client.listed("set/", versioned=versioned, page_objects=1)
        assert [entry.key for entry in pages] == ["a", "b", "page +%é"]


def test_store_that_leaves_out_versions_is_refused(lake: Lake, bucket: str) -> None:
    keep_versions(lake, bucket)
    lake.put(bucket, FEW)
    with opened(lake, bucket) as client, pytest.raises(WorkError) as failed:
        list(client.listed("set/", versioned=True, page_objects=1))
    assert failed.value.message == (
        f"The store lists 3 objects below s3://{bucket}/set/, but 2 when it lists their versions."
    )


def test_keys_that_cannot_be_files_are_recorded(lake: Lake, bucket: str) -> None:
    lake.put(bucket, {"a": b"1", "a/b": b"2", "A": b"3", "line\nfeed": b"5"})
    digest_of(lake, bucket)
    index, entries = lake.manifest(bucket, "manifest/")
    assert [entry.key for entry in entries] == ["A", "a", "a/b", "line\nfeed"]
    assert index.findings.problems == Remarks(
        1, (Remark("a/b", "needs a folder a, which is a file"),)
    )
    assert index.findings.warnings == Remarks(1, (Remark("a", "differs from A only in case"),))


def lost(number: int) -> Spoil:
    def spoil(exchange: Exchange) -> None:
        if exchange.number == number:
            exchange.lose()

    return spoil


def test_survey_bears_every_request_lost_once(lake: Lake, bucket: str) -> None:
    lake.put(bucket, FEW)
    with proxied(lake.server.endpoint) as proxy:
        expected = digest_of(lake, bucket, proxy.endpoint)
    # versioning, a page, the part and the index; the store lists a/1 before a-b, hence a page more.
    count = len(proxy.exchanges)
    assert count == 5
    for number in range(count):
        for spoilt in (
            proxied(lake.server.endpoint, before=lost(number)),
            proxied(lake.server.endpoint, after=lost(number)),
        ):
            with spoilt as proxy:
                assert digest_of(lake, bucket, proxy.endpoint) == expected
            assert len(proxy.exchanges) == count + 1


@contextmanager
def always(lake: Lake, status: int, code: str) -> Iterator[str]:
    def spoil(exchange: Exchange) -> None:
        if "versioning" not in exchange.path:
            exchange.answer(status, code)

    with proxied(lake.server.endpoint, before=spoil) as proxy:
        yield proxy.endpoint


@pytest.mark.parametrize(
    ("status", "code", "reason", "message"),
    [
        (403, "AccessDenied", "no_access", "The store rejected GET {where}: 403 AccessDenied."),
        (
            404,
            "NoSuchBucket",
            "not_found",
            "The store does not have GET {where}: 404 NoSuchBucket.",
        ),
        (503, "SlowDown", "store_down", "The store cannot handle GET {where} now: 503 SlowDown."),
        (
            301,
            "PermanentRedirect",
            "wrong_input",
            "The store rejected GET {where}: 301 PermanentRedirect.",
        ),
    ],
)
def test_refusals_are_told_apart_by_reason(
    lake: Lake, bucket: str, status: int, code: str, reason: str, message: str
) -> None:  # fmt: skip
    with always(lake, status, code) as endpoint, pytest.raises(WorkError) as failed:
        digest_of(lake, bucket, endpoint)
    where = f"{endpoint.removeprefix('http://')}/{bucket}/"
    assert failed.value.reason == reason
    assert failed.value.message == message.format(where=where)


def test_wrong_keys_end_with_no_access(lake: Lake, bucket: str) -> None:
    (lake.credentials / "wrong").mkdir(exist_ok=True)
    for name in ("access-key-id", "secret-access-key"):
        (lake.credentials / "wrong" / name).write_text("not one it knows")
    where = lake.store(credentials=str(lake.credentials / "wrong"))
    end = ended(*words_of(lake, bucket, store=where))
    host = lake.server.endpoint.removeprefix("http://")
    assert (end.code, end.complaints) == (65, "")
    assert end.last == {
        "event": "failed",
        "reason": "no_access",
        "message": f"The store rejected GET {host}/{bucket}/: 403 InvalidAccessKeyId.",
        "hint": "The store does not know the access key in its Secret.",
        "keys": [],
    }


def test_store_that_is_down_is_worth_repeating(lake: Lake, bucket: str) -> None:
    end = ended(*words_of(lake, bucket, store=lake.store("http://127.0.0.1:9")))
    assert end.code == 75
    assert end.last == {
        "event": "failed",
        "reason": "store_down",
        "message": "The object store 127.0.0.1:9 does not respond: [Errno 111] Connection refused.",
        "hint": "Nothing is lost: the next attempt continues where this one stopped.",
        "keys": [],
    }


@pytest.mark.parametrize(
    ("source", "settings", "message"),
    [
        ("lake/set", "", "--source is not an address in an object store: lake/set"),
        ("s3://", "", "--source is not an address in an object store: s3://"),
        (
            "s3://lake/set",
            '{"endpoint": "grid:8082"}',
            "--source-store has an endpoint without http:// or https://: grid:8082",
        ),
        (
            "s3://lake/set",
            '{"url": 1}',
            "--source-store cannot be read: Object contains unknown field `url`.",
        ),
        (
            "s3://lake/set",
            '{"credentials": "/nowhere"}',
            "The access key cannot be read from /nowhere/access-key-id: No such file or directory.",
        ),
    ],
)
def test_wrong_input_says_what_is_wrong(
    lake: Lake, bucket: str, source: str, settings: str, message: str
) -> None:
    end = ended(*words_of(lake, bucket, source, settings))
    assert (end.code, end.last["message"], end.last["event"]) == (65, message, "failed")


def test_nothing_below_prefix_is_not_a_version(lake: Lake, bucket: str) -> None:
    lake.put(bucket, FEW)
    with pytest.raises(WorkError) as failed:
        digest_of(lake, bucket, prefix="sets/")
    assert failed.value.reason == "not_found"
    assert failed.value.message == f"There are no objects below s3://{bucket}/sets/."
    assert not lake.client.list_objects_v2(Bucket=bucket, Prefix="manifest/").get("Contents")
