"""Teams that are removed: nothing that anyone needs, and only what the bot created."""

from typing import Any

import pytest

from bot.errors import UserError
from bot.snapshots.tables import Snapshot
from bot.teams.tables import ChangePhase
from bot.training.requests.tables import RunRequest
from bot.training.saved_flows.tables import Flow, FlowPhase
from playground.cluster.story import claim
from playground.ledger import Fault
from tests.bot.ground import CAROL, START
from tests.bot.teams.teaming import Teaming
from tests.databases import ON_BOTH

DELETES = [
    "delete localqueues",
    "delete clusterqueues",
    "delete rolebindings",
    "delete namespaces",
]


def deletions(rig: Teaming) -> list[str]:
    return [each for each in rig.effects() if each.startswith("delete")]


def approved(rig: Teaming) -> str:
    """A removal that Erin has approved."""
    row_id = rig.remove()
    rig.pass_time(seconds=10)
    rig.decides(row_id)
    return row_id


def test_what_is_deleted_is_shown_first(teaming: Teaming) -> None:
    teaming.created()
    told = [" ".join(each.split()) for each in teaming.asks_to_remove().splitlines()]
    assert told == [
        "Remove team vision and its 4 objects?",
        (
            "No run, session, dataset, cache, snapshot or quota override of vision is left. PVCs,"
            " pods and workloads are looked for before anything is deleted."
        ),
        (
            "Everything in the namespace is deleted with it, such as Secrets and ConfigMaps that"
            " people created there. This cannot be undone."
        ),
        "An approver other than you has to approve it.",
        "Kind Name Namespace",
        "Namespace vision",
        "RoleBinding quartermaster-team vision",
        "ClusterQueue vision",
        "LocalQueue vision vision",
        "[Request it]",
    ]
    assert deletions(teaming) == []


@ON_BOTH
def test_approved_removal_deletes_the_last_made_first(teaming: Teaming) -> None:
    teaming.created()
    row_id = approved(teaming)
    teaming.pass_time(seconds=5)
    assert (deletions(teaming), list(teaming.settings().teams)) == ([], ["team-a"])
    teaming.pass_time(minutes=2)
    assert deletions(teaming) == DELETES
    assert "vision" not in teaming.names("namespaces")
    assert teaming.notes(row_id) == {"ended": f"<@{CAROL}> Team vision is removed."}


@pytest.mark.parametrize("verb", DELETES)
@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_lost_answer_deletes_each_object_once(teaming: Teaming, verb: str, fault: Fault) -> None:
    teaming.created()
    row_id = approved(teaming)
    teaming.outside.ledger.by_name[verb] = [fault]
    teaming.pass_time(minutes=3)
    assert teaming.row(row_id).phase == ChangePhase.DONE
    assert "vision" not in teaming.names("namespaces") + teaming.names("clusterqueues")


def test_every_step_of_it_outlives_restarts(teaming: Teaming) -> None:
    teaming.created()
    approved(teaming)
    for _ in range(20):
        teaming.restart()
        teaming.pass_time(seconds=3)
    assert deletions(teaming) == DELETES


def test_rows_that_need_it_are_named_at_once(teaming: Teaming) -> None:
    teaming.created()
    teaming.do(lambda session: session.add(_snapshot("before")))
    with pytest.raises(UserError) as caught:
        teaming.asks_to_remove()
    assert (caught.value.message, caught.value.hint) == (
        "Team vision is still in use. It has 1 snapshot. Nothing was changed.",
        "End or delete these first; then remove the team.",
    )


def test_what_can_start_runs_is_named(teaming: Teaming) -> None:
    teaming.created()
    whose: dict[str, Any] = {"workspace_id": "T0QM", "team": "vision", "person": CAROL}
    whose["channel"] = "C0VISION"
    flows = [
        Flow(name=name, steps=[], asked_at=START, phase=phase, **whose)
        for name, phase in (("nightly", FlowPhase.SCHEDULED), ("by-hand", FlowPhase.SAVED))
    ]
    asked = [
        RunRequest(name=name, places=[], costs=[], asked_at=START, since=START, **whose)
        for name in ("wide", "wider")
    ]
    teaming.do(lambda session: session.add_all([*flows, *asked]))
    with pytest.raises(UserError) as caught:
        teaming.asks_to_remove()
    assert caught.value.message == (
        "Team vision is still in use. It has 2 requests for runs. It has 1 scheduled flow. Nothing"
        " was changed."
    )


def test_volumes_in_the_namespace_end_it(teaming: Teaming) -> None:
    teaming.created()
    teaming.world.create("persistentvolumeclaims", claim("weights"), "vision")
    row_id = teaming.remove()
    teaming.pass_time(seconds=10)
    assert teaming.card(row_id)[:3] == [
        "❌ Remove team vision · Failed",
        "Team vision is still in use. It has 1 PVC: weights. Nothing was changed.",
        "End or delete these first; then request it again.",
    ]
    assert "vision" in teaming.settings().teams


def test_jobs_that_wait_without_pods_end_it(teaming: Teaming) -> None:
    teaming.created()
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
    job = {
        "metadata": {"name": "by-hand"},
        "spec": {"suspend": True, "template": {"spec": pod}},
    }
    teaming.world.create("jobs", job, "vision")
    row_id = teaming.remove()
    teaming.pass_time(seconds=10)
    row = teaming.row(row_id)
    assert (row.phase, row.reason) == (
        ChangePhase.FAILED,
        "Team vision is still in use. It has 1 Job: by-hand. Nothing was changed.",
    )


