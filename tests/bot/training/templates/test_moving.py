"""Runs that name compute templates: where they wait, and how they move on."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from bot.reconcile import due
from bot.slack.card import Reply
from bot.slack.text import as_text
from bot.training.runs.card import People
from bot.training.runs.replies import why_card
from bot.training.tables import RunPhase
from bot.training.templates.candidates import moves_at, templates_of
from playground.ledger import Fault
from tests.bot.ground import ALICE
from tests.bot.training.templates.two_clusters import BOTH, TwoClusters

CREATE, DELETE = "create jobs", "delete jobs"
MOVED = (
    "Not admitted on dgx in 10m. It has left queue team-a of cluster default and waits on burst"
    " now, in queue team-a of cluster lab, which costs 36.00 USD an hour. It waits there until it"
    " is admitted."
)
STAYS = "It does not move on while cluster default does not respond: some of it may still be there."
KEEPS = (
    "It cannot move on to burst, because cluster lab does not respond. It keeps its place in this"
    " queue and moves on when that cluster responds."
)


def lines(two: TwoClusters, run_id: str) -> list[str]:
    return two.card(run_id).splitlines()


def shown(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def steps(two: TwoClusters, run_id: str, count: int = 1) -> None:
    """Takes steps of one run while the views are as old as they were."""
    for _ in range(count):
        step = two.controller.step(run_id)
        two.do(step.save)


def test_a_run_moves_on_when_not_admitted(two: TwoClusters) -> None:
    run_id = two.waiting()
    run = two.get(run_id)
    assert two.jobs("wide") == ["default"]
    assert two.card(run_id) == (
        "⏳ wide · Pending\n"
        f"Waiting since {shown(run.since)}.\n"
        "It is waiting for 8 GPUs of h100; 4 can be used now: team-a uses 8 of its nominal quota"
        " of 4, and 4 can be borrowed.\n"
        "It is number 1 in its queue.\n"
        "It starts when other runs end, or sooner with more quota: `/quota request +4 --for 1d"
        ' --reason "..."`.\n'
        "It waits on dgx, in queue team-a of cluster default, and moves on to burst"
        f" {shown(moves_at(run))} if it is not admitted by then.\n"
        "  Image      `ghcr.io/acme/lane:3.1`\n"
        "  GPUs       8 of h100\n"
        "  By         Alice\n"
        "  Template   dgx, 1 of 2, 16.00 USD an hour\n"
        f"  Where      `team-a/{run.job_name}`\n"
        f"  Submitted  {shown(run.asked_at)}\n"
        "  [Stop]"
    )
    two.pass_time(minutes=9)
    assert two.notes(run_id) == {}
    two.pass_time(minutes=1)
    run = two.get(run_id)
    assert (run.cluster, run.queue, run.phase) == ("lab", "team-a", RunPhase.RUNNING)
    assert two.jobs("wide") == ["lab"]
    assert two.notes(run_id) == {"moved-1": MOVED, "admitted-1": "Admitted after 0s."}
    assert two.requests_of(two.outside) == [CREATE, CREATE, DELETE]
    assert two.requests_of(two.other) == [CREATE]
    assert "  Template   burst, 2 of 2, 36.00 USD an hour" in lines(two, run_id)
    assert f"  Where      `lab: team-a/{run.job_name}`" in lines(two, run_id)
    two.pass_time(minutes=30)
    assert two.get(run_id).phase == RunPhase.SUCCEEDED
    lane = two.do(lambda session: session.get(due.Due, ("run", run_id)))
    assert lane is None or lane.lane == "cluster:lab"


def test_a_template_gives_its_defaults(two: TwoClusters) -> None:
    run_id = two.waiting()
    assert two.get(run_id).spec["cpu"] == "64"
    two.pass_time(minutes=11)
    (job,) = two.other.cluster.list("jobs", "team-a")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["requests"]["cpu"] == "96"


def test_an_admitted_run_is_never_moved(two: TwoClusters) -> None:
    run_id = two.submit("wide", templates=BOTH)
    two.pass_time(minutes=30)
    assert two.get(run_id).phase == RunPhase.SUCCEEDED
    assert (two.get(run_id).cluster, two.requests_of(two.other)) == ("default", [])


def test_a_run_admitted_in_time_stays(two: TwoClusters) -> None:
    run_id = two.waiting()
    two.pass_time(minutes=8)
    two.stop(two.fill_id)
    two.pass_time(minutes=1)
    assert two.get(run_id).phase == RunPhase.RUNNING
    two.pass_time(minutes=30)
    assert (two.get(run_id).cluster, two.requests_of(two.other)) == ("default", [])


def test_an_admission_during_the_move_wins(two: TwoClusters) -> None:
    run_id = two.waiting()
    two.outside.clock.moment += timedelta(minutes=10)
    steps(two, run_id)
    assert two.get(run_id).moving_to == 1
    leaving = "It is leaving dgx for burst: its objects in cluster default are deleted before it"
    assert f"{leaving} is created there." in lines(two, run_id)
    two.world.delete("jobs", two.get(two.fill_id).job_name, "team-a")
    two.world.settle()
    steps(two, run_id)
    run = two.get(run_id)
    assert (run.moving_to, run.cluster, run.phase) == (None, "default", RunPhase.CREATING)
    two.pass_time(minutes=30)
    assert two.get(run_id).phase == RunPhase.SUCCEEDED
    assert two.requests_of(two.other) == []


@pytest.mark.slow
@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
@pytest.mark.parametrize("where", ["create in default", "delete in default", "create in lab"])
def test_a_lost_answer_never_makes_two(two: TwoClusters, where: str, fault: Fault) -> None:
    verb, cluster = where.split(" in ")
    two.fill()
    outside = two.outside if cluster == "default" else two.other
    outside.ledger.by_name[f"{verb} jobs"] = [fault]
    run_id = two.submit("wide", gpus=8, templates=BOTH)
    for _ in range(14):
        two.pass_time(minutes=1)
        assert len(two.jobs("wide")) <= 1
    assert len(outside.ledger.struck) == 1
    two.pass_time(minutes=30)
    assert two.get(run_id).phase == RunPhase.SUCCEEDED
    assert two.notes(run_id)["moved-1"] == MOVED
    made = [each.name for each in two.other.ledger.requests if each.name == CREATE]
    assert len(made) == (2 if where == "create in lab" and fault is Fault.REFUSE else 1)


def test_an_unreachable_next_cluster_keeps_the_run(two: TwoClusters) -> None:
    run_id = two.waiting()
    two.other.cluster.faults.unavailable = True
    two.pass_time(minutes=12)
    assert (two.get(run_id).cluster, two.jobs("wide")) == ("default", ["default"])
    assert KEEPS in lines(two, run_id)
    assert two.get(run_id).place == 1
    two.other.cluster.faults.unavailable = False
    two.pass_time(minutes=1)
    assert (two.get(run_id).cluster, two.jobs("wide")) == ("lab", ["lab"])
    assert KEEPS not in lines(two, run_id)


def test_an_unreachable_cluster_is_not_left(two: TwoClusters) -> None:
    run_id = two.waiting()
    two.pass_time(minutes=8)
    two.world.faults.unavailable = True
    two.pass_time(minutes=20)
    assert (two.get(run_id).cluster, two.requests_of(two.other)) == ("default", [])
    assert STAYS in lines(two, run_id)
    two.world.faults.unavailable = False
    two.pass_time(minutes=6)
    assert (two.get(run_id).cluster, two.jobs("wide")) == ("lab", ["lab"])


def test_a_cluster_lost_during_the_move_is_awaited(two: TwoClusters) -> None:
    run_id = two.waiting()
    two.outside.clock.moment += timedelta(minutes=10)
    steps(two, run_id)
    two.world.faults.unavailable = True
    two.pass_time(minutes=20)
    assert (two.get(run_id).moving_to, two.requests_of(two.other)) == (1, [])
    assert STAYS in lines(two, run_id)
    two.world.faults.unavailable = False
    two.pass_time(minutes=6)
    assert (two.get(run_id).moving_to, two.jobs("wide")) == (None, ["lab"])


@pytest.mark.parametrize("count", [1, 2])
def test_a_run_is_stopped_during_its_move(two: TwoClusters, count: int) -> None:
    run_id = two.waiting()
    two.outside.clock.moment += timedelta(minutes=10)
    steps(two, run_id, count)
    two.stop(run_id)
    two.pass_time(minutes=1)
    assert (two.get(run_id).phase, two.get(run_id).moving_to) == (RunPhase.STOPPED, None)
    assert (two.jobs("wide"), two.requests_of(two.other)) == ([], [])
    assert list(two.notes(run_id)) == ["ended"]


def test_a_run_is_stopped_where_it_moved(two: TwoClusters) -> None:
    run_id = two.waiting()
    two.pass_time(minutes=11)
    two.stop(run_id)
    two.pass_time(minutes=1)
    assert (two.get(run_id).phase, two.jobs("wide")) == (RunPhase.STOPPED, [])


def test_a_resubmitted_run_begins_at_the_first(two: TwoClusters) -> None:
    run_id = two.waiting(fallback_after=timedelta(minutes=2))
    two.pass_time(minutes=30)
    assert (two.get(run_id).cluster, two.get(run_id).phase) == ("lab", RunPhase.SUCCEEDED)
    again = two.get(two.resubmit("wide"))
    assert (again.reference, again.cluster, again.candidate) == ("wide#2", "default", 0)
    assert templates_of(again) == BOTH
    two.pass_time(minutes=1)
    assert two.get(again.id).job_uid is not None
    two.pass_time(minutes=2)
    assert two.get(again.id).cluster == "lab"


def test_a_run_moves_between_queues_of_a_cluster(two: TwoClusters) -> None:
    queue = {"metadata": {"name": "spot"}, "spec": {"clusterQueue": "team-b"}}
    two.world.create("localqueues", queue, "team-a")
    run_id = two.waiting(on=("dgx", "spot"), gpus=12)
    assert two.get(run_id).phase == RunPhase.PENDING
    first = two.get(run_id).job_uid
    two.pass_time(minutes=11)
    run, job = two.get(run_id), two.job(run_id)
    assert (run.cluster, run.queue, run.candidate) == ("default", "spot", 1)
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "spot"
    assert run.job_uid == job["metadata"]["uid"] != first
    assert run.moves[0]["uid"] == first


def test_what_a_late_request_makes_is_deleted(two: TwoClusters) -> None:
    run_id = two.waiting()
    before: Any = two.job(run_id)
    two.pass_time(minutes=11)
    late = {"metadata": {each: before["metadata"][each] for each in ("name", "labels")},
            "spec": {**before["spec"], "selector": None}}  # fmt: skip
    late["spec"].pop("selector")
    late["spec"]["template"]["metadata"]["labels"] = {}
    two.world.create("jobs", late, "team-a")
    assert two.jobs("wide") == ["default", "lab"]
    two.pass_time(seconds=30)
    assert two.jobs("wide") == ["lab"]
    assert two.get(run_id).is_live


def test_why_says_when_a_run_moves_on(two: TwoClusters) -> None:
    run_id = two.waiting()
    run = two.get(run_id)
    said = as_text(Reply(card=why_card(run, People("Alice"), two.clock.now())))
    assert (
        "It waits on dgx, in queue team-a of cluster default, and moves on to burst"
        f" {shown(moves_at(run))} if it is not admitted by then."
    ) in said.splitlines()
    assert ALICE not in said


def test_objects_beside_a_run_move_with_it(two: TwoClusters) -> None:
    two.fill()
    shape: dict[str, Any] = {
        "kind": "sync",
        "nodes": 2,
        "gpus": 4,
        "command": ("python", "train.py"),
    }
    run_id = two.submit("wide", templates=BOTH, **shape)
    two.pass_time(minutes=5)
    before = beside(two.world)
    assert before
    two.pass_time(minutes=6)
    assert two.get(run_id).cluster == "lab"
    assert (beside(two.world), beside(two.other.cluster)) == ([], before)


def beside(world: Any) -> list[str]:
    """The Services and Secrets of runs in a cluster."""
    found = [*world.list("services", "team-a"), *world.list("secrets", "team-a")]
    names = (each["metadata"]["name"] for each in found)
    return sorted(name for name in names if name.startswith("wide-"))
