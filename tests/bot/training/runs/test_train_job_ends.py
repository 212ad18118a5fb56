"""TrainJobs that have ended: nobody but the bot removes them."""

import pytest

from bot.training.tables import RunPhase
from playground.ledger import Fault
from tests.bot.training.rig import Rig
from tests.bot.training.runs.test_elastic_forms import submit


@pytest.fixture
def trained(rig: Rig) -> str:
    """A run that has succeeded as a TrainJob."""
    rig.world.install("trainer")
    rig.look()
    run_id = submit(rig, "trainjob", 2, 2)
    rig.pass_time(hours=3)
    assert rig.get(run_id).phase == RunPhase.SUCCEEDED
    return run_id


def left(rig: Rig) -> tuple[int, int, int]:
    kinds = ("trainjobs", "jobsets", "pods")
    trainjobs, jobsets, pods = (len(rig.world.list(kind, "team-a")) for kind in kinds)
    return trainjobs, jobsets, pods


@pytest.mark.parametrize("fault", [None, Fault.LOSE_ANSWER, Fault.REFUSE])
def test_an_ended_train_job_goes_after_three_days(
    rig: Rig, trained: str, fault: Fault | None
) -> None:
    rig.pass_time(days=2, hours=20)
    assert left(rig) == (1, 1, 2)
    if fault is not None:
        rig.outside.ledger.by_name["delete trainjobs"] = [fault]
    rig.pass_time(hours=3)
    assert left(rig) == (0, 0, 0)
    run = rig.get(trained)
    assert (run.phase, run.trouble) == (RunPhase.SUCCEEDED, "")
    assert "ended" in rig.notes(trained)


@pytest.mark.usefixtures("trained")
def test_one_from_before_goes_when_it_is_seen(rig: Rig) -> None:
    rig.pass_time(days=2)
    # As a version left it that never looked again; the first list of a process wakes its row.
    rig.forget_due()
    rig.pass_time(days=9)
    assert left(rig)[0] == 1
    rig.see_anew()
    rig.pass_time(minutes=5)
    assert left(rig) == (0, 0, 0)


def test_a_train_job_of_others_stays(rig: Rig, trained: str) -> None:
    name = rig.get(trained).job_name
    rig.world.patch(
        "trainjobs", name, {"metadata": {"labels": {"quartermaster.dev/run": "another"}}}, "team-a"
    )
    rig.pass_time(days=9)
    assert left(rig)[0] == 1
