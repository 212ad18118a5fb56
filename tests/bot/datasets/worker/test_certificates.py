"""A store whose certificate is signed by an authority of its own."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.datasets.manifest import Entry
from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.stores.registry import connected, read_settings
from playground.seaweed import Tls, seaweed
from tests.object_stores import Lake

ONE = Entry("one", 1, "c4ca4238a0b923820dcc509a6f75849b")
OPENSSL = """
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 2 \
    -keyout ca.key -out ca.crt -subj /CN=authority -addext keyUsage=critical,keyCertSign
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 2 \
    -keyout tls.key -out tls.crt -subj /CN=store -CA ca.crt -CAkey ca.key \
    -addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE
"""


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The endpoint of a server that speaks TLS, and its authority's certificate."""
    folder = tmp_path_factory.mktemp("secure")
    subprocess.run(["sh", "-ec", OPENSSL], cwd=folder, check=True, capture_output=True)  # noqa: S607
    with seaweed(folder, Tls(folder / "tls.crt", folder / "tls.key")) as server:
        yield server.endpoint, folder / "ca.crt"


def put_and_read(lake: Lake, endpoint: str, ca_file: Path | None) -> bytes:
    """By our own requests one way, by obstore the other."""
    where = read_settings(lake.store(endpoint, ca_file=ca_file and str(ca_file)), "--source-store")
    client = connected(where, "lake", 1.0)
    try:
        client.write("", b"")
        client.write("set/one", b"1")
    finally:
        client.close()
    return bytes(memoryview(client.engine("obstore", "set/", 1).whole(ONE)))


def test_store_of_own_authority_is_trusted(lake: Lake, secure: tuple[str, Path]) -> None:
    endpoint, ca_file = secure
    assert put_and_read(lake, endpoint, ca_file) == b"1"


def test_store_of_unknown_authority_is_not_trusted(lake: Lake, secure: tuple[str, Path]) -> None:
    endpoint, _ = secure
    host = endpoint.removeprefix("https://")
    with pytest.raises(WorkError) as failed:
        put_and_read(lake, endpoint, None)
    assert failed.value.reason == "wrong_input"
    assert failed.value.message.startswith(f"The certificate of {host} is not trusted: ")
    assert failed.value.hint == "Set ca_file in the store's settings to the CA that signed it."
    unknown = connected(read_settings(lake.store(endpoint), "--source-store"), "lake", 1.0)
    with pytest.raises(WorkError, match="certificate is not trusted"):
        unknown.engine("obstore", "set/", 1).whole(ONE)