def test_use_after_the_approval_puts_it_back(teaming: Teaming) -> None:
    teaming.created()
    row_id = approved(teaming)
    teaming.pass_time(seconds=5)
    teaming.world.create("persistentvolumeclaims", claim("weights"), "vision")
    teaming.pass_time(minutes=1)
    assert teaming.row(row_id).reason == (
        "Team vision is still in use. It has 1 PVC: weights. The team was put back; nothing was"
        " deleted."
    )
    assert ("vision" in teaming.settings().teams, deletions(teaming)) == (True, [])


def test_namespace_with_new_volumes_is_kept(teaming: Teaming) -> None:
    teaming.created()
    row_id = approved(teaming)
    while deletions(teaming) != DELETES[:3]:
        teaming.pass_time(seconds=1)
    teaming.world.create("persistentvolumeclaims", claim("weights"), "vision")
    teaming.pass_time(minutes=5)
    assert deletions(teaming) == DELETES[:3]
    waits = "It has 1 PVC: weights. End or delete these; then the rest is deleted."
    assert waits in teaming.card(row_id)
    teaming.world.delete("persistentvolumeclaims", "weights", "vision")
    teaming.pass_time(minutes=5)
    assert teaming.row(row_id).phase == ChangePhase.DONE


def test_what_lost_our_labels_is_left(teaming: Teaming) -> None:
    teaming.created()
    marks = {"metadata": {"labels": {"quartermaster.dev/installation": "another"}}}
    teaming.world.patch("clusterqueues", "vision", marks)
    row_id = teaming.remove()
    teaming.pass_time(seconds=10)
    stays = "ClusterQueue vision stays: not created by Quartermaster for this team"
    assert stays in teaming.card(row_id)
    teaming.decides(row_id)
    teaming.pass_time(minutes=2)
    assert deletions(teaming) == [each for each in DELETES if "clusterqueues" not in each]
    assert teaming.names("clusterqueues") == ["team-a", "team-b", "vision"]


def test_team_of_an_earlier_engine_is_removed(teaming: Teaming) -> None:
    teaming.created()
    teaming.policy = teaming.told(clusters={"default": {"engine": "kai"}})
    approved(teaming)
    teaming.pass_time(minutes=2)
    assert deletions(teaming) == DELETES


def test_refused_deletion_is_shown_and_repeated(teaming: Teaming) -> None:
    teaming.created()
    allow = teaming.deny_deletion("namespaces")
    row_id = approved(teaming)
    teaming.pass_time(minutes=3)
    assert teaming.card(row_id)[0] == "⚠️ Remove team vision · Deleting"
    assert "Deleting Namespace vision" in teaming.row(row_id).obstacle
    allow()
    teaming.pass_time(minutes=5)
    assert teaming.row(row_id).phase == ChangePhase.DONE


def test_teams_of_the_file_are_not_removed(teaming: Teaming) -> None:
    with pytest.raises(UserError) as caught:
        teaming.remove("team-a")
    assert (caught.value.message, caught.value.hint) == (
        (
            "Team team-a was not created from Slack, so nothing in the cluster is Quartermaster's"
            " to remove."
        ),
        "Remove `teams.team-a` from quartermaster.yaml, and its objects by hand.",
    )
    teaming.created()
    said = {"namespace": "vision", "queue": "vision"}
    teaming.policy = teaming.told(teams={**_dumped(teaming), "vision": said})
    with pytest.raises(UserError) as caught:
        teaming.remove()
    assert caught.value.message == "quartermaster.yaml names vision, too."


def _dumped(teaming: Teaming) -> dict[str, object]:
    return {"team-a": teaming.policy.teams["team-a"].model_dump()}


def _snapshot(name: str) -> Snapshot:
    return Snapshot(
        workspace_id="T0QM", team="vision", person=CAROL, channel="C0VISION", cluster="default",
        namespace="vision", claim_name="weights", claim_uid="u", storage_class="standard",
        driver="csi", capacity_bytes=1, name=name, asked_at=START, since=START,
    )  # fmt: skip


def test_secrets_that_go_along_are_counted(teaming: Teaming) -> None:
    teaming.created()
    for name in ("huggingface", "registry"):
        teaming.world.create("secrets", {"metadata": {"name": name}}, "vision")
    row_id = teaming.remove()
    teaming.pass_time(seconds=10)
    assert "Namespace vision will be deleted, with 2 Secrets" in teaming.card(row_id)
    teaming.decides(row_id)
    teaming.pass_time(minutes=2)
    assert "Namespace vision deleted, with 2 Secrets" in teaming.card(row_id)


def test_secrets_that_cannot_be_listed_are_said(teaming: Teaming) -> None:
    teaming.created()
    teaming.world.app.access.forbidden.add(("list", "secrets"))
    row_id = teaming.remove()
    teaming.pass_time(seconds=10)
    said = "will be deleted, its Secrets are not counted: the bot may not list them"
    assert f"Namespace vision {said}" in teaming.card(row_id)
