"""Teams whose quotas are projects of Run:ai: they are seen, created and deleted by its REST API."""

from typing import Any

import pytest

from bot.slack.card import Reply
from bot.slack.text import as_text
from bot.teams.tables import ChangePhase
from playground.ledger import Fault
from tests.bot.ground import ALICE, CAROL, INSTALLATION
from tests.bot.quotas.engines.runai.plane import POOL, workload
from tests.bot.teams.teaming import OnRunai, Teaming, labels_of
from tests.bot.teams.test_creating import OURS, refusal
from tests.bot.teams.test_patches import Patches
from tests.bot.teams.test_withdrawing import withdraw

FREE = "Project vision its name is free; Run:ai has no dry run."
SHARES = "Projects of department default then have 20 of its 64 GPUs of h100."
SO_FAR = "Created so far: Namespace vision, RoleBinding vision/quartermaster-team."


def asked(rig: OnRunai, **more: Any) -> str:
    """A request that was checked; the id of the change."""
    row_id = rig.create(**more)
    rig.pass_time(seconds=10)
    return row_id


def approved(rig: OnRunai) -> str:
    """A removal that was approved; the id of the change."""
    row_id = rig.remove()
    rig.pass_time(seconds=10)
    rig.decides(row_id)
    return row_id


def test_lists_show_what_would_be_created(on_runai: OnRunai) -> None:
    card = on_runai.card(asked(on_runai))
    assert card[0] == "⏳ Create team vision · Waiting for approval"
    assert "Quota 8 GPUs of h100, in default" in card
    assert card[-4:] == [
        "Namespace vision accepted by a dry run",
        "RoleBinding vision/quartermaster-team allowed; no dry run before its namespace exists",
        f"{FREE} {SHARES}",
        "[Approve] [Deny] [Withdraw]",
    ]
    assert (on_runai.changes(), list(on_runai.plane.tenant.projects)) == ([], ["team-a", "team-b"])


def test_approved_team_is_a_project_below_its_department(on_runai: OnRunai) -> None:
    on_runai.plane.tenant.add_department("research", 16)
    row_id = on_runai.created(above="research")
    assert on_runai.row(row_id).phase == ChangePhase.DONE
    project = on_runai.plane.tenant.projects["vision"]
    assert project["description"].startswith("Created by Quartermaster")
    assert f"quartermaster.dev/installation={INSTALLATION}" in project["description"].split()
    assert project["parent"]["name"] == "research"
    assert project["namespace"] == project["requestedNamespace"] == "vision"
    (share,) = project["resources"]
    assert share["nodePool"]["name"] == POOL
    assert share["gpu"] == {"deserved": 8, "limit": -1, "overQuotaWeight": 2}
    pods = {f"pod-security.kubernetes.io/{each}": "baseline" for each in ("enforce", "warn")}
    own = {"kubernetes.io/metadata.name": "vision", "runai/queue": "vision"}
    assert labels_of(on_runai.found("namespaces")) == {**OURS, **pods, **own}
    assert on_runai.settings().teams["vision"].queue == "vision"


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_lost_answer_creates_one_project(on_runai: OnRunai, fault: Fault) -> None:
    row_id = asked(on_runai)
    on_runai.decides(row_id)
    on_runai.plane.ledger.by_name["create project"] = [fault]
    on_runai.pass_time(minutes=2)
    assert on_runai.row(row_id).phase == ChangePhase.DONE
    assert list(on_runai.plane.tenant.projects) == ["team-a", "team-b", "vision"]


def test_every_step_of_it_outlives_restarts(on_runai: OnRunai) -> None:
    row_id = on_runai.create()
    for step in range(12):
        on_runai.restart()
        on_runai.pass_time(seconds=2)
        if step == 3:
            on_runai.decides(row_id)
    assert on_runai.row(row_id).phase == ChangePhase.DONE
    approved(on_runai)
    for _ in range(20):
        on_runai.restart()
        on_runai.pass_time(seconds=3)
    assert on_runai.changes() == ["create project", "delete project"]
    assert "vision" not in on_runai.names("namespaces")


