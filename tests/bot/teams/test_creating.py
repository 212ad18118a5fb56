"""Teams that are created: dry run, approval, then one object at a time, never another's."""

from typing import Any

import pytest

from bot.approvals import Verdict
from bot.audit import lines_about
from bot.errors import UserError
from bot.teams.tables import ChangePhase
from playground.cluster.objects.errors import ApiError
from playground.ledger import Fault
from tests.bot.ground import CAROL, INSTALLATION, TEAM_A
from tests.bot.teams.teaming import VISION, OnKai, OnNone, Teaming, labels_of
from tests.databases import ON_BOTH

TRIALS = ["create namespaces", "create clusterqueues"]
CREATES = [
    "create namespaces",
    "create rolebindings",
    "create clusterqueues",
    "create localqueues",
]
OURS = {
    "app.kubernetes.io/managed-by": "quartermaster",
    "quartermaster.dev/installation": INSTALLATION,
    "quartermaster.dev/team": "vision",
}


def refusal(rig: Teaming, team: str = "vision", **asked: Any) -> tuple[str, str]:
    with pytest.raises(UserError) as caught:
        rig.create(team, **asked)
    return caught.value.message, caught.value.hint


def test_dry_run_shows_what_would_be_created(teaming: Teaming) -> None:
    row_id = teaming.create(above="gpus", channel=VISION, members=("U0ALICE", "S0GROUP"))
    teaming.pass_time(seconds=10)
    assert teaming.card(row_id) == [
        "⏳ Create team vision · Waiting for approval",
        "Waiting for 1 approval until 2026-11-22 12:00 UTC.",
        "@U0ERIN can decide.",
        "Cluster default",
        "Namespace `vision`",
        "Queue `vision`",
        "Quota 8 GPUs of h100, in gpus",
        "Channel #C0VISION",
        "Members Alice, user group S0GROUP",
        "Leads none",
        "Requested by Carol in #C0APPROVE",
        "Object Check",
        "Namespace vision accepted by a dry run",
        "RoleBinding vision/quartermaster-team allowed; no dry run before its namespace exists",
        "ClusterQueue vision accepted by a dry run",
        "LocalQueue vision/vision allowed; no dry run before its namespace exists",
        "[Approve] [Deny] [Withdraw]",
    ]
    assert teaming.effects() == TRIALS
    assert "vision" not in teaming.names("namespaces") + teaming.names("clusterqueues")


def test_approved_team_is_created_and_known(teaming: Teaming) -> None:
    row_id = teaming.created(above="gpus", channel=VISION, members=("U0ALICE",))
    assert teaming.effects() == TRIALS + CREATES
    assert teaming.notes(row_id) == {
        "ended": f"<@{CAROL}> Team vision is created. Its commands work within 10 seconds."
    }
    team = teaming.settings().teams["vision"]
    assert (team.namespace, team.queue, team.channels) == ("vision", "vision", (VISION,))
    assert team.members.people == ("U0ALICE",)
    told = teaming.do(lambda session: lines_about(session, row_id))
    assert [(each.verb, each.person) for each in told] == [
        ("team.create", CAROL), ("approval.approve", "U0ERIN"), ("team.create_ended", None),
    ]  # fmt: skip


def test_objects_on_kueue_have_our_labels(teaming: Teaming) -> None:
    teaming.created(gpus=12, above="gpus", queue="vision-gpus")
    binding = teaming.found("rolebindings", "quartermaster-team", "vision")
    assert binding["roleRef"]["name"] == "quartermaster-team"
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "namespace": "quartermaster", "name": "quartermaster"}
    ]
    queue = teaming.found("clusterqueues", "vision-gpus")
    spec = queue["spec"]
    assert spec["cohortName"] == "gpus"
    assert spec["preemption"]["reclaimWithinCohort"] == "Any"
    assert spec["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": "vision"}}
    (flavor,) = spec["resourceGroups"][0]["flavors"]
    assert {each["name"]: each["nominalQuota"] for each in flavor["resources"]} == {
        "cpu": "9000", "memory": "36000Gi", "nvidia.com/gpu": "12",
    }  # fmt: skip
    local = teaming.found("localqueues", "vision-gpus", "vision")
    assert local["spec"]["clusterQueue"] == "vision-gpus"
    for each in (teaming.found("namespaces"), binding, queue, local):
        assert OURS.items() <= labels_of(each).items()


def test_queue_on_kai_is_below_its_parent(on_kai: OnKai) -> None:
    row_id = on_kai.created(gpus=6)
    assert on_kai.row(row_id).phase == ChangePhase.DONE
    queue = on_kai.found("queues")
    assert OURS.items() <= labels_of(queue).items()
    assert queue["spec"]["parentQueue"] == "research"
    assert queue["spec"]["resources"] == {
        "cpu": {"quota": -1, "limit": -1, "overQuotaWeight": 1},
        "memory": {"quota": -1, "limit": -1, "overQuotaWeight": 1},
        "gpu": {"quota": 6, "limit": -1, "overQuotaWeight": 6},
    }
    assert on_kai.effects()[2:] == ["create namespaces", "create rolebindings", "create queues"]


