"""Datasets from, and pushes to, Google Cloud Storage by its own API."""

import gzip
import http.client
import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bot.config import Store
from bot.datasets.location import Location
from bot.datasets.object_store import ObjectStore
from bot.datasets.worker.parts import PART_BYTES
from bot.datasets.worker.stores.client import StoreClient
from bot.datasets.worker.stores.gcs.settings import GcsSettings
from bot.datasets.worker.stores.registry import connected, read_settings
from bot.errors import StorageError
from playground.loopback import free_port
from tests.bot.datasets.worker.conftest import SMALL
from tests.bot.datasets.worker.proxy import Exchange, Spoil, proxied
from tests.bot.datasets.worker.workers import End, ended
from tests.cloud_objects import CloudStorage, new_key
from tests.cloud_storage import cloud_storage

BUCKET = "lake"
HOST = "storage.googleapis.com"


@dataclass
class Rig:
    """A bucket in the cloud, the credentials of workers, and a volume."""

    cloud: CloudStorage
    credentials: Path
    volume: Path

    def store(self, endpoint: str | None = None) -> str:
        told = {"type": "gcs", "endpoint": endpoint or self.cloud.endpoint}
        return json.dumps(told | {"credentials": str(self.credentials)})

    def client(self, endpoint: str | None = None, bucket: str = BUCKET) -> StoreClient:
        return connected(read_settings(self.store(endpoint), "--store"), bucket, 1.0)

    def put(self, key: str, content: bytes, **kind: bool) -> None:
        self.cloud.put(BUCKET, f"set/{key}", content, **kind)

    def survey(self, *more: str, bucket: str = BUCKET) -> End:
        return ended(
            *("survey", "--source", f"gs://{bucket}/set/", "--source-store", self.store()),
            *("--manifest", f"gs://{BUCKET}/manifest/", "--manifest-store", self.store()),
            *("--patience", "1", *more),
        )

    def fill(self, digest: str, *more: str, endpoint: str | None = None) -> End:
        return ended(
            *("fill", "--source", f"gs://{BUCKET}/set/", "--source-store", self.store(endpoint)),
            *("--manifest", f"gs://{BUCKET}/manifest/", "--manifest-store", self.store()),
            *("--digest", digest, "--target", str(self.volume), "--patience", "5"),
            *more,
        )

    def push(self, *more: str, endpoint: str | None = None) -> End:
        return ended(
            *("push", "--source", str(self.volume), "--target", f"gs://{BUCKET}/out/"),
            *("--target-store", self.store(endpoint), "--patience", "5", *more),
        )

    def pushed(self) -> dict[str, bytes]:
        found = self.cloud.buckets[BUCKET].items()
        return {key[4:]: each.content for key, each in found if key.startswith("out/")}

    def files(self) -> dict[str, bytes]:
        root = self.volume / "ready" / "files"
        found = (path for path in root.rglob("*") if path.is_file())
        return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    volume = tmp_path / "volume"
    volume.mkdir()
    with cloud_storage() as cloud:
        cloud.buckets[BUCKET] = {}
        yield Rig(cloud, cloud.keys(tmp_path / "keys"), volume)


def refusal(end: End) -> tuple[int, str, str, str]:
    return end.code, end.last["reason"], end.last["message"], end.last["hint"]


def once(method: str, begin: str, act: Spoil) -> Spoil:
    """Acts on the first request of that method and path."""
    done: list[int] = []

    def spoil(exchange: Exchange) -> None:
        if exchange.method == method and exchange.path.startswith(begin) and not done:
            done.append(exchange.number)
            act(exchange)

    return spoil