def test_project_of_others_is_never_touched(on_runai: OnRunai) -> None:
    on_runai.plane.tenant.add_project("vision", {POOL: 1}, namespace="other")
    assert on_runai.card(asked(on_runai))[:2] == [
        "❌ Create team vision · Failed",
        (
            "Project vision already exists, and was not created by Quartermaster for this team."
            " Nothing was changed."
        ),
    ]
    assert (on_runai.changes(), on_runai.plane.tenant.quota("vision", POOL)) == ([], 1)


def test_project_that_appears_after_the_approval_stays(on_runai: OnRunai) -> None:
    row_id = asked(on_runai)
    on_runai.plane.tenant.add_project("vision", {POOL: 1}, namespace="other")
    on_runai.decides(row_id)
    on_runai.pass_time(seconds=30)
    row = on_runai.row(row_id)
    assert (row.phase, row.reason) == (
        ChangePhase.FAILED,
        "Project vision already exists, and was not created by Quartermaster for this team.",
    )
    assert on_runai.changes() == []


@pytest.mark.parametrize(
    ("more", "reason", "unblock"),
    [
        (
            {"above": "physics"},
            "There is no department physics in this cluster of Run:ai.",
            "There is: default. Choose one with `--cohort`.",
        ),
        (
            {"namespace": "runai-lab"},
            "Namespace runai-lab already belongs to Run:ai's project lab.",
            "Choose another one with `--namespace`.",
        ),
    ],
)
def test_what_cannot_be_is_said_before_the_approval(
    on_runai: OnRunai, more: Any, reason: str, unblock: str
) -> None:
    on_runai.plane.tenant.add_project("lab", {POOL: 1})
    row = on_runai.row(asked(on_runai, **more))
    assert (row.phase, row.reason, row.unblock) == (
        ChangePhase.FAILED, f"{reason} Nothing was changed.", unblock
    )  # fmt: skip
    assert on_runai.changes() == []


def test_quota_beyond_the_department_may_fail(on_runai: OnRunai) -> None:
    on_runai.plane.tenant.add_department("research", 4)
    row_id = asked(on_runai, above="research")
    assert on_runai.card(row_id)[-2] == (
        f"{FREE} Projects of department research then have 8 of its 4 GPUs of h100, more than it"
        " has: Run:ai may refuse this."
    )
    on_runai.decides(row_id)
    on_runai.pass_time(seconds=30)
    row = on_runai.row(row_id)
    assert (row.phase, row.reason, row.unblock) == (
        ChangePhase.FAILED,
        (
            "Run:ai (cluster default) refused to create project vision: 400: department research"
            " has a quota of 4 GPUs in node pool h100, and its projects would have 8."
            f" {SO_FAR}"
        ),
        "Request it again when that is fixed; what was created is used then.",
    )
    on_runai.plane.tenant.departments["research"]["resources"][0]["gpu"]["deserved"] = 8
    assert on_runai.row(on_runai.created(above="research")).phase == ChangePhase.DONE


def test_projects_without_a_limit_are_not_counted(on_runai: OnRunai) -> None:
    on_runai.plane.tenant.set_quota("team-b", POOL, -1)
    assert on_runai.card(asked(on_runai))[-2] == (
        f"{FREE} Projects of department default then have 12 of its 64 GPUs of h100, besides those"
        " of team-b, which has no limit."
    )


def test_conflict_without_such_a_project_ends_it(on_runai: OnRunai) -> None:
    row_id = asked(on_runai)
    on_runai.decides(row_id)
    on_runai.plane.app.refuse("create project", 409, "the name is reserved")
    on_runai.pass_time(seconds=30)
    row = on_runai.row(row_id)
    assert (row.phase, row.reason) == (
        ChangePhase.FAILED,
        (
            "Run:ai (cluster default) refused to create project vision: 409: the name is reserved."
            f" {SO_FAR}"
        ),
    )


