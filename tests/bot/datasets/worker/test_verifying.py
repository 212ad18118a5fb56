"""Objects that were uploaded in parts are known by more than their size."""

import base64
import hashlib
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from typing_extensions import override

from bot.datasets.manifest import Entry
from bot.datasets.worker.checksums import equal_parts, etag_of_parts
from bot.datasets.worker.stores.client import StoreClient
from bot.datasets.worker.stores.registry import connected, read_settings
from bot.datasets.worker.stores.s3.settings import S3Settings
from bot.datasets.worker.verifying import Verifier
from tests.object_stores import Lake

MIB = 1 << 20
SIZE = 12 * MIB + 7
CONTENT = hashlib.shake_128(b"large").digest(SIZE)


@dataclass
class Told:
    """A store that says what it is told to of one object, and of its parts where it has `parts`."""

    headers: Mapping[str, str] = field(default_factory=dict)
    parts: list[int] = field(default_factory=list)
    asked: int = 0


@dataclass
class Rig:
    """A file, and a store that tells of an object."""

    file: int
    client: StoreClient
    told: Told

    def entry(self, etag: str) -> Entry:
        return Entry("large", SIZE, etag)

    def etag(self, *sizes: int) -> str:
        return etag_of_parts(self.file, sizes)

    def spoil(self) -> None:
        """One byte of the file is another one."""
        os.pwrite(self.file, b"\0" if CONTENT[MIB] else b"\1", MIB)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[int]:
    path = tmp_path / "large"
    path.write_bytes(CONTENT)
    descriptor = os.open(path, os.O_RDWR)
    yield descriptor
    os.close(descriptor)


@pytest.fixture
def rig(file: int, tmp_path: Path) -> Iterator[Rig]:
    told = Told()

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            told.asked += 1
            number = parse_qs(urlsplit(self.path).query).get("partNumber")
            length, more = SIZE, dict(told.headers)
            if number and told.parts:
                length = told.parts[int(number[0]) - 1]
                more["x-amz-mp-parts-count"] = str(len(told.parts))
            self.send_response(206 if number and told.parts else 200)
            for name, value in {"content-length": str(length), **more}.items():
                self.send_header(name, value)
            self.end_headers()

        @override
        def log_message(self, *words: Any) -> None:
            pass

    for name in ("access-key-id", "secret-access-key"):
        (tmp_path / name).write_text("key")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    client = connected(
        S3Settings(endpoint=endpoint, path_style=True, credentials=str(tmp_path)), "lake", 1.0
    )
    yield Rig(file, client, told)
    client.close()
    server.shutdown()
    server.server_close()


def stored_in(lake: Lake, sizes: list[int], algorithm: str | None) -> tuple[str, Entry]:
    """The content in the lake, uploaded in parts of these sizes."""
    bucket, place, done = lake.bucket(), 0, []
    asked: Any = {"ChecksumAlgorithm": algorithm} if algorithm else {}
    where: Any = {"Bucket": bucket, "Key": "set/large"}
    upload = lake.client.create_multipart_upload(**where, **asked)["UploadId"]
    for number, size in enumerate(sizes, 1):
        part: Any = {"Body": CONTENT[place : place + size], "PartNumber": number, **asked}
        given: Any = lake.client.upload_part(**where, UploadId=upload, **part)
        sums = {key: value for key, value in given.items() if key.startswith("Checksum")}
        done.append({"PartNumber": number, "ETag": given["ETag"], **sums})
        place += size
    parts: Any = {"Parts": done}
    etag = lake.client.complete_multipart_upload(**where, UploadId=upload, MultipartUpload=parts)
    return bucket, Entry("large", SIZE, etag["ETag"].strip('"'))


@pytest.mark.parametrize(
    ("algorithm", "kind"),
    [(None, "md5"), ("SHA256", "checksum"), ("CRC32", "checksum"), ("CRC32C", "checksum")],
)
@pytest.mark.parametrize(
    "sizes",
    [
        [8 * MIB, 4 * MIB + 7],
        [7 * MIB, 5 * MIB + 7],
        [5 * MIB, 6 * MIB, MIB + 7],
        [5_000_000 + 300_000, 5_300_000, SIZE - 10_600_000],
        [SIZE],
    ],
)
def test_parts_of_any_size_are_compared(
    lake: Lake, file: int, sizes: list[int], algorithm: str | None, kind: str
) -> None:
    bucket, entry = stored_in(lake, sizes, algorithm)
    client = connected(read_settings(lake.store(), "--store"), bucket, 2.0)
    assert Verifier(client, "set/").compared(entry, file) == kind
    os.pwrite(file, b"\0" if CONTENT[MIB] else b"\1", MIB)
    assert Verifier(client, "set/").compared(entry, file) is None
    client.close()