def test_a_cache_is_filled_from_cloud_storage(rig: Rig) -> None:
    large = bytes(range(256)) * (33 << 12)
    for key, content in SMALL.items():
        rig.put(key, content)
    rig.put("large", large)
    rig.put("composed", b"of two parts", is_composed=True)
    surveyed = rig.survey()
    assert (surveyed.code, surveyed.last["objects"]) == (0, 7)
    filled = rig.fill(surveyed.last["digest"])
    assert (filled.code, filled.last["engine"]) == (0, "obstore")
    assert filled.last["verified_by"] == {"md5": 6, "checksum": 1}
    assert rig.files() == SMALL | {"large": large, "composed": b"of two parts"}


def test_compressed_objects_are_copied_as_stored(rig: Rig) -> None:
    stored = {
        "small.csv": gzip.compress(b"a,b\n" * 1000, mtime=0),
        "large.bin": gzip.compress(secrets.token_bytes(40 << 20), mtime=0),
    }
    for key, content in stored.items():
        rig.put(key, content, is_gzip=True)
    rig.put("plain", b"not compressed")
    filled = rig.fill(rig.survey().last["digest"])
    assert (filled.code, filled.last["verified_by"]) == (0, {"md5": 3})
    assert rig.files() == stored | {"plain": b"not compressed"}


def test_the_recorded_generation_is_copied(rig: Rig) -> None:
    rig.cloud.versioned.add(BUCKET)
    rig.put("one", b"first")
    digest = rig.survey().last["digest"]
    rig.put("one", b"second")
    assert rig.fill(digest).code == 0
    assert rig.files() == {"one": b"first"}


def test_copies_outlive_overwritten_generations(rig: Rig) -> None:
    rig.put("one", b"first")
    rig.put("kept", b"kept")
    rig.put("composed", b"of two parts", is_composed=True)
    copies = ("--copies", f"gs://{BUCKET}/copies/", "--copies-store", rig.store())
    surveyed = rig.survey(*copies)
    assert (surveyed.code, surveyed.last["copied_files"]) == (0, 3)
    assert surveyed.last["verified_by"] == {"md5": 2, "checksum": 1}
    assert rig.survey(*copies).last["copied_files"] == 0
    rig.put("one", b"second")
    rig.put("composed", b"of others", is_composed=True)
    filled = rig.fill(surveyed.last["digest"], *copies)
    assert (filled.code, filled.last["from_copies"]) == (0, 2)
    assert rig.files() == {"one": b"first", "kept": b"kept", "composed": b"of two parts"}
    swept = ended("sweep", *copies, "--keep", f"gs://{BUCKET}/manifest/")
    assert (swept.code, swept.last["objects"], swept.last["removed_files"]) == (0, 3, 0)
    assert ended("sweep", *copies).last["removed_files"] == 3


def test_an_overwritten_object_fails_the_fill(rig: Rig) -> None:
    rig.put("one", b"first")
    digest = rig.survey().last["digest"]
    rig.put("one", b"second")
    assert refusal(rig.fill(digest)) == (
        65,
        "changed",
        "one was deleted after the version was recorded.",
        "Record a new version of the dataset and cache that one.",
    )


def test_pages_are_listed_with_all_keys(rig: Rig) -> None:
    keys = [".", "a//b", "line\nfeed", "x", "ü"]
    for key in keys:
        rig.put(key, key.encode())
    client = rig.client()
    found = list(client.listed("set/", versioned=False, page_objects=2))
    assert [entry.key for entry in found] == keys
    engine = client.engine("auto", "set/", 1)
    assert [bytes(memoryview(engine.whole(each))) for each in found] == [k.encode() for k in keys]
    client.close()


def test_a_push_writes_small_and_large_files(rig: Rig) -> None:
    files = {"small": b"1", "empty": b"", "deep/large": bytes(2 * PART_BYTES + 7)}
    for key, content in files.items():
        path = rig.volume / key
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    first, again = rig.push(), rig.push()
    assert (first.code, first.last["copied_files"], first.last["verified_by"]) == (0, 3, {"md5": 3})
    assert (again.code, again.last["copied_files"], again.last["verified_by"]) == (0, 0, {"md5": 3})
    assert rig.pushed() == files


