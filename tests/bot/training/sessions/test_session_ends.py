"""Sessions leave nothing behind, however they end and whoever dies meanwhile."""

from datetime import timedelta

import pytest

from bot.training.tables import RunPhase
from playground.cluster.control.training import Training
from playground.ledger import Fault
from tests.bot.ground import ALICE, START
from tests.bot.training.rig import Rig
from tests.bot.training.sessions.notebooks import (
    GONE,
    LONGEST_LIFE,
    MADE,
    NOTEBOOK,
    begin,
    leap,
    left,
    left_beside,
    running,
    with_ingress,
)


@pytest.fixture
def rig(rig: Rig) -> Rig:
    """A cluster with a way in for browsers."""
    return with_ingress(rig)


def test_when_its_time_is_up_nothing_is_left(rig: Rig) -> None:
    run_id = running(rig)
    leap(rig, rig.get(run_id).until or START)
    rig.pass_time(minutes=1)
    run = rig.get(run_id)
    assert (run.phase, left(rig, run_id)) == (RunPhase.EXPIRED, [])
    assert rig.effects() == [*MADE, "delete jobs"]
    assert rig.card(run_id).splitlines()[:2] == [
        "✅ nb · Expired after 8h 2s",
        "Its data outside PVCs is lost.",
    ]
    assert rig.notes(run_id)["ended"].splitlines()[0] == (
        f"<@{ALICE}> nb expired after 8h 2s: its time is up. Its data outside PVCs is lost."
    )


def test_a_notebook_shut_down_within_succeeds(rig: Rig) -> None:
    rig.world.behaviours[NOTEBOOK] = Training(epochs=1, seconds_per_epoch=60)
    run_id = begin(rig)
    rig.pass_time(minutes=3)
    assert (rig.get(run_id).phase, rig.effects()) == (RunPhase.SUCCEEDED, [*MADE, *GONE])
    assert [each.partition("/")[0] for each in left(rig, run_id)] == ["jobs", "pods"]


def test_a_session_out_of_memory_tells_it(rig: Rig) -> None:
    rig.world.behaviours[NOTEBOOK] = Training(fails_after=60, out_of_memory=True)
    run_id = running(rig)
    rig.pass_time(seconds=40)
    why = "Its program used more memory than its limit of 72Gi and was killed (OOMKilled)."
    assert f"Attempt 1 of 3 failed. {why} It is restarting." in rig.card(run_id)
    rig.pass_time(minutes=10)
    run = rig.get(run_id)
    assert (run.phase, run.reason) == (RunPhase.FAILED, f"{why} This was attempt 3.")
    assert "Jupyter Server 2.17.0 is running at" in rig.notes(run_id)["ended"]


def test_the_limit_of_its_job_is_well_too(rig: Rig) -> None:
    run_id = running(rig)
    rig.outside.clock.moment += timedelta(hours=25)
    rig.look()
    rig.pass_time(minutes=1)
    assert (rig.get(run_id).phase, left_beside(rig, run_id)) == (RunPhase.EXPIRED, [])


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
@pytest.mark.parametrize("request_name", [*MADE, "delete jobs"])
def test_a_lost_answer_changes_nothing(rig: Rig, request_name: str, fault: Fault) -> None:
    rig.outside.ledger.by_name[request_name] = [fault]
    run_id = begin(rig, time=timedelta(minutes=2))
    rig.pass_time(minutes=4)
    assert (rig.get(run_id).phase, left(rig, run_id)) == (RunPhase.EXPIRED, [])
    assert list(rig.notes(run_id)) == ["admitted-1", "ended"]
    assert rig.outside.ledger.by_name[request_name] == []


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
@pytest.mark.parametrize("request_name", GONE)
def test_a_lost_answer_leaves_nothing(rig: Rig, request_name: str, fault: Fault) -> None:
    rig.world.behaviours[NOTEBOOK] = Training(epochs=1, seconds_per_epoch=30)
    rig.outside.ledger.by_name[request_name] = [fault]
    run_id = begin(rig)
    rig.pass_time(minutes=2)
    assert (rig.get(run_id).phase, left_beside(rig, run_id)) == (RunPhase.SUCCEEDED, [])
    assert rig.outside.ledger.by_name[request_name] == []


@pytest.mark.parametrize("number", range(LONGEST_LIFE))
def test_killed_before_a_step_was_saved(rig: Rig, number: int) -> None:
    run_id = begin(rig, time=timedelta(minutes=1))
    for step in range(LONGEST_LIFE):
        rig.look()
        if step == number:
            rig.controller.step(run_id)
            rig.restart()
        rig.loop.run_due()
        rig.outside.clock.moment += timedelta(seconds=10)
    rig.pass_time(minutes=1)
    assert (rig.get(run_id).phase, left(rig, run_id)) == (RunPhase.EXPIRED, [])
    tokens = [each for each in rig.effects() if each == "create secrets"]
    assert (len(tokens), list(rig.notes(run_id))) == (1, ["admitted-1", "ended"])


@pytest.mark.parametrize("steps", range(9))
def test_stopped_in_every_phase_leaves_nothing(rig: Rig, steps: int) -> None:
    run_id = begin(rig, time=timedelta(minutes=1))
    for _ in range(steps):
        rig.look()
        rig.loop.run_due()
        rig.outside.clock.moment += timedelta(seconds=2)
    rig.stop(run_id)
    rig.pass_time(minutes=3)
    assert (rig.get(run_id).phase, left(rig, run_id)) == (RunPhase.STOPPED, [])


def test_what_others_named_alike_is_left_alone(rig: Rig) -> None:
    run_id = begin(rig)
    name = f"session-{rig.get(run_id).job_name}"
    theirs = {"metadata": {"name": name}, "stringData": {"token": "theirs"}}
    rig.world.create("secrets", theirs, "team-a")
    rig.pass_time(minutes=1)
    assert rig.get(run_id).phase == RunPhase.FAILED
    assert rig.get(run_id).reason == (
        f"Namespace team-a already has a Secret {name} that Quartermaster did not create. It was"
        " not changed."
    )
    assert rig.world.get("secrets", name, "team-a") is not None
