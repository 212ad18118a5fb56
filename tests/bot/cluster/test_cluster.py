"""The whole: watches behind one view, Kueue's places in the queue, rights."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bot.cluster import labels
from bot.cluster.api.connection import Connection
from bot.cluster.cluster import Cluster, following
from bot.cluster.resources import CLUSTER_QUEUES, JOBS, NODES, PODS
from bot.cluster.view import Change
from bot.errors import ClusterError
from bot.quotas.engines.opening import watched_with
from tests.bot.cluster.api.api_server import (
    PATIENCE_SECONDS,
    ApiServer,
    Asked,
    Reply,
    Wire,
    answer,
    eventually,
    listing,
    status,
    thing,
)
from tests.bot.cluster.api.watching import FAST

WATCHED = watched_with("kueue")

VISIBILITY = "/apis/visibility.kueue.x-k8s.io"
PLACES = f"{VISIBILITY}/v1beta2/clusterqueues/team-a/pendingworkloads"


@pytest.fixture
def cluster(connection: Connection) -> Cluster:
    return Cluster("default", connection, "installation-1", FAST, WATCHED)


def holding(*items: dict[str, object]) -> Reply:
    def reply(asked: Asked, wire: Wire) -> None:
        if "watch" not in asked.query:
            wire.send(200, listing(*items))
            return
        wire.begin()
        wire.hold()

    return reply


def serve_all(server: ApiServer) -> None:
    server.on("GET", "/apis/kueue.x-k8s.io", answer(200, {"versions": [{"version": "v1beta2"}]}))
    for resource in WATCHED:
        path = resource.path(resource.versions[0])
        server.on("GET", path, holding(thing(resource.plural)))


@contextmanager
def running(cluster: Cluster) -> Iterator[None]:
    cluster.start()
    try:
        yield
    finally:
        cluster.stop()


def test_everything_is_watched_into_one_view(server: ApiServer, cluster: Cluster) -> None:
    serve_all(server)
    heard: list[Change] = []
    cluster.on_change(heard.append)
    with running(cluster):
        eventually(lambda: cluster.view.synced)
        assert [each.name for each in cluster.view.all(CLUSTER_QUEUES)] == ["clusterqueues"]
        states = cluster.watches()
    assert {(each.served, each.synced, each.error) for each in states} == {(True, True, "")}
    assert all(each.age_seconds < PATIENCE_SECONDS for each in states)
    assert {(each.cluster, each.kind, each.object) for each in heard} == {
        ("default", "synced", None)
    }
    assert {each.resource for each in heard} == set(WATCHED)


def test_pods_of_runs_are_watched_apart(server: ApiServer, cluster: Cluster) -> None:
    serve_all(server)
    with running(cluster):
        eventually(lambda: cluster.view.synced)
    selectors = {(each.path, each.query.get("labelSelector")) for each in server.asked}
    pods = {selector for path, selector in selectors if path == "/api/v1/pods"}
    assert pods == {labels.RUN, f"!{labels.RUN}"}
    # Two of one name would hide one another's age and trouble.
    names = [each.resource for each in cluster.watches()]
    assert len(set(names)) == len(names) == len(WATCHED)
    assert {selector for path, selector in selectors if path == "/api/v1/nodes"} == {None}


def test_a_forbidden_resource_does_not_hold_up_others(server: ApiServer, cluster: Cluster) -> None:
    serve_all(server)
    server.on("GET", "/api/v1/nodes", answer(403, status(403, "Forbidden", "nodes is forbidden")))
    with running(cluster):
        server.wait_for(lambda: server.count("/api/v1/nodes") > 1, "a second try")
        server.wait_for(lambda: server.count("/api/v1/pods", watch="1"), "the watch of pods")
        failing = [each for each in cluster.watches() if each.error]
    assert not cluster.view.synced
    assert [(each.resource, each.error) for each in failing] == [
        ("nodes", "Watching nodes on cluster default: 403 Forbidden: nodes is forbidden."),
    ]
    assert cluster.view.age_seconds(NODES) == float("inf")
    assert [each.name for each in cluster.view.all(PODS)] == ["pods"]


def test_a_cluster_without_kueue_is_synced_too(server: ApiServer, cluster: Cluster) -> None:
    serve_all(server)
    server.on("GET", "/apis/kueue.x-k8s.io", answer(404, b"404 page not found\n"))
    with running(cluster):
        eventually(lambda: cluster.view.synced)
        absent = {each.resource for each in cluster.watches() if not each.served}
    assert absent == {
        f"{each.plural}.{each.group}" for each in WATCHED if each.group.startswith("kueue")
    }
    assert [each.name for each in cluster.view.all(JOBS)] == ["jobs"]


def test_places_in_the_queue_come_in_order(server: ApiServer, cluster: Cluster) -> None:
    def place(name: str, position: int) -> dict[str, object]:
        metadata = {"name": name, "namespace": "team-a"}
        positions = {"positionInClusterQueue": position, "positionInLocalQueue": position}
        return {"metadata": metadata, "localQueueName": "team-a", "priority": 50, **positions}

    versions = [{"version": "v1beta2"}, {"version": "v1beta1"}]
    server.on("GET", VISIBILITY, answer(200, {"versions": versions}))
    full = [place(f"w{number}", number) for number in range(1000)]
    first, second = answer(200, {"items": full}), answer(200, {"items": [place("last", 1000)]})
    server.on("GET", PLACES, first, second)
    found = cluster.pending_workloads("team-a")
    assert len(found) == 1001
    last = found[-1]
    assert (last.name, last.namespace, last.local_queue_name) == ("last", "team-a", "team-a")
    assert (last.priority, last.position_in_cluster_queue) == (50, 1000)
    assert [each.query["offset"] for each in server.requests(PLACES)] == ["0", "1000"]


def test_an_empty_queue_has_no_places(server: ApiServer, cluster: Cluster) -> None:
    server.on("GET", VISIBILITY, answer(200, {"versions": [{"version": "v1beta2"}]}))
    server.on("GET", PLACES, answer(200, {"items": None}))
    assert cluster.pending_workloads("team-a") == []


def test_places_that_are_not_served_are_not_found(cluster: Cluster, server: ApiServer) -> None:
    with pytest.raises(ClusterError) as caught:
        cluster.pending_workloads("team-a")
    assert caught.value.reason == "NotFound"
    assert server.count(VISIBILITY) == 1
    assert caught.value.message == (
        "Reading what waits in ClusterQueue team-a on cluster default: "
        "its Kueue does not serve positions in the queue."
    )


@pytest.mark.parametrize("allowed", [True, False])
def test_rights_are_asked_of_the_cluster(
    server: ApiServer, cluster: Cluster, *, allowed: bool
) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    server.on("POST", path, answer(201, {"status": {"allowed": allowed}}))
    answered = cluster.may("get", "", "pods", namespace="team-a", subresource="log")
    assert answered is allowed
    assert server.asked[0].json["spec"] == {
        "resourceAttributes": {
            "verb": "get",
            "group": "",
            "resource": "pods",
            "subresource": "log",
            "namespace": "team-a",
        }
    }


def test_stopping_what_never_started_is_quiet(cluster: Cluster) -> None:
    cluster.stop()
    assert not cluster.view.synced


def test_the_first_listener_hears_of_what_was_before(
    server: ApiServer, connection: Connection
) -> None:
    serve_all(server)
    begun = following("default", connection, WATCHED, pace=FAST)
    begun.begin()
    eventually(lambda: begun.view.synced)
    cluster = Cluster.of(begun, "installation-1")
    first, second = list[Change](), list[Change]()
    with running(cluster):
        cluster.on_change(first.append)
        eventually(lambda: {each.resource for each in first} == set(WATCHED))
        cluster.on_change(second.append)
    assert {(each.cluster, each.kind, each.object) for each in first} == {
        ("default", "synced", None)
    }
    assert len(first) == len(WATCHED)
    assert second == []
    assert [each.name for each in cluster.view.all(CLUSTER_QUEUES)] == ["clusterqueues"]
