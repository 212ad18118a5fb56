"""All of a log, within bounds: what is read, what is held, and how long it takes."""

import tracemalloc
from collections.abc import Callable, Iterable
from functools import partial

import pytest

from bot.cluster.api.client import Client, LogSource
from bot.cluster.api.connection import CHUNK_BYTES
from bot.cluster.api.whole_log import Lines, read_whole
from bot.errors import ClusterError
from tests.bot.cluster.api.api_server import ApiServer, Asked, Wire

LOG = "/api/v1/namespaces/team-a/pods/lane-x/log"
SOURCE = LogSource("lane-x", "team-a", "main")
RECORD = 16 * 1024
MEGABYTE = 1_000_000
STATE = "\r 12%|█         | 12/100 [00:01<00:08, loss=1.879]".encode()
TRACEBACK = b"\r100%|\xe2\x96\x88| 100/100\nTraceback\nKeyError: '\xc3\xa9t\xc3\xa9'\n"


def saying(*texts: bytes) -> Callable[[Asked, Wire], None]:
    """Answers with all of these records of a log's file, or the last ones."""

    def reply(asked: Asked, wire: Wire) -> None:
        wire.begin()
        for text in texts[-int(asked.query.get("tailLines", len(texts))) :]:
            wire.line(text)
        wire.end()

    return reply


def taken(chunks: Iterable[bytes]) -> tuple[list[str], int]:
    """The lines, and the bytes that were held at most for them."""
    tracemalloc.start()
    lines = Lines()
    for chunk in chunks:
        lines.take(chunk)
    found = lines.end()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found, most


def pieces(of: bytes, megabytes: int) -> Iterable[bytes]:
    """The same again and again, cut where a network cuts: also within characters."""
    text = of * (2 * CHUNK_BYTES // len(of) + 1)
    at = 0
    for _ in range(megabytes * MEGABYTE // CHUNK_BYTES):
        at %= len(of)
        yield text[at : at + CHUNK_BYTES]
        at += CHUNK_BYTES


def test_fifty_megabytes_of_bars_are_one_line() -> None:
    found, most = taken([*pieces(STATE, 50), TRACEBACK])
    assert found == ["100%|█| 100/100", "Traceback", "KeyError: 'été'"]
    assert most < 3 * MEGABYTE


def test_megabytes_of_lines_keep_the_newest() -> None:
    line = b"2026-11-21 12:01:07 epoch 1/3 step 400/400 loss 1.394 images/sec: 804.3\n"
    found, most = taken([*pieces(line, 16), b"\nthe end\n"])
    assert (found[-1], found[0]) == ("the end", line.decode().rstrip())
    assert 7_900_000 < sum(len(each) + 1 for each in found) <= 8_000_000
    assert most < 60 * MEGABYTE


def test_one_line_of_fifty_megabytes_keeps_its_beginning() -> None:
    found, most = taken([b"it begins ", *pieces("wörd ".encode(), 50)])
    assert (len(found), found[0][:14], "\ufffd" in found[0]) == (1, "it begins wörd", False)
    assert (54_000 < len(found[0]) < 65_536, most < 3 * MEGABYTE) == (True, True)


def test_empty_lines_by_the_million_are_bounded() -> None:
    found, most = taken([b"\n" * 300_000])
    assert (len(found), most < 60 * MEGABYTE) == (200_000, True)


def test_whole_logs_are_asked_for_at_once(server: ApiServer, client: Client) -> None:
    server.on("GET", LOG, saying(b"step 1\n", b"step 2\n", b"step 3"))
    whole = client.whole_log(SOURCE)
    assert (whole.lines, whole.is_cut) == (["step 1", "step 2", "step 3"], False)
    assert [dict(each.query) for each in server.asked] == [{"container": "main"}]


def test_too_much_to_read_keeps_the_end(server: ApiServer, client: Client) -> None:
    parts = [(STATE * 400)[:RECORD] for _ in range(40)]
    server.on("GET", LOG, saying(b"first\n", *parts, b"\r100%|##|\n", b"the end\n"))
    read = partial(read_whole, client._connection, client._log_request(SOURCE))
    whole = read(20 * RECORD)
    assert (whole.lines, whole.is_cut) == (["100%|##|", "the end"], True)
    assert [each.query.get("tailLines") for each in server.asked] == [None, "19"]


def test_a_torn_beginning_is_left_out(server: ApiServer, client: Client) -> None:
    parts = [b"hf_" + b"a" * (RECORD - 3)] * 40
    server.on("GET", LOG, saying(*parts, b"aaaa\n", b"the end\n"))
    read = partial(read_whole, client._connection, client._log_request(SOURCE))
    assert read(20 * RECORD).lines == ["the end"]


def test_a_line_beyond_all_bounds_is_refused(server: ApiServer, client: Client) -> None:
    server.on("GET", LOG, saying(*[b"a" * RECORD] * 70))
    with pytest.raises(ClusterError) as caught:
        read_whole(client._connection, client._log_request(SOURCE), 64 * RECORD)
    assert caught.value.reason == "TooLong"
    assert caught.value.message.endswith("its last line is longer than 1 MB.")