GRANT = (
    "Give the bot's service account in Run:ai an access rule for the cluster whose role may view"
    " projects, node pools and workloads, and edit projects; for `/team create` also view"
    " departments, and create and delete projects."
)


def test_rights_to_read_departments_are_named_first(on_runai: OnRunai) -> None:
    on_runai.plane.app.refuse("list departments", 403, "not allowed")
    row = on_runai.row(asked(on_runai))
    assert (row.phase, row.reason, row.unblock) == (
        ChangePhase.FAILED,
        (
            "Run:ai (cluster default) refused to read departments: 403: not allowed. Nothing was"
            " changed."
        ),
        GRANT,
    )


def test_missing_rights_in_runai_say_what_to_grant(on_runai: OnRunai) -> None:
    row_id = asked(on_runai)
    on_runai.decides(row_id)
    on_runai.plane.app.refuse("create project", 403, "not allowed")
    on_runai.pass_time(seconds=30)
    row = on_runai.row(row_id)
    assert (row.phase, row.unblock) == (
        ChangePhase.FAILED,
        f"{GRANT} Request it again when that is fixed; what was created is used then.",
    )


def test_team_is_created_once_its_project_is_ready(on_runai: OnRunai) -> None:
    tenant = on_runai.plane.tenant
    tenant.has_namespace = lambda _name: False
    row_id = asked(on_runai)
    on_runai.decides(row_id)
    on_runai.pass_time(minutes=3)
    assert (on_runai.row(row_id).phase, on_runai.row(row_id).obstacle) == (
        ChangePhase.MAKING,
        "Run:ai's project vision is NotReady: NamespaceHandlerFailed.",
    )
    tenant.has_namespace = lambda _name: True
    on_runai.pass_time(minutes=2)
    assert on_runai.row(row_id).phase == ChangePhase.DONE


def test_message_of_runai_mentions_nobody(on_runai: OnRunai) -> None:
    on_runai.plane.tenant.has_namespace = lambda _name: False
    row_id = asked(on_runai)
    on_runai.decides(row_id)
    on_runai.pass_time(minutes=1)
    on_runai.plane.tenant.projects["vision"]["phaseMessage"] = f"<@{ALICE}> deleted it"
    on_runai.pass_time(minutes=2)
    assert on_runai.row(row_id).obstacle == (
        f"Run:ai's project vision is NotReady: < @{ALICE}> deleted it."
    )


def test_withdrawn_team_keeps_what_was_created(on_runai: OnRunai) -> None:
    row_id = asked(on_runai)
    on_runai.decides(row_id)
    on_runai.plane.ledger.by_name["create project"] = [Fault.REFUSE] * 9
    while "quartermaster-team" not in on_runai.names("rolebindings", "vision"):
        on_runai.pass_time(seconds=1)
    withdraw(on_runai, row_id)
    on_runai.pass_time(minutes=2)
    assert on_runai.notes(row_id)["ended"] == (
        f"<@{CAROL}> The request to create team vision was withdrawn. {SO_FAR}\n"
        "What was created stays. Request the same team again to use it, or delete it by hand."
    )
    assert "vision" not in on_runai.plane.tenant.projects


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_lost_answer_deletes_the_project_once(on_runai: OnRunai, fault: Fault) -> None:
    on_runai.created()
    row_id = approved(on_runai)
    on_runai.plane.ledger.by_name["delete project"] = [fault]
    on_runai.pass_time(minutes=3)
    assert on_runai.row(row_id).phase == ChangePhase.DONE
    assert list(on_runai.plane.tenant.projects) == ["team-a", "team-b"]
    assert "vision" not in on_runai.names("namespaces")


