"""The end of a log, however it is written."""

from collections.abc import Callable
from functools import partial

import pytest

from bot.cluster.api.client import Client, LogSource
from bot.cluster.api.log_tail import Limits, lines_of
from bot.errors import ClusterError
from tests.bot.cluster.api.api_server import ApiServer, Asked, Wire

LOG = "/api/v1/namespaces/team-a/pods/lane-x/log"
SOURCE = LogSource("lane-x", "team-a", "main")
RECORD = 16 * 1024


def records(*texts: bytes) -> Callable[[Asked, Wire], None]:
    """Answers with the last of these entries of the log's file, as a kubelet does."""

    def reply(asked: Asked, wire: Wire) -> None:
        wire.begin()
        for text in texts[-int(asked.query.get("tailLines", len(texts))) :]:
            wire.line(text)
        wire.end()

    return reply


def bar(megabytes: int) -> list[bytes]:
    """A progress bar as containerd keeps it: parts of a line that never ends."""
    state = b"\r 12%|#         | 12/100 [00:01<00:08, loss=1.879]"
    return [(state * 400)[:RECORD] for _ in range(megabytes * 64)]


def test_the_end_of_a_long_log_is_kept(server: ApiServer, client: Client) -> None:
    server.on("GET", LOG, records(*bar(2), b"\r100%|##| 100/100\n", b"Traceback\n", b"KeyError\n"))
    lines = client.logs("lane-x", "team-a", container="main", tail_lines=200)
    assert lines == ["100%|##| 100/100", "Traceback", "KeyError"]
    assert [dict(each.query) for each in server.asked] == [
        {"container": "main", "tailLines": "201"},
        {"container": "main", "tailLines": "63"},
    ]


def test_lines_of_usual_length_are_asked_for_once(server: ApiServer, client: Client) -> None:
    server.on("GET", LOG, records(*(b"step %d\n" % each for each in range(300))))
    lines = client.logs("lane-x", "team-a", container="main", tail_lines=200)
    assert (lines[0], lines[-1], len(lines)) == ("step 100", "step 299", 200)
    assert len(server.asked) == 1


# What a kubelet answers, as the log itself, once the runtime has removed the container.
REMOVED = b"unable to retrieve container logs for containerd://0c82c320e1621fe4431aee5ef13ac8e6532"


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_removed_containers_log_is_no_line(server: ApiServer, client: Client, end: bytes) -> None:
    server.on("GET", LOG, records(REMOVED + end))
    for read in (
        partial(client.last_lines, SOURCE, 20, Limits()),
        partial(client.whole_log, SOURCE),
    ):
        with pytest.raises(ClusterError) as caught:
            read()
        assert (caught.value.message, caught.value.reason) == (
            (
                "Reading the log of Pod lane-x in namespace team-a on cluster default: its node no"
                " longer has it."
            ),
            "NotFound",
        )


def test_a_program_may_say_that_of_another_one(server: ApiServer, client: Client) -> None:
    server.on("GET", LOG, records(b"step 1\n", REMOVED + b"\n"))
    assert client.last_lines(SOURCE, 20, Limits()).lines == ["step 1", REMOVED.decode()]


def test_a_line_that_is_too_long_is_refused(server: ApiServer, client: Client) -> None:
    server.on("GET", LOG, records(b"x" * 3_000_000 + b"\n"))
    with pytest.raises(ClusterError) as caught:
        client.logs("lane-x", "team-a", container="main", tail_lines=9, read_bytes=1_000_000)
    assert caught.value.message == (
        "Reading the log of Pod lane-x in namespace team-a on cluster default: "
        "its last line is longer than 1 MB."
    )


def test_a_line_that_is_long_keeps_its_end(server: ApiServer, client: Client) -> None:
    server.on("GET", LOG, records(b"word " * 400_000 + b"the end\n"))
    (line,) = client.logs("lane-x", "team-a", container="main", tail_lines=9, read_bytes=4_000_000)
    assert line.startswith("word word")
    assert line.endswith("word the end")
    assert len(line) < 262_144


def test_a_torn_first_word_is_left_out(server: ApiServer, client: Client) -> None:
    parts = [b"hf_" + b"a" * (RECORD - 3), b"bcdef and more\n"]
    server.on("GET", LOG, records(*parts))
    lines = client.logs("lane-x", "team-a", container="main", tail_lines=1)
    assert lines == ["and more"]
    server.on("GET", LOG, records(*parts, *bar(1)))
    lines = client.logs("lane-x", "team-a", container="main", tail_lines=65)
    assert not [each for each in lines if "aaaa" in each]


