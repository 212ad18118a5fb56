"""Objects that others write while a push goes on: none of them is overwritten unasked."""

import random
from urllib.parse import unquote, urlsplit

import pytest

from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.parts import PART_BYTES
from tests.bot.datasets.worker.proxy import Exchange, Spoil, proxied
from tests.bot.datasets.worker.pushes import Folder

ALONE = "Push again when nothing else writes below the target."


def is_written(exchange: Exchange, name: str) -> bool:
    """Whether a request makes an object: a small one, or a large one of its parts."""
    path, _, query = exchange.path.partition("?")
    if not unquote(urlsplit(path).path).endswith(f"/set/{name}"):
        return False
    return exchange.method == ("POST" if "uploadId" in query else "PUT")


def appears(folder: Folder, name: str, content: bytes, times: int = 1) -> Spoil:
    """Somebody writes an object just before the push does."""
    left = [times]

    def write(exchange: Exchange) -> None:
        if is_written(exchange, name) and "partNumber" not in exchange.path and left[0]:
            left[0] -= 1
            put(folder, name, content)

    return write


def put(folder: Folder, name: str, content: bytes) -> None:
    folder.lake.client.put_object(Bucket=folder.bucket, Key=f"set/{name}", Body=content)


@pytest.fixture
def full(folder: Folder, chance: random.Random) -> Folder:
    folder.write({"large": chance.randbytes(2 * PART_BYTES + 1)})
    return folder


@pytest.mark.parametrize("name", ["a/one", "large"])
def test_what_appears_meanwhile_is_kept(full: Folder, name: str) -> None:
    spoil = appears(full, name, b"theirs")
    with (
        proxied(full.lake.server.endpoint, before=spoil) as proxy,
        pytest.raises(WorkError) as failed,
    ):
        full.copy(proxy.endpoint)
    assert (failed.value.reason, failed.value.keys) == ("wrong_input", (name,))
    assert failed.value.message == (
        f"{name} is already in the store with different content (6 bytes in the store,"
        f" {len(full.files()[name])} in the folder)."
    )
    assert (full.stored()[name], full.unfinished()) == (b"theirs", [])


@pytest.mark.parametrize("name", ["a/one", "large"])
def test_what_appears_may_be_the_same(full: Folder, name: str) -> None:
    spoil = appears(full, name, full.files()[name])
    with proxied(full.lake.server.endpoint, before=spoil) as proxy:
        assert full.copy(proxy.endpoint).copied_files == 5
    assert full.stored() == full.files()


@pytest.mark.parametrize("name", ["a/one", "large"])
def test_asked_to_overwrite_it_does(full: Folder, name: str) -> None:
    spoil = appears(full, name, b"theirs")
    with proxied(full.lake.server.endpoint, before=spoil) as proxy:
        assert full.copy(proxy.endpoint, overwrite=True).copied_files == 6
    assert full.stored() == full.files()


def test_a_store_without_conditions_is_used(full: Folder) -> None:
    def refuse(exchange: Exchange) -> None:
        if "if-none-match" in exchange.asked:
            exchange.answer(501, "NotImplemented")

    with proxied(full.lake.server.endpoint, before=refuse) as proxy:
        assert full.copy(proxy.endpoint).copied_files == 6
        refused = [each for each in proxy.exchanges if "if-none-match" in each.asked]
    assert (full.stored(), full.unfinished()) == (full.files(), [])
    assert refused != []


def test_what_was_replaced_is_found_at_last(full: Folder) -> None:
    def replace(exchange: Exchange) -> None:
        if is_written(exchange, "a/one"):
            put(full, "a/one", bytes(len(full.files()["a/one"])))

    with (
        proxied(full.lake.server.endpoint, after=replace) as proxy,
        pytest.raises(WorkError) as failed,
    ):
        full.copy(proxy.endpoint)
    assert (failed.value.reason, failed.value.message, failed.value.hint) == (
        "changed",
        "a/one in the store is not what was pushed: another client has written there.",
        ALONE,
    )
