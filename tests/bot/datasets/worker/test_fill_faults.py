import os
import random
import shutil
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path
from urllib.parse import unquote

import pytest

from bot.datasets.worker.copying import PIECE_BYTES
from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.fill import Shard
from tests.bot.datasets.worker.fills import Dataset
from tests.bot.datasets.worker.proxy import Exchange, Spoil, proxied
from tests.bot.datasets.worker.workers import ROOT, command

Change = Callable[[Exchange], None]


def flip(exchange: Exchange) -> None:
    exchange.body = bytes([exchange.body[0] ^ 1]) + exchange.body[1:]


def shorten(exchange: Exchange) -> None:
    exchange.body = exchange.body[:-1]


def cut_off(exchange: Exchange) -> None:
    exchange.sent_bytes = len(exchange.body) // 2


def swap(exchange: Exchange) -> None:
    exchange.body = exchange.body[::-1][1:] + b"swapped"


def of_object(name: str, change: Change, times: int = 1000) -> Spoil:
    """Changes the answers to the first requests for an object."""
    left = [times]

    def spoil(exchange: Exchange) -> None:
        if unquote(exchange.path).endswith(f"/set/{name}") and exchange.method == "GET" and left[0]:
            left[0] -= 1
            change(exchange)

    return spoil


@pytest.mark.parametrize("change", [flip, shorten, cut_off, swap])
@pytest.mark.parametrize("engine", ["obstore", "boto3"])
def test_spoilt_object_never_ends_ready(dataset: Dataset, change: Change, engine: str) -> None:
    spoil = of_object("c/three", change)
    with proxied(dataset.lake.server.endpoint, after=spoil) as proxy:
        with pytest.raises(WorkError) as failed:
            dataset.copy(proxy.endpoint, engine=engine)
        assert dataset.files() is None
    assert failed.value.keys == ("c/three",)
    # Cut off may be the network's doing.
    assert failed.value.reason == ("store_down" if change is cut_off else "corrupt")


@pytest.mark.parametrize("change", [flip, shorten, cut_off, swap])
def test_object_spoilt_once_is_copied_again(dataset: Dataset, change: Change) -> None:
    spoil = of_object("c/three", change, times=1)
    with proxied(dataset.lake.server.endpoint, after=spoil) as proxy:
        assert dataset.copy(proxy.endpoint).is_ready
    assert dataset.files() == dataset.content


@pytest.mark.parametrize("times", [1, 1000])
def test_spoilt_piece_of_large_object_is_noticed(
    dataset: Dataset, chance: random.Random, times: int
) -> None:
    dataset.put({"large": chance.randbytes(2 * PIECE_BYTES + 9)})
    dataset.survey()
    spoil = of_object("large", flip, times)
    with proxied(dataset.lake.server.endpoint, after=spoil) as proxy:
        if times == 1:
            dataset.copy(proxy.endpoint)
            assert dataset.files() == dataset.content
            return
        with pytest.raises(
            WorkError, match="large differs in size or checksum from what the store reports"
        ):
            dataset.copy(proxy.endpoint)
    assert dataset.files() is None


def test_large_object_replaced_between_pieces_is_noticed(
    dataset: Dataset, chance: random.Random
) -> None:
    dataset.put({"large": chance.randbytes(4 * PIECE_BYTES)})
    dataset.survey()
    others, asked = chance.randbytes(4 * PIECE_BYTES), count()

    def replace(_exchange: Exchange) -> None:
        if next(asked) == 1:
            dataset.lake.put(dataset.bucket, {"large": others})

    with (
        proxied(dataset.lake.server.endpoint, before=of_object("large", replace)) as proxy,
        pytest.raises(WorkError) as failed,
    ):
        dataset.copy(proxy.endpoint)
    assert (failed.value.reason, failed.value.keys) == ("changed", ("large",))
    assert dataset.files() is None


def once_each(change: Change) -> Spoil:
    """Changes what comes of the first request for each path."""
    seen: Counter[str] = Counter()
    lock = threading.Lock()

    def spoil(exchange: Exchange) -> None:
        with lock:
            seen[exchange.path] += 1
            first = seen[exchange.path] == 1
        if first:
            change(exchange)

    return spoil


@pytest.mark.parametrize("engine", ["obstore", "boto3"])
def test_fill_bears_every_answer_lost_once(dataset: Dataset, engine: str) -> None:
    for side in ("before", "after"):
        shutil.rmtree(dataset.volume / "ready", ignore_errors=True)
        spoils = {side: once_each(Exchange.lose)}
        with proxied(dataset.lake.server.endpoint, **spoils) as proxy:
            assert dataset.copy(proxy.endpoint, engine=engine).is_ready
            paths = {exchange.path for exchange in proxy.exchanges}
        assert len(paths) == len(dataset.content) + 2
        assert dataset.files() == dataset.content