def test_namespace_stays_until_the_project_is_gone(on_runai: OnRunai) -> None:
    on_runai.created()
    on_runai.plane.tenant.is_slow = True
    row_id = approved(on_runai)
    on_runai.pass_time(minutes=3)
    assert on_runai.card(row_id)[0] == "⚠️ Remove team vision · Deleting"
    assert on_runai.row(row_id).obstacle == (
        "Project vision is being deleted. Run:ai has accepted this, and has not reported that it"
        " is done."
    )
    assert "vision" in on_runai.names("namespaces")
    on_runai.plane.tenant.is_slow = False
    on_runai.pass_time(minutes=2)
    assert on_runai.row(row_id).phase == ChangePhase.DONE
    assert on_runai.changes().count("delete project") == 1


def test_workloads_in_runai_end_the_removal(on_runai: OnRunai) -> None:
    on_runai.created()
    on_runai.plane.tenant.workloads = [
        workload("notebook", "vision", 0, phase="Stopped"),
        workload("lane", "vision", 2, phase="Completed"),
        workload("other", "team-a", 2),
    ]
    row_id = on_runai.remove()
    on_runai.pass_time(seconds=10)
    row = on_runai.row(row_id)
    assert (row.phase, row.reason) == (
        ChangePhase.FAILED,
        (
            "Team vision is still in use. It has 1 workload in Run:ai: notebook. Nothing was"
            " changed."
        ),
    )
    assert "vision" in on_runai.plane.tenant.projects


def test_project_that_others_took_over_stays(on_runai: OnRunai) -> None:
    on_runai.created()
    on_runai.plane.tenant.projects["vision"]["description"] = "Now kept by Terraform"
    row_id = on_runai.remove()
    on_runai.pass_time(seconds=10)
    assert on_runai.card(row_id)[-2] == (
        "Project vision stays: not created by Quartermaster for this team"
    )
    on_runai.decides(row_id)
    on_runai.pass_time(minutes=2)
    assert on_runai.row(row_id).phase == ChangePhase.DONE
    assert "vision" in on_runai.plane.tenant.projects


def test_requests_that_cannot_work_are_refused(on_runai: OnRunai) -> None:
    assert refusal(on_runai, interactive_gpus=2) == (
        "`--interactive-gpus` is not possible on Run:ai: each project has its own namespace.",
        "Leave it out. Run:ai's own rules decide which workloads are preempted.",
    )
    assert refusal(on_runai, queue="7vision") == (
        "Run:ai refuses the name 7vision for a project: it must begin with a letter.",
        "Choose another one with `--queue`, for example `--queue team-7`.",
    )
    assert refusal(on_runai, gpu_type="a100") == (
        "There is no node pool a100 in this cluster.", "There is: h100."
    )  # fmt: skip


def test_team_whose_engine_is_gone_waits(on_runai: OnRunai) -> None:
    on_runai.created()
    on_runai.policy = Teaming.told(on_runai, clusters={"default": {"engine": "kai"}})
    on_runai.restart()
    row_id = on_runai.remove()
    on_runai.pass_time(minutes=2)
    row = on_runai.row(row_id)
    assert (row.phase, row.trouble) == (
        ChangePhase.CHECKING,
        (
            "Cluster default no longer has engine Run:ai, which keeps the team's project. Configure"
            " it again."
        ),
    )


def test_project_is_described_beside_the_manifests(on_runai: OnRunai) -> None:
    on_runai.created()
    card = Patches(on_runai).handover()
    assert as_text(Reply(card=card)).splitlines()[2] == (
        "They are as they were created; `/team show vision` shows today's quota."
    )
    document = card.document
    assert "kind: Project" not in document
    assert (
        "# Project vision belongs in Run:ai, not in Kubernetes:\n"
        "# department: default\n"
        "# namespace: vision\n"
        "# resources:\n"
        "# - nodePool: h100\n"
        "#   gpus: 8\n"
        "# quartermaster.yaml:\n"
    ) in document