def test_a_push_replaces_nothing_unasked(rig: Rig) -> None:
    rig.cloud.put(BUCKET, "out/one", b"theirs")
    (rig.volume / "one").write_bytes(b"ours")
    message = (
        "one is already in the store with different content (6 bytes in the store, 4 in the"
        " folder)."
    )
    assert refusal(rig.push())[:3] == (65, "wrong_input", message)
    assert rig.pushed() == {"one": b"theirs"}
    assert rig.push("--overwrite").code == 0
    assert rig.pushed() == {"one": b"ours"}


@pytest.mark.parametrize(
    ("size", "method", "path"),
    [
        (1, "PUT", f"/{BUCKET}/out/one"),
        (2 * PART_BYTES, "POST", "/upload/"),
        (2 * PART_BYTES, "PUT", "/upload/"),
    ],
)
def test_a_lost_answer_leaves_one_object(rig: Rig, size: int, method: str, path: str) -> None:
    (rig.volume / "one").write_bytes(bytes(size))
    with proxied(rig.cloud.endpoint, after=once(method, path, Exchange.lose)) as proxy:
        assert rig.push(endpoint=proxy.endpoint).code == 0
    assert rig.pushed() == {"one": bytes(size)}
    generation = rig.cloud.get(BUCKET, "out/one").generation
    assert rig.push().code == 0
    assert rig.cloud.get(BUCKET, "out/one").generation == generation


def test_reads_are_repeated_after_lost_answers(rig: Rig) -> None:
    rig.put("one", b"first")
    digest = rig.survey().last["digest"]
    with proxied(rig.cloud.endpoint, after=once("GET", f"/{BUCKET}/", Exchange.lose)) as proxy:
        assert rig.fill(digest, endpoint=proxy.endpoint).code == 0
    assert rig.files() == {"one": b"first"}


def test_a_bucket_that_does_not_exist_is_named(rig: Rig) -> None:
    host = urlsplit(rig.cloud.endpoint).netloc
    assert refusal(rig.survey(bucket="nowhere")) == (
        65,
        "not_found",
        f"The store does not have GET {host}/storage/v1/b/nowhere: 404 notFound.",
        "Check the spelling of the bucket and the prefix.",
    )


def test_a_forbidden_bucket_is_named(rig: Rig) -> None:
    rig.cloud.forbidden.add(BUCKET)
    (rig.volume / "one").write_bytes(b"1")
    host = urlsplit(rig.cloud.endpoint).netloc
    assert refusal(rig.push()) == (
        65,
        "no_access",
        f"The store rejected GET {host}/storage/v1/b/{BUCKET}/o: 403 forbidden.",
        "Allow this service account to list the bucket and read objects.",
    )


def test_a_key_that_was_revoked_is_named(rig: Rig) -> None:
    rig.cloud.keys(rig.credentials, new_key())
    assert refusal(rig.survey()) == (
        65,
        "no_access",
        "Google rejected the service account: Invalid JWT Signature.",
        "Put the key of a service account (JSON) into key.json of the store's Secret.",
    )


def test_a_clock_that_is_off_is_named(rig: Rig) -> None:
    rig.cloud.clock_offset_seconds = 7200
    code, reason, message, hint = refusal(rig.survey())
    assert (code, reason, hint) == (65, "no_access", "The clock of this node is too far off.")
    assert "in a reasonable timeframe" in message


@pytest.mark.parametrize("content", ["no json", "{}", '{"type": "authorized_user"}', "[]"])
def test_a_file_that_is_no_key_is_named(rig: Rig, content: str) -> None:
    (rig.credentials / "key.json").write_text(content)
    assert refusal(rig.survey()) == (
        65,
        "no_access",
        f"{rig.credentials}/key.json is not a key that can be used.",
        "Put the key of a service account (JSON) into key.json of the store's Secret.",
    )