def refuse(exchange: Exchange) -> None:
    exchange.answer(403, "AccessDenied")


def test_object_nobody_may_read_is_named(dataset: Dataset) -> None:
    spoil = of_object("a/one", refuse)
    with (
        proxied(dataset.lake.server.endpoint, before=spoil) as proxy,
        pytest.raises(WorkError) as failed,
    ):
        dataset.copy(proxy.endpoint)
    assert (failed.value.reason, failed.value.keys) == ("no_access", ("a/one",))
    assert failed.value.message.startswith("The store denied reading a/one: ")


def test_store_that_goes_down_leaves_rest_for_later(dataset: Dataset) -> None:
    spoil = of_object("c/three", Exchange.lose)
    with (
        proxied(dataset.lake.server.endpoint, before=spoil) as proxy,
        pytest.raises(WorkError) as failed,
    ):
        dataset.copy(proxy.endpoint)
    assert (failed.value.reason, failed.value.exit_code) == ("store_down", 75)
    assert dataset.files() is None
    left = dataset.copy()
    assert (left.is_ready, left.copied_files) == (True, 1)
    assert dataset.files() == dataset.content


def growing(dataset: Dataset) -> Path:
    """The path of the tree that is not ready yet."""
    [name] = dataset.left_over()
    return dataset.volume / name / "tree" / "files"


def interrupted(dataset: Dataset) -> None:
    """All but one object are copied and recorded."""
    spoil = of_object("c/three", refuse)
    with proxied(dataset.lake.server.endpoint, before=spoil) as proxy, pytest.raises(WorkError):
        dataset.copy(proxy.endpoint)


def test_files_without_a_record_are_copied_again(dataset: Dataset) -> None:
    interrupted(dataset)
    for record in (growing(dataset).parent.parent / "progress").iterdir():
        os.truncate(record, 0)
    (growing(dataset) / "a" / "one").write_bytes(b"?" * 1000)
    assert dataset.copy().copied_files == len(dataset.content)
    assert dataset.files() == dataset.content


@pytest.mark.parametrize("cut", [True, False])
def test_recorded_files_that_vanished_come_again(dataset: Dataset, *, cut: bool) -> None:
    interrupted(dataset)
    path = growing(dataset) / "a" / "one"
    if cut:
        os.truncate(path, 3)
    else:
        path.unlink()
    assert dataset.copy().is_ready
    assert dataset.files() == dataset.content


def test_shards_make_one_tree_between_them(dataset: Dataset) -> None:
    results = [dataset.copy(share=Shard(shard, 3)) for shard in range(3)]
    assert [result.is_ready for result in results] == [False, False, True]
    assert sum(result.copied_files for result in results) == len(dataset.content)
    assert dataset.files() == dataset.content
    assert dataset.copy(share=Shard(0, 3)).copied_files == 0


def test_shards_that_finish_together_make_one_tree(dataset: Dataset) -> None:
    words = dataset.words("--shards", "3")
    running = [
        subprocess.Popen(
            command(*words, "--shard", str(shard)), cwd=ROOT, stdout=subprocess.DEVNULL
        )
        for shard in range(3)
    ]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    assert (dataset.files(), dataset.left_over()) == (dataset.content, [])


def test_killed_shard_holds_back_the_tree(dataset: Dataset) -> None:
    met = threading.Event()

    def never_answered(exchange: Exchange) -> None:
        if "/set/" in exchange.path:
            met.set()
            exchange.lose()

    with proxied(dataset.lake.server.endpoint, before=never_answered) as proxy:
        words = dataset.words("--shards", "2", "--patience", "100", endpoint=proxy.endpoint)
        environment = os.environ | {"JOB_COMPLETION_INDEX": "0"}  # noqa: TID251  # as the Job sets it
        with subprocess.Popen(
            command(*words), cwd=ROOT, stdout=subprocess.DEVNULL, env=environment
        ) as killed:
            assert met.wait(120)
            killed.send_signal(signal.SIGKILL)
    assert not dataset.copy(share=Shard(1, 2)).is_ready
    assert dataset.files() is None
    assert dataset.copy(share=Shard(0, 2)).is_ready
    assert dataset.files() == dataset.content


def test_end_by_sigterm_is_worth_repeating(dataset: Dataset) -> None:
    met = threading.Event()

    def never_answered(exchange: Exchange) -> None:
        met.set()
        exchange.lose()

    with proxied(dataset.lake.server.endpoint, before=never_answered) as proxy:
        words = dataset.words("--patience", "100", endpoint=proxy.endpoint)
        with subprocess.Popen(command(*words), cwd=ROOT, stdout=subprocess.DEVNULL) as ended:
            assert met.wait(120)
            ended.send_signal(signal.SIGTERM)
            assert ended.wait(60) == 75
