"""What the bot reads from a real object store, and what people read when it cannot."""

from pathlib import Path

import pytest

from bot.config import Store
from bot.datasets.location import Location
from bot.datasets.object_store import ObjectStore
from bot.errors import StorageError
from playground.loopback import free_port
from tests.bot.datasets.worker.proxy import Exchange, proxied
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
