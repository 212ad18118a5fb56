"""A watch lists, follows, resumes where it was, and ends when told."""

from bot.cluster.api.connection import Connection
from bot.cluster.api.watch import Pace
from bot.cluster.resources import WORKLOADS
from tests.bot.cluster.api.api_server import (
    PATIENCE_SECONDS,
    ApiServer,
    Asked,
    Wire,
    answer,
    listing,
    thing,
)
from tests.bot.cluster.api.watching import (
    PATH,
    Watched,
    bookmark,
    events,
    jobs,
    lists_of,
    positions,
    watching,
)


def test_lists_then_follows_changes(server: ApiServer, connection: Connection) -> None:
    stream = events(
        ("ADDED", thing("b", "11")),
        ("MODIFIED", thing("a", "12")),
        ("DELETED", thing("b", "13")),
    )
    jobs(server, [answer(200, listing(thing("a", "9")))], [stream])
    with watching(connection) as watched:
        watched.notes.wait_for(("synced", ""), ("added", "b"), ("modified", "a"), ("deleted", "b"))
        assert watched.names() == ["a"]
    first = server.requests(PATH, watch="1")[0]
    assert first.query == {
        "watch": "1",
        "resourceVersion": "10",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "60",
    }


def test_resumes_from_the_last_bookmark(server: ApiServer, connection: Connection) -> None:
    cut = events(("ADDED", thing("b", "11")), bookmark("40"), then="cut")
    jobs(server, [answer(200, listing(version="10"))], [cut, events()])
    with watching(connection):
        server.wait_for(lambda: len(positions(server)) == 2, "a second watch")
    assert positions(server) == ["10", "40"]
    assert lists_of(server) == 1


def test_an_ordered_end_resumes_without_listing(server: ApiServer, connection: Connection) -> None:
    ended = events(bookmark("11"), then="end")
    jobs(server, [answer(200, listing())], [ended, events()])
    with watching(connection):
        server.wait_for(lambda: len(positions(server)) == 2, "a second watch")
    assert positions(server) == ["10", "11"]


def test_an_object_already_known_is_not_announced(
    server: ApiServer, connection: Connection
) -> None:
    stream = events(("ADDED", thing("a", "9")), ("ADDED", thing("b", "11")))
    jobs(server, [answer(200, listing(thing("a", "9")))], [stream])
    with watching(connection) as watched:
        watched.notes.wait_for(("synced", ""), ("added", "b"))


def test_an_unserved_group_is_quiet_until_it_comes(
    server: ApiServer, connection: Connection
) -> None:
    group = "/apis/kueue.x-k8s.io"
    with watching(connection, WORKLOADS) as watched:
        server.wait_for(lambda: server.count(group) >= 2, "a second look")
        state = watched.watch.state()
        assert (state.served, state.synced) == (False, False)
        server.on("GET", group, answer(200, {"versions": [{"version": "v1beta1"}]}))
        path = f"{group}/v1beta1/workloads"

        def reply(asked: Asked, wire: Wire) -> None:
            found = events() if "watch" in asked.query else answer(200, listing(thing("w")))
            found(asked, wire)

        server.on("GET", path, reply)
        watched.notes.wait_for(("synced", ""))
        state = watched.watch.state()
    assert (state.served, state.synced, state.error) == (True, True, "")


def test_stopping_cuts_a_silent_watch_at_once(server: ApiServer, connection: Connection) -> None:
    jobs(server, [answer(200, listing())], [events()])
    patient = Pace(silence=PATIENCE_SECONDS * 2)
    watched = Watched(connection, pace=patient)
    watched.watch.start()
    server.wait_for(lambda: positions(server), "a watch")
    watched.watch.stop()
    watched.watch.join(PATIENCE_SECONDS)
    assert not watched.watch.running
