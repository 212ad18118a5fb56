"""Run:ai in the playground refuses what its documentation does not have."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from playground.runai.estate import CLIENT, CLUSTER, SECRET
from tests.bot.quotas.engines.runai.plane import POOL, ControlPlane

PROJECTS = "/api/v1/org-unit/projects"
LOGIN = {"grantType": "client_credentials", "clientID": CLIENT, "clientSecret": SECRET}
RESOURCES = f"{PROJECTS}/4530101/resources"
POOL_ID = {"id": "100001"}


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ControlPlane]:
    served = ControlPlane(tmp_path)
    yield served
    served.close()


def ask(
    plane: ControlPlane, method: str, path: str, body: Any = None, token: str = ""
) -> tuple[int, Any]:
    """The status and the body of its answer."""
    headers = {"Content-Type": "application/json"}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(plane.url + path, content, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def token_of(plane: ControlPlane) -> str:
    return str(ask(plane, "POST", "/api/v1/token", LOGIN)[1]["accessToken"])


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (LOGIN | {"clientSecret": "guessed"}, 401, "invalid client credentials"),
        (
            LOGIN | {"grantType": "password"},
            400,
            "body.grantType must be one of client_credentials",
        ),
        (LOGIN | {"scope": "all"}, 400, "body.scope is unknown"),
        ({"grantType": "client_credentials"}, 400, "body.clientID is required"),
    ],
)
def test_only_the_right_credentials_get_a_token(
    plane: ControlPlane, body: Any, status: int, message: str
) -> None:
    refusal = {"code": status, "message": message}
    assert ask(plane, "POST", "/api/v1/token", body) == (status, refusal)


def test_a_token_is_needed_and_expires(plane: ControlPlane) -> None:
    assert ask(plane, "GET", PROJECTS)[0] == 401
    assert ask(plane, "GET", PROJECTS, token="guessed")[0] == 401  # noqa: S106  # no secret
    token = token_of(plane)
    assert ask(plane, "GET", PROJECTS, token=token)[0] == 200
    plane.moment += timedelta(hours=1, seconds=1)
    assert ask(plane, "GET", PROJECTS, token=token)[0] == 401


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        (f"{PROJECTS}?limit=501", 400, "limit must be a number from 1 to 500"),
        (f"{PROJECTS}?limit=0", 400, "limit must be a number from 1 to 500"),
        (f"{PROJECTS}?offset=-1", 400, "offset must be a number from 0 to 1000000000"),
        (f"{PROJECTS}?pageSize=5", 400, "parameter pageSize is unknown"),
        (f"{PROJECTS}?filterBy=quota==4", 400, "filterBy quota==4 is not a condition on projects"),
        ("/api/v1/clusters/c1", 404, "cluster c1 was not found"),
        (
            f"/api/v1/clusters/{CLUSTER}?verbosity=all",
            400,
            "verbosity must be one of full, metadata",
        ),
        ("/api/v1/quotas", 404, "there is no such path and method"),
    ],
)
def test_reads_are_as_documented(plane: ControlPlane, path: str, status: int, message: str) -> None:
    refusal = {"code": status, "message": message}
    assert ask(plane, "GET", path, token=token_of(plane)) == (status, refusal)


def test_pages_and_conditions_choose_projects(plane: ControlPlane) -> None:
    token = token_of(plane)
    first = ask(plane, "GET", f"{PROJECTS}?limit=1&filterBy=clusterId=={CLUSTER}", token=token)[1]
    assert ([each["name"] for each in first["projects"]], first["next"]) == (["team-a"], 1)
    last = ask(plane, "GET", f"{PROJECTS}?limit=1&offset=1", token=token)[1]
    assert ([each["name"] for each in last["projects"]], "next" in last) == (["team-b"], False)
    both = f"{PROJECTS}?filterBy=clusterId=={CLUSTER},name==team-b"
    assert [each["id"] for each in ask(plane, "GET", both, token=token)[1]["projects"]] == [
        "4530102"
    ]


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        (f"{PROJECTS}/7/resources", [{"nodePool": POOL_ID}], 404, "project 7 was not found"),
        (RESOURCES, {"gpu": {}}, 400, "the body must be a list of resources"),
        (RESOURCES, [{"gpu": {"deserved": 4}}], 400, "resources[0].nodePool is required"),
        (
            RESOURCES,
            [{"nodePool": POOL_ID, "gpu": {"quota": 4}}],
            400,
            "resources[0].gpu.quota is unknown",
        ),
        (
            RESOURCES,
            [{"nodePool": POOL_ID, "gpu": {"deserved": -4}}],
            400,
            "resources[0].gpu.deserved must be a number of at least 0",
        ),
        (
            RESOURCES,
            [{"nodePool": POOL_ID, "gpu": {"deserved": 4, "limit": 2}}],
            400,
            "gpu.limit must not be less than gpu.deserved",
        ),
    ],
)
def test_a_wrong_quota_changes_nothing(
    plane: ControlPlane, path: str, body: Any, status: int, message: str
) -> None:
    refusal = {"code": status, "message": message}
    assert ask(plane, "PATCH", path, body, token_of(plane)) == (status, refusal)
    assert plane.tenant.quota("team-a", POOL) == 4


def test_a_patch_changes_the_named_attributes_only(plane: ControlPlane) -> None:
    body = [{"nodePool": POOL_ID, "gpu": {"deserved": 6}}]
    status, answer = ask(plane, "PATCH", RESOURCES, body, token_of(plane))
    assert (status, answer[0]["gpu"]) == (200, {"deserved": 6, "limit": -1, "overQuotaWeight": 2})


NEW: dict[str, Any] = {
    "name": "vision",
    "clusterId": CLUSTER,
    "resources": [{"nodePool": POOL_ID, "gpu": {"deserved": 8, "limit": -1}}],
}


@pytest.mark.parametrize(
    ("more", "status", "message"),
    [
        ({"name": "team-a"}, 409, "project team-a already exists"),
        (
            {"name": "7vision"},
            400,
            "body.name must begin with a letter and have only a-z, 0-9 and -",
        ),
        ({"clusterId": "c1"}, 400, "cluster c1 is unknown"),
        ({"parentId": "7"}, 400, "department 7 is unknown"),
        ({"departmentId": "7"}, 400, "body.departmentId is unknown"),
        ({"requestedNamespace": "team-a"}, 400, "namespace team-a belongs to another project"),
        (
            {"requestedNamespace": "runai-lab"},
            400,
            "namespace runai-lab belongs to another project",
        ),
        ({"defaultNodePools": ["a100"]}, 400, "node pools are unknown: a100"),
        ({"resources": []}, 400, "body.resources must be a list of resources"),
        (
            {"resources": [{"nodePool": {"id": "7"}}]},
            400,
            "node pool 7 does not belong to the cluster of the project",
        ),
        (
            {"resources": [{"nodePool": POOL_ID, "gpu": {"deserved": 60}}]},
            400,
            (
                "department default has a quota of 64 GPUs in node pool h100, and its projects"
                " would have 72"
            ),
        ),
    ],
)
def test_a_wrong_project_is_not_created(
    plane: ControlPlane, more: Any, status: int, message: str
) -> None:
    plane.tenant.add_project("lab", {POOL: 0})
    refusal = {"code": status, "message": message}
    assert ask(plane, "POST", PROJECTS, NEW | more, token_of(plane)) == (status, refusal)
    assert list(plane.tenant.projects) == ["team-a", "team-b", "lab"]


def test_a_quota_beyond_the_departments_is_refused(plane: ControlPlane) -> None:
    body = [{"nodePool": POOL_ID, "gpu": {"deserved": 57}}]
    assert ask(plane, "PATCH", RESOURCES, body, token_of(plane)) == (
        400,
        {
            "code": 400,
            "message": (
                "department default has a quota of 64 GPUs in node pool h100, and its projects"
                " would have 65"
            ),
        },
    )
    assert plane.tenant.quota("team-a", POOL) == 4


def test_a_project_is_created_and_then_ready(plane: ControlPlane) -> None:
    token = token_of(plane)
    status, created = ask(plane, "POST", PROJECTS, NEW | {"description": "ours"}, token)
    assert (status, created["status"]["phase"]) == (201, "Creating")
    assert (created["description"], created["parent"]["name"]) == ("ours", "default")
    (found,) = ask(plane, "GET", f"{PROJECTS}?filterBy=name==vision", token=token)[1]["projects"]
    assert (found["id"], found["status"]["phase"], found["status"]["namespace"]) == (
        created["id"], "Ready", "runai-vision"
    )  # fmt: skip


def test_a_deleted_project_is_gone_later(plane: ControlPlane) -> None:
    token = token_of(plane)
    path = f"{PROJECTS}/{plane.tenant.projects['team-a']['id']}"
    plane.tenant.is_slow = True
    accepted = {"code": 202, "message": "the project is being deleted"}
    assert ask(plane, "DELETE", path, token=token) == (202, accepted)
    first = ask(plane, "GET", PROJECTS, token=token)[1]["projects"][0]
    assert (first["name"], first["status"]["phase"]) == ("team-a", "Deleting")
    plane.tenant.is_slow = False
    left = ask(plane, "GET", PROJECTS, token=token)[1]["projects"]
    assert [each["name"] for each in left] == ["team-b"]
    assert ask(plane, "DELETE", path, token=token)[0] == 404


def test_departments_have_quotas_of_their_own(plane: ControlPlane) -> None:
    plane.tenant.add_department("research", 16)
    path = f"/api/v1/org-unit/departments?filterBy=clusterId=={CLUSTER}"
    status, answer = ask(plane, "GET", path, token=token_of(plane))
    found = {
        each["name"]: [share["gpu"]["deserved"] for share in each["resources"]]
        for each in answer["departments"]
    }
    assert (status, found) == (200, {"default": [64], "research": [16]})
