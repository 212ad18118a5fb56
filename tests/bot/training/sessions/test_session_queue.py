"""Sessions of teams that keep a queue for them."""

from copy import deepcopy

import pytest

from bot.cluster.resources import CLUSTER_QUEUES, LOCAL_QUEUES
from bot.errors import UserError
from bot.home.sections import quota_lines
from bot.quotas.engines.kueue.doctor_checks import check_teams
from bot.quotas.replies import status_card
from bot.slack.card import Reply
from bot.slack.text import as_text
from bot.training.tables import RunPhase
from playground.cluster.story import cluster_queue, training_job
from tests.bot.training.rig import Rig, settings
from tests.bot.training.sessions.notebooks import begin, running

APART = "team-a-sessions"


def keep_apart(rig: Rig, gpus: str = "2") -> None:
    """A queue of team-a for sessions alone."""
    body = deepcopy(cluster_queue("team-a", gpus))
    body["metadata"]["name"] = APART
    del body["spec"]["cohortName"]
    rig.world.create("clusterqueues", body)
    local = {"metadata": {"name": APART}, "spec": {"clusterQueue": APART}}
    rig.world.create("localqueues", local, "team-a")
    rig.policy = settings(interactive_queue=APART)
    rig.look()


def queues_of(rig: Rig) -> dict[str, str]:
    """The queue of each Workload, by its team's run."""
    return {
        each["metadata"]["ownerReferences"][0]["name"].rpartition("-")[0]: each["spec"]["queueName"]
        for each in rig.world.list("workloads", "team-a")
    }


def test_sessions_enter_their_own_queue(rig: Rig) -> None:
    keep_apart(rig)
    rig.submit("lane", gpus=1)
    run_id = running(rig)
    assert queues_of(rig) == {"lane": "team-a", "nb": APART}
    assert rig.get(run_id).queue == APART


def test_sessions_wait_for_their_own_quota(rig: Rig) -> None:
    keep_apart(rig, gpus="2")
    first = begin(rig, gpus=2)
    second = rig.submit(
        "other", kind="interactive", image="jupyter/base-notebook", command=(), gpus=1
    )
    rig.pass_time(seconds=30)
    assert rig.get(first).phase == RunPhase.RUNNING
    assert rig.get(second).phase == RunPhase.PENDING


def test_gpu_types_are_those_of_their_queue(rig: Rig) -> None:
    keep_apart(rig)
    with pytest.raises(UserError) as caught:
        begin(rig, gpu_type="a100")
    assert caught.value.message == f"ClusterQueue {APART} has no GPU type a100."
    with pytest.raises(UserError) as caught:
        rig.submit("lane", gpus=1, gpu_type="a100")
    assert caught.value.message == "ClusterQueue team-a has no GPU type a100."


def test_queue_that_is_missing_refuses_sessions(rig: Rig) -> None:
    rig.policy = settings(interactive_queue="unheard-of")
    rig.look()
    with pytest.raises(UserError, match="unheard-of"):
        begin(rig)
    assert rig.get(rig.submit("lane", gpus=1)).queue == "team-a"


def test_work_of_others_there_is_listed(rig: Rig) -> None:
    keep_apart(rig)
    running(rig)
    for name, queue in {"lane": "team-a", "notebook": APART}.items():
        job = training_job(name, 1, "team-a", epochs=20)
        job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = queue
        rig.world.create("jobs", job, "team-a")
    rig.pass_time(seconds=5)
    found = rig.service.external_workloads("team-a")
    assert {each.name: each.queue for each in found} == {"lane": "team-a", "notebook": APART}


def test_quota_of_sessions_has_its_own_row(rig: Rig) -> None:
    keep_apart(rig)
    for each in (CLUSTER_QUEUES, LOCAL_QUEUES):
        rig.refresh(each)
    found = rig.do(lambda session: rig.quotas.status(session, ["team-a"]))
    told = as_text(Reply(card=status_card(found))).splitlines()
    assert [" ".join(each.split()) for each in told] == [
        "GPU quota of team-a",
        "Team GPU type Nominal In use Borrowed Free to borrow Pending",
        "team-a h100 4 0 0 8 0",
        "team-a sessions h100 2 0 0 0 0",
    ]
    assert ["for sessions" in str(each) for each in quota_lines(found)] == [False, True]


def test_doctor_looks_at_both_queues(rig: Rig) -> None:
    keep_apart(rig)
    teams = {"team-a": rig.policy.teams["team-a"]}
    found = list(check_teams(teams, rig.cluster, "cluster default"))
    assert [each.says for each in found] == [
        "LocalQueue team-a/team-a points to ClusterQueue team-a",
        f"LocalQueue team-a/{APART} points to ClusterQueue {APART}",
    ]
    rig.world.delete("localqueues", APART, "team-a")
    missing = list(check_teams(teams, rig.cluster, "cluster default"))[1]
    assert missing.remedy == (
        f"Create LocalQueue team-a/{APART}, or set teams.team-a.interactive_queue."
    )
