"""The lines of a log since a time, and the times of lines."""

from collections.abc import Callable
from functools import partial

import pytest

from bot.cluster.api.client import Client, LogSource
from bot.cluster.api.log_since import MOST_LINES
from bot.cluster.api.log_stamps import moment_of, read_stamp
from bot.cluster.api.log_tail import Limits
from bot.errors import ClusterError
from tests.bot.cluster.api.api_server import ApiServer, Asked, Wire, answer, status

LOG = "/api/v1/namespaces/team-a/pods/lane-x/log"
SOURCE = LogSource("lane-x", "team-a", "main")
BEGAN = 1_795_773_600_000_000_000
STAMPS = [f"2026-11-27T10:00:0{second}.000000500Z " for second in range(6)]


def answers(*texts: str) -> Callable[[Asked, Wire], None]:
    def reply(_: Asked, wire: Wire) -> None:
        wire.begin()
        for text in texts:
            wire.line(text.encode())
        wire.end()

    return reply


@pytest.mark.parametrize(
    ("line", "stamp", "rest"),
    [
        ("2026-11-27T10:00:00Z a", BEGAN, "a"),
        ("2026-11-27T10:00:00.1Z a b", BEGAN + 100_000_000, "a b"),
        ("2026-11-27T12:00:00.000000001+02:00 a", BEGAN + 1, "a"),
        ("2026-11-27T10:00:00Z ", BEGAN, ""),
        ("2026-11-27 10:00:00 a", None, "2026-11-27 10:00:00 a"),
        ("2026-13-47T10:00:00Z a", None, "2026-13-47T10:00:00Z a"),
        ("", None, ""),
    ],
)
def test_times_before_lines_are_read_exactly(line: str, stamp: int | None, rest: str) -> None:
    assert read_stamp(line) == (stamp, rest)
    assert stamp is None or f"{moment_of(stamp):%Y-%m-%dT%H:%M:%S}" == "2026-11-27T10:00:00"


def test_wanted_lines_since_a_time_are_read(server: ApiServer, client: Client) -> None:
    said = [f"{stamp}step {number}\n" for number, stamp in enumerate(STAMPS)]
    said.insert(4, f"{STAMPS[3]}bar 1%\rstep bar 2%\n")
    server.on("GET", LOG, answers(*said, f"{STAMPS[5]}step of which the end is not writ"))
    since = BEGAN + 1_000_000_500
    found = client.lines_since(SOURCE, since, lambda line: "3" in line or "bar" in line)
    assert found.lines == [
        (since, "step 1"),
        (since + 2_000_000_000, "step 3"),
        (since + 2_000_000_000, "step bar 2%"),
    ]
    assert not found.is_cut
    (asked,) = server.asked
    assert dict(asked.query) == {
        "container": "main",
        "timestamps": "true",
        "limitBytes": "33554432",
        "sinceTime": "2026-11-27T10:00:01Z",
    }


def test_a_line_too_long_is_passed_over(server: ApiServer, client: Client) -> None:
    long = f"{STAMPS[1]}{'x' * 200_000}\n"
    server.on("GET", LOG, answers(f"{STAMPS[0]}a\n", long, f"{STAMPS[2]}b\n"))
    found = client.lines_since(SOURCE, None, lambda _: True)
    assert [line for _, line in found.lines] == ["a", "b"]
    assert "sinceTime" not in server.asked[0].query


def test_a_log_that_is_gone_is_refused(server: ApiServer, client: Client) -> None:
    removed = "unable to retrieve container logs for containerd://0c82c320e1621fe4431aee5ef13"
    server.on("GET", LOG, answers(removed))
    assert client.lines_since(SOURCE, None, lambda _: True).lines == []
    server.on("GET", LOG, answer(400, status(400, "BadRequest", "not started")))
    with pytest.raises(ClusterError) as caught:
        client.lines_since(SOURCE, None, lambda _: True)
    assert caught.value.reason == "BadRequest"


def test_a_tail_has_the_times_of_lines(server: ApiServer, client: Client) -> None:
    server.on("GET", LOG, answers(f"{STAMPS[0]}a 1%\ra 2%\n", f"{STAMPS[1]}\n", f"{STAMPS[2]}b"))
    read = partial(client.last_lines, SOURCE, 20)
    found = read(Limits(stamps=True))
    assert found.lines == ["a 2%", "", "b"]
    assert found.stamps == [BEGAN + 500, BEGAN + 1_000_000_500, BEGAN + 2_000_000_500]
    assert found.is_open
    assert read(Limits()).stamps == []


def test_half_a_secret_is_left_out(server: ApiServer, client: Client) -> None:
    torn = f"{STAMPS[0]}{'a' * 16_384}bcdef and more\n"
    server.on("GET", LOG, answers(torn))
    found = client.last_lines(SOURCE, 1, Limits(stamps=True))
    assert found.lines == ["and more"]
    assert found.stamps == [None]


def test_only_so_many_lines_are_read(server: ApiServer, client: Client) -> None:
    said = "".join(f"{STAMPS[0]}step {number}\n" for number in range(MOST_LINES + 10))
    server.on("GET", LOG, answers(said))
    found = client.lines_since(SOURCE, None, lambda _: True)
    assert (len(found.lines), found.is_full, found.is_cut) == (MOST_LINES, True, False)
