import random
import signal
import subprocess
import threading
from urllib.parse import unquote, urlsplit

import pytest

from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.parts import PART_BYTES
from tests.bot.datasets.worker.proxy import Exchange, Spoil, proxied
from tests.bot.datasets.worker.pushes import Folder
from tests.bot.datasets.worker.test_fill_faults import Change, once_each, refuse
from tests.bot.datasets.worker.workers import ROOT, command


def of_put(name: str, change: Change, times: int = 1000) -> Spoil:
    """Changes what comes of the first requests that store an object, or a part of it."""
    left = [times]

    def spoil(exchange: Exchange) -> None:
        path = unquote(urlsplit(exchange.path).path)
        if path.endswith(f"/set/{name}") and exchange.method == "PUT" and left[0]:
            left[0] -= 1
            change(exchange)

    return spoil


def another_etag(exchange: Exchange) -> None:
    exchange.headers = {**exchange.headers, "ETag": f'"{"0" * 32}"'}


@pytest.mark.parametrize(
    ("side", "methods"),
    [
        ("before", {"GET", "HEAD", "POST", "PUT"}),
        ("after", {"DELETE", "GET", "HEAD", "POST", "PUT"}),
    ],
)
def test_push_bears_every_answer_lost_once(
    folder: Folder, chance: random.Random, side: str, methods: set[str]
) -> None:
    folder.write({"large": chance.randbytes(2 * PART_BYTES + 1)})
    with proxied(folder.lake.server.endpoint, **{side: once_each(Exchange.lose)}) as proxy:
        assert folder.copy(proxy.endpoint).files == 6
        asked = {exchange.method for exchange in proxy.exchanges}
    assert asked == methods
    assert folder.stored() == folder.files()


@pytest.mark.parametrize(("name", "method"), [("a/one", "PUT"), ("large", "POST")])
def test_object_stored_unheard_is_found_again(
    folder: Folder, chance: random.Random, name: str, method: str
) -> None:
    folder.write({"large": chance.randbytes(PART_BYTES + 1)})
    left = [3]

    def unheard(exchange: Exchange) -> None:
        if f"/set/{name}" in exchange.path and exchange.method == method and left[0]:
            left[0] -= 1
            exchange.lose()

    with proxied(folder.lake.server.endpoint, after=unheard) as proxy:
        assert folder.copy(proxy.endpoint).files == 6
    assert (folder.stored(), folder.unfinished()) == (folder.files(), [])


def test_object_that_arrives_otherwise_is_corrupt(folder: Folder) -> None:
    with (
        proxied(folder.lake.server.endpoint, after=of_put("a/one", another_etag)) as proxy,
        pytest.raises(WorkError) as failed,
    ):
        folder.copy(proxy.endpoint)
    assert (failed.value.reason, failed.value.keys) == ("corrupt", ("a/one",))
    assert failed.value.message == (
        "The store reports a different checksum for a/one than the file has."
    )
    assert "a/one" not in folder.stored()


def test_object_that_once_differed_goes_again(folder: Folder) -> None:
    spoil = of_put("a/one", another_etag, times=1)
    with proxied(folder.lake.server.endpoint, after=spoil) as proxy:
        assert folder.copy(proxy.endpoint).copied_files == 5
    assert folder.stored() == folder.files()


def test_file_written_while_it_is_pushed_fails(folder: Folder) -> None:
    def write(_exchange: Exchange) -> None:
        folder.write({"a/one": b"2" * 1000})

    with (
        proxied(folder.lake.server.endpoint, before=of_put("a/one", write)) as proxy,
        pytest.raises(WorkError) as failed,
    ):
        folder.copy(proxy.endpoint)
    assert (failed.value.reason, failed.value.keys) == ("changed", ("a/one",))
    assert failed.value.message == "a/one changed while it was pushed."
    assert failed.value.hint == "Push when nothing writes there, or push a snapshot."
    assert "a/one" not in folder.stored()


def test_object_that_vanishes_at_once_is_missed(folder: Folder) -> None:
    def remove(_exchange: Exchange) -> None:
        folder.lake.client.delete_object(Bucket=folder.bucket, Key="set/c/three")

    with (
        proxied(folder.lake.server.endpoint, after=of_put("c/three", remove)) as proxy,
        pytest.raises(WorkError, match="c/three in the store is not what was pushed"),
    ):
        folder.copy(proxy.endpoint)


def test_target_nobody_may_write_is_named(folder: Folder) -> None:
    with (
        proxied(folder.lake.server.endpoint, before=of_put("a/one", refuse)) as proxy,
        pytest.raises(WorkError) as failed,
    ):
        folder.copy(proxy.endpoint)
    assert (failed.value.reason, failed.value.keys) == ("no_access", ("a/one",))
    assert failed.value.message.startswith("The store denied writing a/one: ")


def test_store_that_takes_no_more_is_down(folder: Folder) -> None:
    with (
        proxied(folder.lake.server.endpoint, before=of_put("c/three", Exchange.lose)) as proxy,
        pytest.raises(WorkError) as failed,
    ):
        folder.copy(proxy.endpoint)
    assert (failed.value.reason, failed.value.exit_code) == ("store_down", 75)
    assert folder.copy().files == 5
    assert folder.stored() == folder.files()


def test_parts_of_killed_push_are_freed(folder: Folder, chance: random.Random) -> None:
    folder.write({"large": chance.randbytes(3 * PART_BYTES)})
    met = threading.Event()

    def third_part(exchange: Exchange) -> None:
        if "partNumber=3" in exchange.path:
            met.set()
            exchange.lose()

    with proxied(folder.lake.server.endpoint, before=third_part) as proxy:
        words = folder.words("--patience", "100", endpoint=proxy.endpoint)
        with subprocess.Popen(command(*words), cwd=ROOT, stdout=subprocess.DEVNULL) as killed:
            assert met.wait(120)
            killed.send_signal(signal.SIGKILL)
    assert folder.unfinished() == ["set/large"]
    folder.copy()
    assert folder.unfinished() == []
    assert folder.stored() == folder.files()
