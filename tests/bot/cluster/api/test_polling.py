"""A store that is kept in sync by reading all objects regularly."""

from queue import Queue

from bot.cluster.api.connection import Connection
from bot.cluster.api.following import Following
from bot.cluster.api.polling import INTERVAL_SECONDS, Poll
from bot.cluster.resources import JOBS, Resource
from bot.cluster.types.objects import ClusterObject, ObjectMeta
from bot.cluster.view import Change, Kind, Store
from bot.errors import ClusterError

THINGS = Resource("example.com", ("v1",), "things", "Thing", ClusterObject, namespaced=False)


class Service:
    """A service outside Kubernetes, with things by name and version; it may fail."""

    def __init__(self) -> None:
        self.things: dict[str, str] = {}
        self.error: ClusterError | None = None

    def read(self) -> list[ClusterObject]:
        if self.error is not None:
            raise self.error
        return [
            ClusterObject(metadata=ObjectMeta(name=name, resource_version=version))
            for name, version in self.things.items()
        ]


def test_each_read_announces_what_has_changed() -> None:
    service, store = Service(), Store[ClusterObject]()
    told: list[tuple[Kind, str]] = []
    poll = Poll(
        "things",
        service.read,
        store,
        lambda kind, found: told.append((kind, found.name if found else "")),
    )
    service.things = {"a": "1", "b": "1"}
    poll.refresh()
    assert told == [("synced", "")]
    service.things = {"a": "2", "c": "1"}
    poll.refresh()
    assert told[1:] == [("modified", "a"), ("added", "c"), ("deleted", "b")]
    poll.refresh()
    assert len(told) == 4


def test_a_source_fills_the_view_of_its_cluster(connection: Connection) -> None:
    service = Service()
    service.things = {"a": "1"}
    following = Following("default", connection, {}, sources={THINGS: service.read})
    heard: Queue[Change] = Queue()
    following.on_change(heard.put)
    following.start()
    assert heard.get(timeout=30) == Change("default", THINGS, "synced")
    assert [each.name for each in following.view.all(THINGS)] == ["a"]
    assert following.view.age_seconds(THINGS) < 30
    assert [each.name for each in following.threads] == ["poll-default-things"]
    assert (following.trouble, following.watches()) == ("", [])
    following.stop()
    assert not following.threads[0].is_alive


def test_a_failing_source_keeps_what_is_known() -> None:
    service, store = Service(), Store[ClusterObject]()
    service.things = {"a": "1"}
    poll = Poll("things", service.read, store, lambda *_: None, interval_seconds=0.0)
    poll._pass()
    assert (poll.trouble, store.synced) == ("", True)
    service.error = ClusterError("The service is down.")
    poll._pass()
    assert poll.trouble == "The service is down."
    assert [each.name for each in store.all(None)] == ["a"]
    service.error = None
    poll._pass()
    assert poll.trouble == ""


def test_own_changes_are_read_at_once(connection: Connection) -> None:
    service = Service()
    following = Following("default", connection, {}, sources={THINGS: service.read})
    heard: Queue[Change] = Queue()
    following.on_change(heard.put)
    following.start()
    assert heard.get(timeout=30).kind == "synced"
    service.things = {"a": "1"}
    following.refresh(THINGS)
    following.refresh(JOBS)
    change = heard.get(timeout=INTERVAL_SECONDS / 2)
    assert (change.kind, change.object.name) == ("added", "a")
    following.stop()
