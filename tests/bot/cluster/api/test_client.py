"""Requests in terms of resources."""

from datetime import UTC, datetime

import pytest

from bot.cluster.api.client import Client
from bot.cluster.resources import CLUSTER_QUEUES, JOBS, NODES, SECRETS
from bot.errors import ClusterError
from tests.bot.cluster.api.api_server import (
    ApiServer,
    Asked,
    Wire,
    answer,
    listing,
    status,
    thing,
)

JOB = "/apis/batch/v1/namespaces/team-a/jobs/lane"
ALL_JOBS = "/apis/batch/v1/namespaces/team-a/jobs"
KUEUE = "/apis/kueue.x-k8s.io"


def test_reads_one_object_by_name(server: ApiServer, client: Client) -> None:
    server.on("GET", JOB, answer(200, thing("lane")))
    found = client.get(JOBS, "lane", "team-a")
    assert found is not None
    assert (found.name, found.uid) == ("lane", "uid-lane")


def test_an_object_that_does_not_exist_is_none(server: ApiServer, client: Client) -> None:
    server.on("GET", JOB, answer(404, status(404, "NotFound", "not found", "lane")))
    assert client.get(JOBS, "lane", "team-a") is None


@pytest.mark.parametrize(
    "body",
    [
        b"404 page not found\n",
        status(404, "NotFound", "the server could not find the requested resource", ""),
    ],
)
def test_a_path_not_served_proves_no_absence(
    server: ApiServer, client: Client, body: object
) -> None:
    server.on("GET", JOB, answer(404, body))
    with pytest.raises(ClusterError) as caught:
        client.get(JOBS, "lane", "team-a")
    assert (caught.value.status, caught.value.reason) == (404, "NotServed")


def test_names_cannot_leave_their_place(server: ApiServer, client: Client) -> None:
    with pytest.raises(ClusterError):
        client.get(JOBS, "../../secrets?x=1", "team-a")
    assert server.asked[0].path == f"{ALL_JOBS}/..%2F..%2Fsecrets%3Fx%3D1"


def test_lists_page_by_page(server: ApiServer, client: Client) -> None:
    first = answer(200, listing(thing("a"), next_page="more"))
    server.on("GET", ALL_JOBS, first, answer(200, listing(thing("b"))))
    found = client.list(JOBS, "team-a", labels="x=y", fields="status.phase=Running")
    assert [each.name for each in found] == ["a", "b"]
    selectors = {"labelSelector": "x=y", "fieldSelector": "status.phase=Running", "limit": "500"}
    assert [each.query for each in server.asked] == [selectors, {**selectors, "continue": "more"}]


def test_a_list_overtaken_midway_is_read_whole(server: ApiServer, client: Client) -> None:
    server.on(
        "GET",
        ALL_JOBS,
        answer(200, listing(thing("a"), next_page="more")),
        answer(410, status(410, "Expired", "the continue token is too old")),
        answer(200, listing(thing("a"), thing("b"))),
    )
    assert [each.name for each in client.list(JOBS, "team-a")] == ["a", "b"]
    assert server.asked[-1].query == {}


def test_a_list_without_items_is_empty(server: ApiServer, client: Client) -> None:
    server.on("GET", "/api/v1/nodes", answer(200, {"metadata": {}, "items": None}))
    assert client.list(NODES) == []


def test_creates_with_version_and_kind(server: ApiServer, client: Client) -> None:
    server.on("POST", ALL_JOBS, answer(201, thing("lane")))
    body = {"metadata": {"name": "lane"}, "spec": {"suspend": True}}
    assert client.create(JOBS, body, "team-a").uid == "uid-lane"
    asked = server.asked[0]
    assert asked.json == {"apiVersion": "batch/v1", "kind": "Job", **body}
    assert asked.query == {"fieldManager": "quartermaster"}
    assert asked.headers["Content-Type"] == "application/json"


def test_a_name_that_is_taken_is_said(server: ApiServer, client: Client) -> None:
    said = 'jobs.batch "lane" already exists'
    server.on("POST", ALL_JOBS, answer(409, status(409, "AlreadyExists", said)))
    with pytest.raises(ClusterError) as caught:
        client.create(JOBS, {"metadata": {"name": "lane"}}, "team-a")
    error = caught.value
    assert (error.status, error.reason) == (409, "AlreadyExists")
    assert error.message == (
        "Creating Job lane in namespace team-a on cluster default: "
        '409 AlreadyExists: jobs.batch "lane" already exists.'
    )


_LONG = "Runs of this cluster name the code that they run, so that others can find it again"
_WEBHOOK = f'admission webhook "code.example.com" denied the request: {_LONG}'
_POLICY = "ValidatingAdmissionPolicy 'name-the-code'"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (_WEBHOOK, _WEBHOOK),
        (
            f"{_POLICY} with binding 'name-the-code-in-teams' denied request: {_LONG}",
            f"{_POLICY} denied request: {_LONG}",
        ),
    ],
)
def test_policies_are_quoted_without_their_preface(
    said: str, told: str, server: ApiServer, client: Client
) -> None:
    said = f'jobs.batch "lane" is forbidden: {said}'
    server.on("POST", ALL_JOBS, answer(422, status(422, "Invalid", said)))
    with pytest.raises(ClusterError) as caught:
        client.create(JOBS, {"metadata": {"name": "lane"}}, "team-a")
    doing = "Creating Job lane in namespace team-a on cluster default"
    assert caught.value.message == f"{doing}: 422 Invalid: {told}."