@pytest.mark.parametrize("step", [5 * MIB, 8 * MIB, 10 * MIB, 5_000_000])
def test_usual_parts_are_guessed(rig: Rig, step: int) -> None:
    entry = rig.entry(rig.etag(*equal_parts(SIZE, step)))
    verifier = Verifier(rig.client, "")
    assert verifier.compared(entry, rig.file) == "md5"


def test_unusual_parts_leave_the_size(rig: Rig) -> None:
    entry = rig.entry(rig.etag(7 * MIB + 5, 5 * MIB + 2))
    verifier = Verifier(rig.client, "")
    assert verifier.verify(entry, rig.file)
    assert (verifier.counts, verifier.bytes) == ({"size": 1}, {"size": SIZE})


def test_what_differs_is_read_again(rig: Rig) -> None:
    entry = rig.entry(rig.etag(8 * MIB, 4 * MIB + 7))
    rig.told.headers, rig.told.parts = {"etag": f'"{entry.etag}"'}, [8 * MIB, 4 * MIB + 7]
    rig.spoil()
    assert not Verifier(rig.client, "").verify(entry, rig.file)


def test_odd_etags_cost_one_more_reading(rig: Rig) -> None:
    entry = rig.entry(f"{32 * 'a'}-2")
    rig.told.headers, rig.told.parts = {"etag": f'"{entry.etag}"'}, [8 * MIB, 4 * MIB + 7]
    verifier = Verifier(rig.client, "")
    assert [verifier.compared(entry, rig.file) for _ in range(2)] == [None, "size"]
    other, rig.told.asked = Entry("other", SIZE, entry.etag), 0
    assert (verifier.compared(other, rig.file), rig.told.asked) == ("size", 1)


def test_usual_etags_are_believed_on(rig: Rig) -> None:
    entry = rig.entry(rig.etag(8 * MIB, 4 * MIB + 7))
    rig.told.headers, rig.told.parts = {"etag": f'"{entry.etag}"'}, [8 * MIB, 4 * MIB + 7]
    verifier = Verifier(rig.client, "")
    assert verifier.compared(entry, rig.file) == "md5"
    rig.spoil()
    again = Entry("other", SIZE, entry.etag)
    assert [verifier.compared(again, rig.file) for _ in range(2)] == [None, "size"]
    assert verifier.compared(Entry("third", SIZE, entry.etag), rig.file) is None


def test_keys_of_kms_leave_checksums(rig: Rig) -> None:
    entry = rig.entry(f"{32 * 'a'}-2")
    whole = base64.b64encode(hashlib.sha256(CONTENT).digest()).decode()
    secret = {"x-amz-server-side-encryption": "aws:kms"}
    rig.told.headers = secret
    assert Verifier(rig.client, "").compared(entry, rig.file) == "size"
    rig.told.headers = secret | {"x-amz-checksum-sha256": whole}
    assert Verifier(rig.client, "").compared(entry, rig.file) == "checksum"
    rig.spoil()
    assert Verifier(rig.client, "").compared(entry, rig.file) is None


@pytest.mark.parametrize(
    ("name", "checksum", "covers"),
    [
        ("crc64nvme", "UzW3GrAsS50=", "FULL_OBJECT"),
        ("crc32c", "dUNeew==", "FULL_OBJECT"),
        ("crc32c", "XgHooQ==-2", "COMPOSITE"),
    ],
)
def test_newer_checksums_of_s3_are_compared(
    rig: Rig, name: str, checksum: str, covers: str
) -> None:
    entry = rig.entry(rig.etag(8 * MIB, 4 * MIB + 7))
    told = {f"x-amz-checksum-{name}": checksum, "x-amz-checksum-type": covers}
    rig.told.headers, rig.told.parts = told | {"etag": f'"{entry.etag}"'}, [8 * MIB, 4 * MIB + 7]
    assert Verifier(rig.client, "").compared(entry, rig.file) == "checksum"
    rig.spoil()
    assert Verifier(rig.client, "").compared(entry, rig.file) is None
