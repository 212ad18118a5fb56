"""What the bot reads from a real object store, and what people read when it cannot."""

from hashlib import md5
from pathlib import Path

import pytest

from bot.config import Store
from bot.datasets.location import Location
from bot.datasets.manifest import Entry
from bot.datasets.object_store import ObjectStore
from bot.errors import StorageError
from playground.loopback import free_port
from tests.bot.datasets.worker.proxy import Exchange, proxied
from tests.cloud_storage import cloud_storage
from tests.object_stores import Lake


def store(lake: Lake, **others: object) -> ObjectStore:
    told: dict[str, object] = {
        "endpoint": lake.server.endpoint,
        "path_style": True,
        "credentials": str(lake.credentials),
    }
    return ObjectStore("lake", Store.model_validate(told | others))


def refusal(source: ObjectStore, place: Location, name: str = "index.json") -> str:
    with pytest.raises(StorageError) as caught:
        source.get(place, name)
    return f"{caught.value.message} {caught.value.hint}"


def test_objects_below_a_place_are_read(lake: Lake) -> None:
    bucket = lake.bucket()
    lake.put(bucket, {"index.json": b"{}"})
    source, place = store(lake), Location(bucket, "set/")
    source.look(place)
    assert source.get(place, "index.json") == b"{}"
    source.close()


def test_what_is_not_there_is_said(lake: Lake) -> None:
    bucket = lake.bucket()
    assert refusal(store(lake), Location(bucket, "set/")) == (
        f"Reading s3://{bucket}/set/index.json from store lake failed: it does not exist"
        " (NoSuchKey). It may have been deleted."
    )
    assert "it does not exist (NoSuchBucket)." in refusal(store(lake), Location("nowhere", ""))


def test_refused_keys_are_said_without_them(lake: Lake, tmp_path: Path) -> None:
    (tmp_path / "access-key-id").write_text("AKIAWRONG\n")
    (tmp_path / "secret-access-key").write_text("wrong-secret\n")
    said = refusal(store(lake, credentials=str(tmp_path)), Location(lake.bucket(), ""))
    assert "the store rejected the bot's keys (InvalidAccessKeyId)." in said
    assert "AKIAWRONG" not in said
    assert "wrong-secret" not in said


def test_missing_files_of_keys_are_named(lake: Lake, tmp_path: Path) -> None:
    said = refusal(store(lake, credentials=str(tmp_path)), Location("any", ""))
    assert said == (
        "The keys of store lake cannot be read: No such file or directory."
        " stores.lake.credentials must name a folder with the files access-key-id and"
        " secret-access-key."
    )


def test_a_store_that_is_down_is_said(lake: Lake) -> None:
    away = store(lake, endpoint=f"http://127.0.0.1:{free_port()}")
    assert refusal(away, Location("any", "set/")) == (
        "Reading s3://any/set/index.json from store lake failed: the store cannot be reached"
        " (NewConnectionError)."
        " Try again in a minute. stores.lake sets the endpoint."
    )


def test_another_region_is_said_to_admins(lake: Lake) -> None:
    def redirects(exchange: Exchange) -> None:
        exchange.answer(301, "PermanentRedirect")

    with proxied(lake.server.endpoint, before=redirects) as far:
        assert refusal(store(lake, endpoint=far.endpoint), Location("any", "set/")) == (
            "Reading s3://any/set/index.json from store lake failed: the store returned"
            " PermanentRedirect. Check endpoint, region and path_style in the store's settings."
            " A platform admin finds them below stores.lake."
        )


def begun(source: ObjectStore, bucket: str, entry: Entry) -> str:
    with pytest.raises(StorageError) as caught:
        source.begin(Location(bucket, "set/"), entry, 10)
    return f"{caught.value.message} {caught.value.hint}"


def test_only_the_first_bytes_are_requested(lake: Lake) -> None:
    bucket, content = lake.bucket(), b"0123456789" * 100_000
    lake.put(bucket, {"large.txt": content})
    etag = md5(content, usedforsecurity=False).hexdigest()
    with proxied(lake.server.endpoint) as between:
        source = store(lake, endpoint=between.endpoint)
        entry = Entry("large.txt", len(content), etag)
        assert source.begin(Location(bucket, "set/"), entry, 15) == content[:15]
        source.close()
    (exchange,) = between.exchanges
    assert exchange.asked["range"] == "bytes=0-14"
    assert exchange.asked["if-match"] == f'"{etag}"'


def test_refused_reading_is_said_to_admins(lake: Lake) -> None:
    def denies(exchange: Exchange) -> None:
        exchange.answer(403, "AccessDenied")

    bucket = lake.bucket()
    lake.put(bucket, {"a.txt": b"a"})
    with proxied(lake.server.endpoint, before=denies) as between:
        said = begun(store(lake, endpoint=between.endpoint), bucket, Entry("a.txt", 1, "e"))
    assert said == (
        f"Reading s3://{bucket}/set/a.txt from store lake failed: the store does not let the bot"
        " read it. A platform admin must allow it for the keys in stores.lake.credentials."
    )


def test_a_busy_store_is_said_after_retries(lake: Lake) -> None:
    def is_busy(exchange: Exchange) -> None:
        exchange.answer(503, "SlowDown")

    with proxied(lake.server.endpoint, before=is_busy) as between:
        said = begun(store(lake, endpoint=between.endpoint), "any", Entry("a.txt", 1, "e"))
    assert said == (
        "Reading s3://any/set/a.txt from store lake failed: the store cannot be reached, or is too"
        " busy. Try again in a minute. stores.lake sets the endpoint."
    )
    assert len(between.exchanges) == 3


def test_lost_answers_of_reading_are_repeated(lake: Lake) -> None:
    def loses(exchange: Exchange) -> None:
        if exchange.number == 0:
            exchange.lose()

    bucket = lake.bucket()
    lake.put(bucket, {"a.txt": b"recorded"})
    etag = md5(b"recorded", usedforsecurity=False).hexdigest()
    with proxied(lake.server.endpoint, after=loses) as between:
        source = store(lake, endpoint=between.endpoint)
        entry = Entry("a.txt", 8, etag)
        assert source.begin(Location(bucket, "set/"), entry, 3) == b"rec"
        source.close()


def test_cloud_storage_reads_the_recorded_generation() -> None:
    with cloud_storage() as cloud:
        cloud.is_emulator = True
        bucket = cloud.bucket()
        recorded = cloud.put(bucket, "set/a.txt", b"recorded")
        told = {"type": "gcs", "endpoint": cloud.endpoint}
        source = ObjectStore("warehouse", Store.model_validate(told))
        entry = Entry("a.txt", 8, recorded.etag, recorded.generation)
        assert source.begin(Location(bucket, "set/", "gs"), entry, 3) == b"rec"
        cloud.put(bucket, "set/a.txt", b"changed!")
        assert begun(source, bucket, entry) == (
            "a.txt was deleted after the version was recorded. Record a new version of the dataset."
        )
        source.close()
