"""Elastic runs that get more or fewer nodes while they run, in a cluster over HTTP."""

from typing import Any

import pytest
from sqlmodel import Session

from bot.errors import UserError
from bot.slack.grammar.parameters import Nodes, Reference
from bot.training.records.epochs import epoch_times
from bot.training.scaling import RestartOffer, Scaled
from bot.training.tables import RunPhase
from playground.cluster.kueue.configuration import Configuration
from playground.cluster.objects.errors import ApiError
from playground.cluster.story import training_job
from playground.ledger import Fault
from tests.bot.ground import ALICE, BOB, ERIN
from tests.bot.training.rig import Rig, settings

GROWING = (
    "The additional nodes start together once its queue has quota for them; until then the run"
    " continues unchanged."
)
FIXED = (
    "This Kueue cannot change the number of nodes of a run while it runs: its feature gate"
    " ElasticJobsViaWorkloadSlices, on from Kueue 0.18, is off."
)
PATCH = "patch jobs"


def submit(rig: Rig, fewest: int = 1, most: int = 3) -> str:
    """Somebody's elastic run, which runs on all its nodes."""
    command = ("python", "train.py", "--epochs", "30")
    nodes = Nodes(fewest, most)
    run_id = rig.submit("wide", kind="elastic", nodes=nodes, gpus=1, command=command)
    rig.pass_time(seconds=60)
    assert rig.get(run_id).phase == RunPhase.RUNNING
    return run_id


def scale(rig: Rig, run_id: str, nodes: int, person: str = ALICE) -> Scaled | RestartOffer:
    by = rig.caller(person)

    def work(session: Session) -> Scaled | RestartOffer:
        run = rig.service.get(session, run_id)
        return rig.scaling.scale(session, by, run, nodes, rig.clock.now())

    return rig.do(work)


def requeue(rig: Rig, run_id: str, nodes: int) -> None:
    by = rig.caller()

    def work(session: Session) -> None:
        run = rig.service.get(session, run_id)
        rig.scaling.requeue(session, by, run, nodes, rig.clock.now())

    rig.do(work)


def size(rig: Rig, run_id: str) -> str:
    """How large its card says it is."""
    line = next(each for each in rig.card(run_id).splitlines() if "Size" in each)
    return line.removeprefix("  Size").strip()


def refused(rig: Rig, run_id: str, nodes: int, person: str = ALICE) -> tuple[str, str]:
    with pytest.raises(UserError) as error:
        scale(rig, run_id, nodes, person)
    return error.value.message, error.value.hint


def test_a_run_shrinks_and_grows_again(rig: Rig) -> None:
    run_id = submit(rig)
    assert size(rig, run_id) == "3 of 3 nodes running; 1 to 3 allowed"
    assert scale(rig, run_id, 1) == Scaled(rig.get(run_id), 1, "")
    rig.pass_time(seconds=60)
    assert size(rig, run_id) == "1 of 1 node running; 1 to 3 allowed"
    assert "  GPUs       1\n" in rig.card(run_id)
    assert len(rig.get(run_id).nodes) == 1
    done = scale(rig, run_id, 2, ERIN)
    assert isinstance(done, Scaled)
    assert done.growing == GROWING
    rig.pass_time(seconds=60)
    assert size(rig, run_id) == "2 of 2 nodes running; 1 to 3 allowed"
    spec = rig.job(run_id)["spec"]
    assert (spec["completions"], spec["parallelism"]) == (2, 2)
    rig.pass_time(hours=2)
    assert rig.get(run_id).phase == RunPhase.SUCCEEDED
    assert list(rig.notes(run_id)) == ["admitted-1", "ended"]
    assert rig.effects() == ["create jobs", "create services", PATCH, PATCH, "delete services"]


def test_epochs_are_timed_on_each_number_of_nodes(rig: Rig) -> None:
    run_id = submit(rig)
    rig.pass_time(minutes=8)
    scale(rig, run_id, 1)
    rig.pass_time(minutes=6)
    times = epoch_times(rig.get(run_id))
    assert sorted(times) == [1, 3]
    # Each takes a minute; its end is noticed when the log is read, every 30 s.
    for timed in times.values():
        assert timed.epochs >= 3
        assert abs(timed.seconds - 60 * timed.epochs) <= 30


def test_further_nodes_wait_for_quota(rig: Rig) -> None:
    run_id = submit(rig)
    scale(rig, run_id, 1)
    rig.pass_time(seconds=30)
    rig.world.create("jobs", training_job("theirs", 8, "team-b", epochs=900), "team-b")
    rig.world.create("jobs", training_job("ours", 3, "team-a", epochs=5), "team-a")
    rig.pass_time(seconds=30)
    scale(rig, run_id, 3)
    rig.pass_time(seconds=30)
    assert size(rig, run_id) == "1 of 3 nodes running, 2 waiting for admission; 1 to 3 allowed"
    assert (rig.get(run_id).phase, rig.get(run_id).obstacle) == (RunPhase.RUNNING, "")
    rig.pass_time(minutes=20)
    assert size(rig, run_id) == "3 of 3 nodes running; 1 to 3 allowed"