def test_a_log_that_drips_is_given_up(server: ApiServer, hasty_client: Client) -> None:
    def drip(_: Asked, wire: Wire) -> None:
        wire.begin()
        wire.line(b"step 1\n")
        wire.hold()

    server.on("GET", LOG, drip)
    with pytest.raises(ClusterError) as caught:
        hasty_client.logs("lane-x", "team-a", container="main", tail_lines=9)
    assert caught.value.reason == "Timeout"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("one\ntwo\n", ["one", "two"]),
        ("windows\r\nlines\r\n", ["windows", "lines"]),
        ("\r  0%|  | 0/9\r 11%|# | 1/9\r100%|##| 9/9\ndone\n", ["100%|##| 9/9", "done"]),
        ("\r 11%|# | 1/9\r\x1b[K\n", [" 11%|# | 1/9"]),
        ("\x1b[1;31mERROR\x1b[0m lost\n", ["ERROR lost"]),
        ("\x1b]8;;https://x.example\x07link\x1b]8;;\x07\n", ["link"]),
        ("1/9 [=>...]\b\b\b\b\b\b\b\b\b\b\b2/9 [==>..]\n", ["2/9 [==>..]"]),
        ("a\u2028b\x0cc\n", ["a\u2028bc"]),
        ("  indented\n\n\tand a gap", ["  indented", "", "\tand a gap"]),
        ("one\n\ntwo\n\n", ["one", "", "two", ""]),
        ("step 1\r step 2 loss=1.34\r step 3 loss=1.", [" step 2 loss=1.34"]),
        ("step 1\r step 2 loss=1.34\r step 3 loss=1.33", [" step 3 loss=1.33"]),
        ("", []),
    ],
)
def test_lines_are_as_a_terminal_shows_them(text: str, lines: list[str]) -> None:
    assert lines_of(text) == lines


def log_of(*texts: bytes) -> Callable[[Asked, Wire], None]:
    """Answers also with the first bytes of all of it, as a kubelet does."""

    def reply(asked: Asked, wire: Wire) -> None:
        if "limitBytes" not in asked.query:
            records(*texts)(asked, wire)
            return
        wire.begin()
        wire.line(b"".join(texts)[: int(asked.query["limitBytes"])])
        wire.end()

    return reply


def test_lines_left_out_are_told(server: ApiServer, client: Client) -> None:
    server.on("GET", LOG, log_of(*(b"%d " % each + b"x" * 9_000 + b"\n" for each in range(90))))
    read = partial(client.last_lines, SOURCE)
    many = read(80, Limits(2_000_000, 300_000))
    assert (len(many.lines), many.lines[-1][:3], many.is_cut) == (33, "89 ", True)
    few = read(20, Limits(2_000_000, 300_000))
    assert (len(few.lines), few.is_cut) == (20, False)


def test_all_of_a_log_has_its_first_line(server: ApiServer, client: Client) -> None:
    lines = [b"%d " % each + b"x" * 900 + b"\n" for each in range(90)]
    server.on("GET", LOG, log_of(*lines))
    read = partial(client.last_lines, SOURCE, 500)
    whole = read(Limits(2_000_000, 1_000_000, asks_again=True))
    assert (len(whole.lines), whole.lines[0][:2], whole.is_cut) == (90, "0 ", False)
    doubted = read(Limits(2_000_000, 1_000_000))
    assert (len(doubted.lines), doubted.lines[0][:2], doubted.is_cut) == (89, "1 ", True)


def test_asking_again_leaves_torn_words_out(server: ApiServer, client: Client) -> None:
    parts = [b"hf_" + b"a" * (RECORD - 3), *[b"b" * RECORD] * 3, b"c and more\n"]
    server.on("GET", LOG, log_of(*parts))
    read = partial(client.last_lines, SOURCE)
    found = read(3, Limits(2_000_000, 1_000_000, asks_again=True))
    assert found.lines == ["and more"]


def test_a_long_line_without_a_gap_is_said(server: ApiServer, client: Client) -> None:
    server.on("GET", LOG, log_of(*(b"%08d" % each * (RECORD // 8) for each in range(320))))
    with pytest.raises(ClusterError) as caught:
        client.last_lines(SOURCE, 50, Limits(16_000_000, 1_000_000, asks_again=True))
    assert caught.value.message.endswith(
        "its last line is too long and has no whitespace at which it could be cut."
    )
    (line,) = client.whole_log(SOURCE).lines
    assert (line[:16], len(line)) == ("00000000" * 2, 65_536)


def test_a_cut_character_is_left_out(server: ApiServer, client: Client) -> None:
    server.on("GET", LOG, records(b"one\n", b"caf\xc3\xa9 \xe2\x96"))
    assert client.logs("lane-x", "team-a", container="main", tail_lines=9) == ["one", "café"]
