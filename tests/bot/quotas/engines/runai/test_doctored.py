"""What the doctor finds at Run:ai: the login, the cluster, and the teams' projects."""

from pathlib import Path
from typing import Any

import pytest

from bot.config import ClusterSettings, Team
from bot.errors import ClusterError
from bot.findings import Finding
from bot.quotas.engines.runai.doctor_checks import check_service
from tests.bot.quotas.engines.runai.plane import POOL, ControlPlane
from tests.bot.quotas.engines.runai.seeing import cluster_of

NOT_THERE = "11111111-ba66-4822-adf5-55ce55efd210"


def found(plane: ControlPlane, folder: Path, project: str = "team-a", **more: Any) -> list[Finding]:
    """The findings for a team with that project, in namespace team-a."""
    team = Team.model_validate({"namespace": "team-a", "queue": project})
    settings = ClusterSettings(engine="runai", runai=plane.settings(**more))
    return list(check_service({"team-a": team}, cluster_of(folder), settings, "cluster default"))


def test_a_usable_project_is_fine(plane: ControlPlane, tmp_path: Path) -> None:
    assert found(plane, tmp_path) == [
        Finding(
            "cluster default control plane",
            "ok",
            "the login works; the cluster is gpu-cluster 2.24.11 in Run:ai",
        ),
        Finding("cluster default team-a", "ok", "project team-a has a quota of 4 GPUs"),
    ]
    assert plane.asked() == [
        "token",
        "get cluster",
        "list projects",
        "list nodepools",
        "list workloads",
        "list workloads",
    ]


def test_a_wrong_cluster_id_is_found(plane: ControlPlane, tmp_path: Path) -> None:
    control_plane, team = found(plane, tmp_path, cluster_id=NOT_THERE)
    assert control_plane == Finding(
        "cluster default control plane",
        "failed",
        "the login works, but Run:ai has no cluster with runai.cluster_id",
        "Copy the cluster's UUID from Clusters in Run:ai.",
    )
    assert team.says == "project team-a is missing in Run:ai"


def test_a_refused_login_ends_the_checks(plane: ControlPlane, tmp_path: Path) -> None:
    plane.tenant.secret = "another"  # noqa: S105  # of the playground
    with pytest.raises(ClusterError) as refused:
        found(plane, tmp_path)
    assert refused.value.hint == "Check runai.client_id and runai.client_secret_file."


@pytest.mark.parametrize(
    ("project", "state", "says", "remedy"),
    [
        (
            "gone",
            "failed",
            "project gone is missing in Run:ai",
            "Create it in Run:ai, or set teams.team-a.queue.",
        ),
        (
            "team-b",
            "failed",
            "project team-b has namespace team-b, not team-a",
            "Set teams.team-a.namespace: team-b",
        ),
        ("new", "warning", "project new is Creating", "See Projects in Run:ai."),
        (
            "bare",
            "warning",
            "project bare has no GPU quota, so all its GPUs can be reclaimed",
            "Give it a quota in Run:ai, unless this is intended.",
        ),
    ],
)
def test_an_unusable_project_is_found(
    plane: ControlPlane, tmp_path: Path, project: str, state: str, says: str, remedy: str
) -> None:
    plane.tenant.add_project("new", {POOL: 2}, namespace="team-a")
    plane.tenant.projects["new"]["phase"] = "Creating"
    plane.tenant.is_slow = True
    plane.tenant.add_project("bare", {POOL: 0}, namespace="team-a")
    assert found(plane, tmp_path, project)[1:] == [
        Finding("cluster default team-a", state, says, remedy)  # type: ignore[arg-type]  # a state
    ]