def test_a_run_is_scaled_before_it_is_admitted(rig: Rig) -> None:
    rig.world.create("jobs", training_job("theirs", 11, "team-b", epochs=900), "team-b")
    run_id = rig.submit("wide", kind="elastic", nodes=Nodes(1, 3), gpus=2)
    scale(rig, run_id, 2)
    rig.run()
    assert rig.job(run_id)["spec"]["parallelism"] == 2
    scale(rig, run_id, 1)
    rig.pass_time(seconds=60)
    assert size(rig, run_id) == "1 of 1 node running; 1 to 3 allowed"


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_a_lost_answer_scales_once(rig: Rig, fault: Fault) -> None:
    run_id = submit(rig)
    rig.outside.ledger.by_name[PATCH] = [fault]
    scale(rig, run_id, 2)
    rig.pass_time(minutes=3)
    assert size(rig, run_id) == "2 of 2 nodes running; 1 to 3 allowed"
    assert rig.effects().count(PATCH) == (1 if fault is Fault.LOSE_ANSWER else 2)


def test_a_bot_that_died_scales_once(rig: Rig) -> None:
    run_id = submit(rig)
    scale(rig, run_id, 2)
    rig.controller.step(run_id)
    rig.restart()
    rig.pass_time(minutes=3)
    assert size(rig, run_id) == "2 of 2 nodes running; 1 to 3 allowed"
    assert rig.effects().count(PATCH) == 1


def test_only_what_can_be_is_scaled(rig: Rig) -> None:
    run_id = submit(rig)
    assert refused(rig, run_id, 4) == (
        "wide may have 1 to 3 nodes: it was submitted with `--nodes 1:3`.",
        "`/train scale wide 3` is the furthest it can go.",
    )
    assert refused(rig, run_id, 3) == (
        "wide already has 3 nodes.",
        "`/train show wide` shows how many are running.",
    )
    assert refused(rig, run_id, 2, BOB)[0] == f"wide belongs to <@{ALICE}>."
    plain = rig.submit("lane")
    assert refused(rig, plain, 2) == (
        "lane keeps the nodes it started with: it is not an elastic run.",
        "Runs submitted with `--kind elastic --nodes 1:3` can change theirs.",
    )
    rig.stop(run_id)
    assert refused(rig, run_id, 2) == ("wide is ending.", "`/train resubmit wide` starts it again.")
    rig.pass_time(minutes=2)
    assert refused(rig, run_id, 2)[0] == "wide has ended."


def test_a_fixed_number_stays(rig: Rig) -> None:
    run_id = submit(rig, 2, 2)
    assert refused(rig, run_id, 1) == (
        "wide was submitted with `--nodes 2`, so it keeps them.",
        "Submit it with a range, such as `--nodes 1:2`, to scale it.",
    )


def test_a_kueue_that_cannot_offers_to_start_anew(rig: Rig) -> None:
    rig.world.inside.kueue = Configuration(elastic=False)
    run_id = submit(rig)
    assert scale(rig, run_id, 1) == RestartOffer(rig.get(run_id), 1, FIXED)
    requeue(rig, run_id, 1)
    rig.pass_time(minutes=2)
    assert rig.notes(run_id)["ended"].startswith(
        f"<@{ALICE}> wide was stopped by Alice after 59s. It starts again on 1 node."
    )
    assert rig.notes(run_id)["again"] == "Started again as wide#2."
    again = rig.do(lambda session: rig.service.find(session, "team-a", Reference("wide")))
    assert (again.number, again.phase, again.person) == (2, RunPhase.RUNNING, ALICE)
    assert size(rig, again.id) == "1 of 1 node running; 1 to 3 allowed"
    assert PATCH not in rig.effects()


def test_a_webhook_that_refuses_is_quoted(rig: Rig) -> None:
    run_id = submit(rig)

    def deny(kind: Any, obj: Any, old: Any) -> None:
        if kind.plural != "jobs" or old is None:
            return
        if obj["spec"]["parallelism"] != old["spec"]["parallelism"]:
            words = 'admission webhook "vjob.kb.io" denied the request: spec.parallelism: Forbidden'
            raise ApiError(403, "Forbidden", words)

    rig.world.inside.operations.admissions.append(deny)
    scale(rig, run_id, 2)
    rig.pass_time(seconds=30)
    said = rig.card(run_id)
    assert "It could not be scaled. Changing Job" in said
    assert "[Stop and resubmit with 2 nodes]" in said
    assert size(rig, run_id) == "3 of 3 nodes running; 1 to 3 allowed"
    assert rig.effects().count(PATCH) == 1
    assert isinstance(scale(rig, run_id, 2), RestartOffer)


def test_a_stop_does_not_start_it_again(rig: Rig) -> None:
    run_id = submit(rig)
    requeue(rig, run_id, 1)
    rig.stop(run_id)
    rig.pass_time(minutes=2)
    assert "again" not in rig.notes(run_id)


def test_what_cannot_start_again_is_said(rig: Rig) -> None:
    run_id = submit(rig)
    requeue(rig, run_id, 1)
    rig.policy = settings(limits={"gpus_per_run": 0})
    rig.pass_time(minutes=2)
    assert rig.notes(run_id)["again"] == (
        "It was not started again: 1 GPU exceeds the limit of team-a for one run: 0. Use"
        " `--gpus 0` or fewer, or ask an admin for a higher limit."
    )
