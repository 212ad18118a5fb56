"""A watch goes on when its stream is cut, old, silent, garbage or refused."""

from dataclasses import replace

import pytest

from bot.cluster.api.connection import Connection
from tests.bot.cluster.api.api_server import ApiServer, answer, listing, status, thing
from tests.bot.cluster.api.watching import (
    FAST,
    PATH,
    bookmark,
    events,
    jobs,
    lists_of,
    positions,
    watching,
)


@pytest.mark.parametrize("in_stream", [True, False])
def test_an_expired_place_lists_anew_and_tells_differences(
    server: ApiServer, connection: Connection, *, in_stream: bool
) -> None:
    expired = status(410, "Expired", "too old resource version")
    gone = events(("ERROR", expired)) if in_stream else answer(410, expired)
    before = listing(thing("kept", "1"), thing("changed", "2"), thing("vanished", "3"))
    after = listing(thing("kept", "1"), thing("changed", "20"), thing("new", "21"), version="30")
    jobs(server, [answer(200, before), answer(200, after)], [gone, events()])
    with watching(connection) as watched:
        watched.notes.wait_for(
            ("synced", ""),
            ("modified", "changed"),
            ("added", "new"),
            ("deleted", "vanished"),
            ("synced", ""),
        )
        server.wait_for(lambda: len(positions(server)) == 2, "a second watch")
    assert positions(server) == ["10", "30"]


def test_silence_reconnects_from_the_same_place(server: ApiServer, connection: Connection) -> None:
    jobs(server, [answer(200, listing())], [events(bookmark("17"))])
    with watching(connection, pace=replace(FAST, silence=0.4)):
        server.wait_for(lambda: "17" in positions(server), "a watch from there")
    assert positions(server)[0] == "10"
    assert lists_of(server) == 1


def test_a_watch_that_never_begins_is_given_up(server: ApiServer, hasty: Connection) -> None:
    jobs(server, [answer(200, listing())], [lambda _, wire: wire.hold(), events()])
    with watching(hasty):
        server.wait_for(lambda: len(positions(server)) >= 2, "a second watch")
    assert positions(server)[:2] == ["10", "10"]


def test_garbage_in_the_stream_lists_anew(server: ApiServer, connection: Connection) -> None:
    jobs(server, [answer(200, listing())], [events(b'{"type": nonsense\n'), events()])
    with watching(connection) as watched:
        watched.notes.wait_for(("synced", ""), ("synced", ""))
    assert lists_of(server) == 2


def test_half_a_line_is_not_an_event(server: ApiServer, connection: Connection) -> None:
    half = events(("ADDED", thing("b", "11")), b'{"type": "ADDED", "obj', then="cut")
    jobs(server, [answer(200, listing())], [half, events()])
    with watching(connection) as watched:
        server.wait_for(lambda: len(positions(server)) == 2, "a second watch")
        assert watched.names() == ["b"]
    assert positions(server) == ["10", "11"]


def test_a_forbidden_list_is_reported_and_tried_again(
    server: ApiServer, connection: Connection
) -> None:
    forbidden = status(403, "Forbidden", 'jobs.batch is forbidden: User "qm" cannot list')
    jobs(server, [answer(403, forbidden)], [events()])
    with watching(connection) as watched:
        server.wait_for(lambda: lists_of(server) >= 3, "a third try")
        state = watched.watch.state()
    assert (state.resource, state.served, state.synced) == ("jobs.batch", True, False)
    assert state.age_seconds == float("inf")
    assert state.error == (
        'Watching jobs: 403 Forbidden: jobs.batch is forbidden: User "qm" cannot list.'
    )


def test_recovery_clears_the_error(server: ApiServer, connection: Connection) -> None:
    refused = answer(500, status(500, "InternalError", "etcd"))
    jobs(server, [refused, refused, answer(200, listing(thing("a")))], [events()])
    with watching(connection) as watched:
        watched.notes.wait_for(("synced", ""))
        assert watched.watch.state().error == ""
        assert watched.names() == ["a"]


def test_an_overloaded_server_gets_the_pause_it_wants(
    server: ApiServer, connection: Connection
) -> None:
    slow_down = answer(429, status(429, "TooManyRequests", "later"), {"Retry-After": "1"})
    jobs(server, [slow_down, answer(200, listing())], [events()])
    with watching(connection) as watched:
        watched.notes.wait_for(("synced", ""))
    first, second = (each.at for each in server.requests(PATH) if "watch" not in each.query)
    assert second - first >= 1


def test_a_place_that_keeps_failing_is_given_up(server: ApiServer, connection: Connection) -> None:
    too_large = answer(504, status(504, "Timeout", "Too large resource version"))
    jobs(server, [answer(200, listing())], [too_large])
    with watching(connection):
        server.wait_for(lambda: lists_of(server) == 2, "a second list")
    assert len(positions(server)) >= 3


def test_watches_ended_at_once_are_asked_anew_slowly(
    server: ApiServer, connection: Connection
) -> None:
    jobs(server, [answer(200, listing())], [events(then="end")])
    with watching(connection):
        server.wait_for(lambda: len(positions(server)) >= 40, "many watches")
    moments = [each.at for each in server.requests(PATH, watch="1")]
    # Forty pauses of up to 50 ms come to about a second.
    assert moments[39] - moments[0] > 0.4


def test_a_broken_listener_does_not_end_the_watch(
    server: ApiServer, connection: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs(server, [answer(200, listing())], [events(("ADDED", thing("b", "11"))), events()])
    with watching(connection, breaks_on="added") as watched:
        watched.notes.wait_for(("synced", ""), ("added", "b"))
        server.wait_for(lambda: len(positions(server)) == 2, "a second watch")
        assert watched.names() == ["b"]
    assert "a broken listener" in capsys.readouterr().out