def test_unknown_parent_on_kai_is_refused(on_kai: OnKai) -> None:
    assert refusal(on_kai, gpus=6, above="team-a") == (
        "There is no parent Queue team-a in this cluster.", "There is: research.",
    )  # fmt: skip


def test_without_an_engine_the_namespace_is_limited(on_none: OnNone) -> None:
    row_id = on_none.created(gpus=4)
    assert on_none.row(row_id).phase == ChangePhase.DONE
    assert "Quota 4 GPUs" in on_none.card(row_id)
    limit = on_none.found("resourcequotas", "vision", "vision")
    assert limit["spec"]["hard"] == {"requests.nvidia.com/gpu": "4"}
    assert refusal(on_none, "speech", gpus=4, above="gpus") == (
        "`--cohort` has no meaning in a cluster without a quota engine.",
        "Leave it out: a ResourceQuota limits the GPUs of the namespace, of any type.",
    )


@pytest.mark.parametrize("verb", CREATES)
@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_lost_answer_creates_each_object_once(teaming: Teaming, verb: str, fault: Fault) -> None:
    row_id = teaming.create()
    teaming.pass_time(seconds=10)
    teaming.decides(row_id)
    teaming.outside.ledger.by_name[verb] = [fault]
    teaming.pass_time(minutes=2)
    assert teaming.row(row_id).phase == ChangePhase.DONE
    assert "vision" in teaming.settings().teams
    assert teaming.names("localqueues", "vision") == ["vision"]


@ON_BOTH
def test_every_step_of_it_outlives_restarts(teaming: Teaming) -> None:
    row_id = teaming.create()
    for step in range(12):
        teaming.restart()
        teaming.pass_time(seconds=2)
        if step == 3:
            teaming.decides(row_id)
    assert teaming.row(row_id).phase == ChangePhase.DONE
    assert teaming.effects() == TRIALS + CREATES


def test_what_exists_without_our_labels_stays(teaming: Teaming) -> None:
    teaming.world.create("namespaces", {"metadata": {"name": "vision"}})
    row_id = teaming.create()
    teaming.pass_time(seconds=10)
    assert teaming.card(row_id)[:3] == [
        "❌ Create team vision · Failed",
        (
            "Namespace vision already exists, and was not created by Quartermaster for this team."
            " Nothing was changed."
        ),
        (
            "Choose other names with `--namespace` and `--queue`, or add the team to"
            " quartermaster.yaml, which may use what exists."
        ),
    ]
    assert labels_of(teaming.found("namespaces")) == {"kubernetes.io/metadata.name": "vision"}


def test_what_appears_after_the_approval_stays(teaming: Teaming) -> None:
    row_id = teaming.create()
    teaming.pass_time(seconds=10)
    queue = teaming.found("clusterqueues", "team-a")
    teaming.world.create("clusterqueues", {"metadata": {"name": "vision"}, "spec": queue["spec"]})
    teaming.decides(row_id)
    teaming.pass_time(seconds=30)
    row = teaming.row(row_id)
    assert (row.phase, "vision" in teaming.settings().teams) == (ChangePhase.FAILED, False)
    assert row.reason == (
        "ClusterQueue vision already exists, and was not created by Quartermaster for this team."
    )


def test_request_after_a_failure_uses_what_is_there(teaming: Teaming) -> None:
    allow = teaming.deny("clusterqueues")
    row_id = teaming.create()
    teaming.pass_time(seconds=10)
    assert teaming.row(row_id).phase == ChangePhase.FAILED
    allow()
    row_id = teaming.create()
    teaming.pass_time(seconds=10)
    allow = teaming.deny("clusterqueues")
    teaming.decides(row_id)
    teaming.pass_time(seconds=30)
    failed = teaming.row(row_id)
    assert failed.reason.endswith(
        "Created so far: Namespace vision, RoleBinding vision/quartermaster-team."
    )
    allow()
    row_id = teaming.create()
    teaming.pass_time(seconds=10)
    assert "Namespace vision exists already, created by Quartermaster" in teaming.card(row_id)
    teaming.decides(row_id)
    teaming.pass_time(seconds=30)
    assert teaming.row(row_id).phase == ChangePhase.DONE


@pytest.mark.parametrize("other", [{"gpus": 4}, {"above": "gpus"}, {"namespace": "vision-2"}])
def test_request_that_differs_from_what_is_there_ends(teaming: Teaming, other: Any) -> None:
    teaming.fails("localqueues")
    row_id = teaming.create(**other)
    teaming.pass_time(seconds=10)
    assert teaming.card(row_id)[:3] == [
        "❌ Create team vision · Failed",
        (
            "ClusterQueue vision exists already, created by Quartermaster for a request with other"
            " values. Nothing was changed."
        ),
        "Request it again with the values of that request, or delete ClusterQueue vision first.",
    ]
    row_id = teaming.created()
    assert teaming.row(row_id).phase == ChangePhase.DONE