def test_patches_say_which_kind_they_are(server: ApiServer, client: Client) -> None:
    server.on("PATCH", JOB, answer(200, thing("lane")))
    operations = [{"op": "test", "path": "/spec/suspend", "value": True}]
    client.patch_json(JOBS, "lane", operations, "team-a")
    client.patch_merge(JOBS, "lane", {"spec": {"suspend": None}}, "team-a")
    assert [(each.headers["Content-Type"], each.json) for each in server.asked] == [
        ("application/json-patch+json", operations),
        ("application/merge-patch+json", {"spec": {"suspend": None}}),
    ]


def test_deletes_in_the_background_with_its_uid(server: ApiServer, client: Client) -> None:
    server.on("DELETE", JOB, answer(200, {"kind": "Status", "status": "Success"}))
    assert client.delete(JOBS, "lane", "team-a", uid="u1")
    assert server.asked[0].json == {
        "propagationPolicy": "Background",
        "preconditions": {"uid": "u1"},
    }


def test_deleting_what_is_gone_is_false(server: ApiServer, client: Client) -> None:
    server.on("DELETE", JOB, answer(404, status(404, "NotFound", "gone", "lane")))
    assert not client.delete(JOBS, "lane", "team-a")


def test_deleting_another_of_that_name_is_false(server: ApiServer, client: Client) -> None:
    server.on("DELETE", JOB, answer(409, status(409, "Conflict", "Precondition failed: UID")))
    server.on("GET", JOB, answer(200, thing("lane")))
    assert not client.delete(JOBS, "lane", "team-a", uid="u1")


def test_a_conflict_over_the_same_object_is_raised(server: ApiServer, client: Client) -> None:
    server.on("DELETE", JOB, answer(409, status(409, "Conflict", "try again")))
    server.on("GET", JOB, answer(200, thing("lane")))
    with pytest.raises(ClusterError) as caught:
        client.delete(JOBS, "lane", "team-a", uid="uid-lane")
    assert caught.value.reason == "Conflict"


def test_secrets_are_asked_for_without_their_data(server: ApiServer, client: Client) -> None:
    path = "/api/v1/namespaces/team-a/secrets"
    server.on("GET", path, answer(200, listing(thing("wandb"))))
    server.on("GET", f"{path}/wandb", answer(200, thing("wandb")))
    client.list(SECRETS, "team-a")
    client.get(SECRETS, "wandb", "team-a")
    assert [each.headers["Accept"] for each in server.asked] == [
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    ]


def test_logs_are_text_even_when_broken(server: ApiServer, client: Client) -> None:
    path = "/api/v1/namespaces/team-a/pods/lane-x/log"
    server.on("GET", path, answer(200, "epoch 1 ✓\n".encode() + b"\xff\n"))
    lines = client.logs("lane-x", "team-a", container="main", tail_lines=2, previous=True)
    assert lines == ["epoch 1 ✓", "�"]
    assert server.asked[0].query == {
        "tailLines": "3",
        "container": "main",
        "previous": "true",
    }


@pytest.mark.parametrize(
    ("served", "path"),
    [
        (["v1beta1"], "v1beta1"),
        (["v1beta2", "v1beta1"], "v1beta2"),
        (["v1beta1", "v1beta2", "v1alpha1"], "v1beta2"),
    ],
)
def test_speaks_the_newest_version_served(
    server: ApiServer, client: Client, served: list[str], path: str
) -> None:
    versions = [{"version": each} for each in served]
    server.on("GET", KUEUE, answer(200, {"versions": versions}))
    server.on("GET", f"{KUEUE}/{path}/clusterqueues", answer(200, listing(thing("team-a"))))
    assert [each.name for each in client.list(CLUSTER_QUEUES)] == ["team-a"]
    assert client.served("kueue.x-k8s.io") == served
    assert server.count(KUEUE) == 1


def test_versions_are_looked_up_anew_after_a_failure(server: ApiServer, client: Client) -> None:
    old = {"versions": [{"version": "v1beta1"}]}
    new = {"versions": [{"version": "v1beta2"}]}
    server.on("GET", KUEUE, answer(200, old), answer(200, new))
    server.on("GET", f"{KUEUE}/v1beta2/clusterqueues/team-a", answer(200, thing("team-a")))
    with pytest.raises(ClusterError) as caught:
        client.get(CLUSTER_QUEUES, "team-a")
    assert caught.value.reason == "NotServed"
    assert client.get(CLUSTER_QUEUES, "team-a") is not None


def test_a_cluster_without_kueue_says_so(client: Client) -> None:
    with pytest.raises(ClusterError) as caught:
        client.list(CLUSTER_QUEUES)
    assert caught.value.reason == "NotServed"
    assert caught.value.message == (
        "Cluster default does not serve clusterqueues.kueue.x-k8s.io in version v1beta2 or"
        " v1beta1: "
        "it does not serve that group."
    )
    assert client.served("kueue.x-k8s.io") == []


def test_the_servers_time_comes_from_its_date(server: ApiServer, client: Client) -> None:
    def dated(_: Asked, wire: Wire) -> None:
        wire.raw(
            b"HTTP/1.1 200 OK\r\nDate: Sat, 21 Nov 2026 05:44:25 GMT\r\nContent-Length: 2\r\n\r\n{}"
        )

    server.on("GET", "/version", dated)
    assert client.server_time() == datetime(2026, 11, 21, 5, 44, 25, tzinfo=UTC)


def test_an_answer_that_is_no_object_is_unreadable(server: ApiServer, client: Client) -> None:
    server.on("GET", JOB, answer(200, {"metadata": {"name": 7}}))
    with pytest.raises(ClusterError) as caught:
        client.get(JOBS, "lane", "team-a")
    assert caught.value.reason == "Unreadable"
    assert caught.value.message == (
        "Reading Job lane in namespace team-a on cluster default: cannot decode the server's"
        " response (Expected `str`, got `int` - at `$.metadata.name`)."
    )
