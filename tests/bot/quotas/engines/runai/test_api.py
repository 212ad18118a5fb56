"""Requests to Run:ai's REST API: tokens, pages, refusals, and answers that are lost."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from decimal import Decimal
from itertools import count
from typing import Any

import pytest

from bot.errors import ClusterError
from bot.quotas.engines.runai.api import RunaiApi
from bot.quotas.engines.runai.objects import GpuRequest, GpuShare, RequestedResources
from playground.ledger import Fault
from playground.runai.estate import CLUSTER
from tests.bot.cluster.api.api_server import Asked, Wire, serving
from tests.bot.quotas.engines.runai.plane import POOL, ControlPlane, workload

WHO = "Run:ai (cluster default)"
RIGHTS = (
    "Give the bot's service account in Run:ai an access rule for the cluster whose role may view"
    " projects, node pools and workloads, and edit projects; for `/team create` also view"
    " departments, and create and delete projects."
)

ELSEWHERE = "Check that runai.url is the address of the control plane itself."


@pytest.fixture
def api(plane: ControlPlane) -> Iterator[RunaiApi]:
    def seconds() -> float:
        return plane.moment.timestamp()

    with closing(RunaiApi("default", plane.settings(), seconds)) as made:
        yield made


def said(error: ClusterError) -> tuple[str, str, str]:
    return error.message, error.hint, error.reason


def test_a_token_serves_until_shortly_before_its_end(plane: ControlPlane, api: RunaiApi) -> None:
    api.projects()
    plane.moment += timedelta(minutes=58, seconds=50)
    api.projects()
    assert plane.asked() == ["token", "list projects", "list projects"]
    plane.moment += timedelta(seconds=20)
    api.projects()
    assert plane.asked()[3:] == ["token", "list projects"]


def test_a_revoked_token_is_replaced_once(plane: ControlPlane, api: RunaiApi) -> None:
    api.projects()
    plane.tenant.tokens.clear()
    assert [each.name for each in api.projects()] == ["team-a", "team-b"]
    assert plane.asked()[2:] == ["list projects", "token", "list projects"]
    plane.app.refuse("list projects", 401, "no")
    plane.app.refuse("list projects", 401, "the account is disabled")
    with pytest.raises(ClusterError) as refused:
        api.projects()
    assert said(refused.value) == (
        f"{WHO} refused to read projects: 401: the account is disabled.",
        "Check runai.client_id and runai.client_secret_file.",
        "Unauthorized",
    )


def test_a_wrong_secret_is_refused_without_being_shown(plane: ControlPlane, api: RunaiApi) -> None:
    plane.secret_file.write_text("guessed-secret")
    with pytest.raises(ClusterError) as refused:
        api.projects()
    assert said(refused.value) == (
        f"{WHO} refused to log in: 401: invalid client credentials.",
        "Check runai.client_id and runai.client_secret_file.",
        "Unauthorized",
    )
    plane.secret_file.write_text("not-a-real-secret")
    assert len(api.projects()) == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "the client secret cannot be read: No such file or directory."),
        (b" \n", "the file with the client secret is empty."),
        (b"\xff", "the client secret cannot be read: it is not text."),
    ],
)
def test_an_unusable_secret_file_is_named(
    plane: ControlPlane, api: RunaiApi, content: bytes | None, words: str
) -> None:
    plane.secret_file.unlink()
    if content is not None:
        plane.secret_file.write_bytes(content)
    with pytest.raises(ClusterError) as refused:
        api.projects()
    assert refused.value.message == f"{WHO}: {words}"
    assert refused.value.hint == "Check runai.client_secret_file."
    assert plane.asked() == []


def test_all_pages_of_projects_are_read(plane: ControlPlane, api: RunaiApi) -> None:
    for number in range(520):
        plane.tenant.add_project(f"more-{number}", {POOL: 0})
    assert len({each.id for each in api.projects()}) == 522
    assert plane.asked() == ["token", "list projects", "list projects"]


def test_node_pools_are_read_without_a_next_page(plane: ControlPlane, api: RunaiApi) -> None:
    for number in range(499):
        plane.tenant.add_node_pool(f"pool-{number}", ("pool", str(number)))
    assert len(api.node_pools()) == 500
    assert plane.asked() == ["token", "list nodepools", "list nodepools"]


def test_objects_of_other_clusters_are_left_out(plane: ControlPlane, api: RunaiApi) -> None:
    plane.tenant.projects["team-b"]["clusterId"] = CLUSTER.replace("7", "8")
    assert [each.name for each in api.projects()] == ["team-a"]


def test_workloads_that_wait_or_run_are_read(plane: ControlPlane, api: RunaiApi) -> None:
    ended = workload("ended", "team-a", 1, phase="Completed")
    runs = workload("runs", "team-a", 2, phase="Running", allocatedResources={"gpu": 2})
    plane.tenant.workloads = [ended, runs, workload("waits", "team-a", 0.5, phaseReason=None)]
    found = {each.name: each for each in api.workloads()}
    assert set(found) == {"runs", "waits"}
    asked = found["waits"].workload_requested_resources
    assert asked == RequestedResources(gpu=GpuRequest(request=Decimal("0.5")))


@pytest.mark.parametrize(
    ("status", "words", "expected"),
    [
        (400, "bad", ("400: bad.", "", "BadRequest")),
        (403, "not allowed", ("403: not allowed.", RIGHTS, "Forbidden")),
        (404, "", ("404.", "", "NotFound")),
        (429, "slow down", ("429: slow down.", "Retrying.", "")),
        (503, "maintenance.", ("503: maintenance.", "Retrying.", "")),
        (302, "", ("302.", ELSEWHERE, "")),
    ],
)
def test_a_refusal_says_what_to_do(
    plane: ControlPlane, api: RunaiApi, status: int, words: str, expected: tuple[str, str, str]
) -> None:
    plane.app.refuse("list projects", status, words)
    with pytest.raises(ClusterError) as refused:
        api.projects()
    message, hint, reason = expected
    assert said(refused.value) == (f"{WHO} refused to read projects: {message}", hint, reason)
    assert refused.value.status == status


def test_secrets_and_mentions_in_refusals_are_hidden(plane: ControlPlane, api: RunaiApi) -> None:
    plane.app.refuse("list projects", 400, "token xoxb-1234567890-abcdef of <!channel>")
    with pytest.raises(ClusterError) as refused:
        api.projects()
    assert "xoxb" not in refused.value.message
    assert "<!channel>" not in refused.value.message


def test_an_unreachable_control_plane_is_named(plane: ControlPlane) -> None:
    nowhere = plane.settings(url="http://127.0.0.1:9")
    with closing(RunaiApi("default", nowhere)) as api, pytest.raises(ClusterError) as refused:
        api.projects()
    assert said(refused.value) == (
        f"{WHO} does not respond: NewConnectionError.",
        "Check runai.url and runai.ca_file, and whether the bot can reach it. Retrying.",
        "Unreachable",
    )


def test_an_answer_in_drops_is_given_up_on(plane: ControlPlane) -> None:
    with serving() as slow:

        def drip(_: Asked, wire: Wire) -> None:
            wire.begin()
            for _drop in range(200):
                if slow.closing.wait(0.05):
                    return
                wire.line(b" ")
            wire.end()

        slow.on("POST", "/api/v1/token", drip)
        # Each look at the clock is 10 s after the one before.
        clock = count(step=10.0)
        api = RunaiApi("default", plane.settings(url=slow.url), lambda: next(clock))
        with closing(api), pytest.raises(ClusterError) as refused:
            api.projects()
    assert refused.value.message == f"{WHO} does not respond: TimeoutError."


def test_another_server_is_not_taken_for_run_ai(plane: ControlPlane, api: RunaiApi) -> None:
    api.projects()
    plane.tenant.projects["team-a"]["resources"] = "many"
    plane.tenant.listed_projects = lambda: [{"id": 4, "clusterId": CLUSTER}]  # type: ignore[method-assign]  # an odd tenant
    with pytest.raises(ClusterError) as refused:
        api.projects()
    assert said(refused.value) == (
        f"{WHO} returned an answer that its REST API does not have.",
        "Check that runai.url is the address of a Run:ai control plane.",
        "",
    )


def test_a_lost_answer_does_not_matter(plane: ControlPlane, api: RunaiApi) -> None:
    project, _ = api.projects()
    share = GpuShare(deserved=Decimal("6.5"), limit=Decimal(-1), over_quota_weight=Decimal(2))
    pool = plane.tenant.node_pools[POOL]["id"]
    plane.ledger.by_name["patch project"] = [Fault.LOSE_ANSWER]
    with pytest.raises(ClusterError) as lost:
        api.set_gpu(project, pool, share)
    assert lost.value.message == f"{WHO} does not respond: ProtocolError."
    assert plane.tenant.quota("team-a", POOL) == 6.5
    api.set_gpu(project, pool, share)
    assert plane.tenant.quota("team-a", POOL) == 6.5


def test_other_resources_of_a_project_stay(plane: ControlPlane, api: RunaiApi) -> None:
    before: dict[str, Any] = plane.tenant.projects["team-a"]["resources"][0]
    pool = before["nodePool"]["id"]
    api.set_gpu(api.projects()[0], pool, GpuShare(deserved=Decimal(12), limit=Decimal(16)))
    after = plane.tenant.projects["team-a"]["resources"][0]
    assert after == before | {"gpu": {"deserved": 12, "limit": 16, "overQuotaWeight": None}}


def test_a_quota_that_run_ai_refuses_is_reported(api: RunaiApi) -> None:
    project, _ = api.projects()
    with pytest.raises(ClusterError) as refused:
        api.set_gpu(project, "4", GpuShare(deserved=Decimal(12)))
    why = "400: node pool 4 does not belong to the cluster of the project."
    message = f"{WHO} refused to change the quota of project team-a: {why}"
    assert said(refused.value) == (message, "", "BadRequest")