def test_another_scheme_is_refused(rig: Rig) -> None:
    end = ended("push", "--source", "/tmp", "--target", "s3://lake/", "--target-store", rig.store())  # noqa: S108 - not read
    assert refusal(end)[2:] == (
        "--target is not an address in an object store: s3://lake/",
        "For example: gs://lake/chest-xray/",
    )


def test_a_signed_url_reads_one_object(rig: Rig) -> None:
    rig.put("one", b"first")
    client = connected(GcsSettings(credentials=str(rig.credentials)), BUCKET, 0.0)
    signed = urlsplit(client.sign("set/one", timedelta(minutes=5)))
    assert (signed.scheme, signed.netloc) == ("https", HOST)
    client.close()

    def asked(target: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(urlsplit(rig.cloud.endpoint).netloc, timeout=10)
        connection.request("GET", target, headers={"Host": HOST})
        answer = connection.getresponse()
        found = answer.status, answer.read()
        connection.close()
        return found

    assert asked(f"{signed.path}?{signed.query}") == (200, b"first")
    assert asked(f"/{BUCKET}/set/two?{signed.query}")[0] == 403


def test_an_emulator_needs_no_credentials(rig: Rig) -> None:
    rig.cloud.is_emulator = True
    (rig.volume / "small").write_bytes(b"1")
    (rig.volume / "large").write_bytes(bytes(PART_BYTES + 1))
    client = connected(GcsSettings(endpoint=rig.cloud.endpoint), BUCKET, 0.0)
    uploader = client.uploader("set/")
    for key in ("large", "small"):
        with (rig.volume / key).open("rb") as file:
            uploader.upload(key, file.fileno(), (rig.volume / key).stat().st_size, only_new=True)
    engine, entries = client.engine("obstore", "set/", 1), client.listed("set/", versioned=False)
    assert [len(bytes(memoryview(engine.whole(each)))) for each in entries] == [PART_BYTES + 1, 1]
    client.close()


def bot_store(rig: Rig, **others: object) -> ObjectStore:
    told: dict[str, object] = {"type": "gcs", "endpoint": rig.cloud.endpoint}
    told["credentials"] = str(rig.credentials)
    return ObjectStore("lake", Store.model_validate(told | others))


def test_the_bot_reads_from_cloud_storage(rig: Rig) -> None:
    rig.put("index.json", b"{}")
    store, place = bot_store(rig), Location.of(f"gs://{BUCKET}/set/")
    store.look(place)
    assert store.get(place, "index.json") == b"{}"
    store.close()


def test_the_bot_says_why_it_cannot_read(rig: Rig, tmp_path: Path) -> None:
    def said(store: ObjectStore) -> str:
        with pytest.raises(StorageError) as caught:
            store.get(Location.of(f"gs://{BUCKET}/set/"), "index.json")
        store.close()
        return f"{caught.value.message} {caught.value.hint}"

    doing = f"Reading gs://{BUCKET}/set/index.json from store lake failed:"
    check = "A platform admin must check stores.lake.credentials."
    assert said(bot_store(rig)) == (
        f"{doing} it does not exist (notFound). It may have been deleted."
    )
    assert said(bot_store(rig, endpoint=f"http://127.0.0.1:{free_port()}")) == (
        f"{doing} the store cannot be reached (NewConnectionError). Try again in a minute."
        " stores.lake sets the endpoint."
    )
    rig.cloud.forbidden.add(BUCKET)
    rejected = "the store rejected the bot's keys"
    assert said(bot_store(rig)) == f"{doing} {rejected} (forbidden). {check}"
    rig.cloud.keys(rig.credentials, new_key())
    why = "Google rejected the service account: Invalid JWT Signature"
    assert said(bot_store(rig)) == f"{doing} {rejected} ({why}). {check}"
    assert said(bot_store(rig, credentials=str(tmp_path / "none"))) == (
        "The keys of store lake cannot be read: No such file or directory."
        " stores.lake.credentials must name a folder with the file key.json."
    )
