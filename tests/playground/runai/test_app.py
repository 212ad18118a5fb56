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