def test_missing_rights_are_named_before_the_approval(teaming: Teaming) -> None:
    teaming.world.app.access.forbidden.add(("bind", "clusterroles"))
    teaming.world.app.access.forbidden.add(("create", "localqueues"))
    row_id = teaming.create()
    teaming.pass_time(seconds=10)
    assert teaming.card(row_id)[1:3] == [
        (
            "The bot lacks rights in cluster default: bind ClusterRole quartermaster-team, create"
            " localqueues. Nothing was changed."
        ),
        (
            "With `team_creation` in its configuration, the Helm chart grants them: upgrade the"
            " release, or apply deploy/kubernetes/team-creation."
        ),
    ]


SECURITY = "pod-security.kubernetes.io"


@pytest.mark.parametrize(
    ("creation", "level"),
    [
        ({}, "baseline"),
        ({"pod_security": "restricted"}, "restricted"),
        ({"pod_security": "privileged"}, "privileged"),
    ],
)
def test_namespace_refuses_pods_that_reach_nodes(
    teaming: Teaming, creation: Any, level: str
) -> None:
    teaming.policy = teaming.told(team_creation=creation)
    teaming.created()
    found = labels_of(teaming.found("namespaces"))
    levels = {key: value for key, value in found.items() if key.startswith(SECURITY)}
    assert levels == {f"{SECURITY}/enforce": level, f"{SECURITY}/warn": level}
    bare = {"hostNetwork": True, "containers": [{"name": "main", "image": "busybox"}]}
    pod = {"metadata": {"name": "grab"}, "spec": bare}
    if level == "privileged":
        teaming.world.create("pods", pod, "vision")
    else:
        with pytest.raises(ApiError, match=f'violates PodSecurity "{level}:latest"'):
            teaming.world.create("pods", pod, "vision")


def test_entry_that_comes_meanwhile_opens_no_namespace(teaming: Teaming) -> None:
    """Neither who requests nor who approves is shown the level."""
    in_file = {name: team.model_dump() for name, team in teaming.policy.teams.items()}
    opening = {"host_network": ["sync"], "privileged": ["nccl"]}
    vision = {"namespace": "vision", "queue": "vision", "admission": opening}
    row_id = teaming.create()
    teaming.policy = teaming.told(teams={**in_file, "vision": vision})
    teaming.pass_time(seconds=10)
    teaming.decides(row_id)
    teaming.pass_time(seconds=30)
    assert labels_of(teaming.found("namespaces"))[f"{SECURITY}/enforce"] == "baseline"


def test_denied_team_is_not_created(teaming: Teaming) -> None:
    row_id = teaming.create()
    teaming.pass_time(seconds=10)
    teaming.decides(row_id, Verdict.DENY)
    teaming.pass_time(seconds=10)
    assert teaming.notes(row_id) == {
        "ended": f"<@{CAROL}> The request to create team vision was denied. Nothing was changed."
    }
    assert teaming.effects() == TRIALS


def test_requests_that_cannot_work_are_refused(teaming: Teaming) -> None:
    assert refusal(teaming, "team-a") == (
        "There is already a team team-a.",
        "`/team show team-a` shows it. `/team set team-a --gpus N` changes its quota.",
    )
    assert refusal(teaming, namespace="team-a") == (
        "Namespace team-a belongs to team team-a.", "Choose another one with `--namespace`.",
    )  # fmt: skip
    assert refusal(teaming, above="gpu") == (
        "There is no cohort gpu in this cluster.", "There is: gpus.",
    )  # fmt: skip
    assert refusal(teaming, gpu_type="a100") == (
        "There is no ResourceFlavor a100 in this cluster.", "There is: h100.",
    )  # fmt: skip
    assert refusal(teaming, channel=TEAM_A) == (
        (
            "Team vision does not fit the settings: C0TEAMA already belongs to team-a; a channel"
            " belongs to one team."
        ),
        "Change that, for example the channel or the namespace.",
    )
    teaming.create()
    assert refusal(teaming) == (
        f"<@{CAROL}> already requested to create team vision.",
        "Its card in <#C0APPROVE> shows the progress.",
    )


def test_without_the_section_it_is_off(teaming: Teaming) -> None:
    teaming.policy = teaming.told(team_creation=None)
    assert refusal(teaming) == (
        "Creating and removing teams from Slack is switched off.",
        (
            "A platform admin can add `team_creation: {}` to quartermaster.yaml and upgrade the"
            " Helm release, which grants the rights."
        ),
    )


def test_team_without_other_approvers_is_refused(teaming: Teaming) -> None:
    alone = {"team_change": {"approvers": {"people": [CAROL]}}}
    teaming.policy = teaming.told(approvals=alone)
    assert refusal(teaming)[0] == (
        "This request cannot be approved: it needs 1 approver(s) other than you, and there are 0."
    )
