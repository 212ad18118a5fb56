"""What owners are told of the time of their runs: a long wait is over, a limit is near."""

from collections.abc import Callable
from datetime import timedelta

from sqlalchemy import Engine, event
from sqlmodel import col, select

from bot.slack.messages import Message
from bot.training.tables import RunPhase
from playground.cluster.story import training_job
from tests.bot.ground import ALICE
from tests.bot.training.rig import Rig

STARTED = f"<@{ALICE}> lane is running after waiting for "


def told(rig: Rig, run_id: str, purpose: str) -> list[str]:
    """What was said for a purpose that begins so, in order."""
    rows = select(Message).where(
        col(Message.subject_id) == run_id, col(Message.purpose).startswith(purpose)
    )
    found = rig.do(lambda session: session.scalars(rows.order_by(col(Message.id))).all())
    return ["\n".join(row.content or ()) for row in found]


def waits(rig: Rig, **length: float) -> str:
    """A run that waits for so long until there is quota for it, where 5 minutes are long."""
    expects(rig, timedelta(minutes=5))
    rig.world.create("jobs", training_job("theirs", 8, "team-b", epochs=900), "team-b")
    run_id = rig.submit(gpus=6)
    rig.pass_time(**length)
    rig.world.set_quota("team-a", "6")
    rig.pass_time(seconds=20)
    return run_id


def expects(rig: Rig, long_wait: timedelta) -> None:
    training = rig.policy.training.model_copy(update={"long_wait": long_wait})
    rig.policy = rig.policy.model_copy(update={"training": training})


def test_start_after_a_long_wait_is_told_once(rig: Rig) -> None:
    run_id = waits(rig, minutes=5, seconds=1)  # Kueue says in which second it admitted the run.
    assert rig.get(run_id).phase == RunPhase.RUNNING
    assert told(rig, run_id, "started") == [f"{STARTED}5m."]
    rig.restart()
    rig.pass_time(seconds=20)
    assert len(told(rig, run_id, "started")) == 1


def test_start_after_a_short_wait_is_no_news(rig: Rig) -> None:
    assert told(rig, waits(rig, minutes=4), "started") == []


def test_wait_counts_anew_after_a_preemption(rig: Rig) -> None:
    expects(rig, timedelta(seconds=1))
    run_id = rig.submit(gpus=6)
    rig.pass_time(seconds=70)
    assert told(rig, run_id, "started") == []
    rig.world.create("jobs", training_job("theirs", 8, "team-b", epochs=2), "team-b")
    rig.pass_time(minutes=10)
    [said] = told(rig, run_id, "started")
    [admitted] = told(rig, run_id, "admitted-2")
    assert said == admitted.replace("Admitted after ", STARTED)


def limited(rig: Rig) -> str:
    """A run that has run for a minute of its ten."""
    command = ("python", "train.py", "--epochs", "9000")
    run_id = rig.submit(time=timedelta(minutes=10), command=command)
    rig.pass_time(minutes=1)
    assert rig.get(run_id).phase == RunPhase.RUNNING
    return run_id


def test_near_limit_is_told_once(rig: Rig) -> None:
    run_id = limited(rig)
    rig.pass_time(minutes=6, seconds=50)
    assert told(rig, run_id, "time") == []
    rig.pass_time(seconds=15)
    [said] = told(rig, run_id, "time")
    assert said.startswith(
        f"<@{ALICE}> lane has used 80 % of its time limit of 10m. It is stopped <"
    )
    assert said.endswith(" unless it finishes first. Work since its last checkpoint is then lost.")
    rig.restart()
    rig.pass_time(minutes=1)
    assert len(told(rig, run_id, "time")) == 1
    rig.pass_time(minutes=2)
    assert rig.get(run_id).phase == RunPhase.FAILED


def test_near_limit_is_told_late_after_an_outage(rig: Rig) -> None:
    run_id = limited(rig)
    rig.outside.clock.moment += timedelta(minutes=8)
    rig.restart()
    rig.run()
    assert "lane has used 90 % of its time limit" in told(rig, run_id, "time")[0]


def updates_of_runs(rig: Rig, **length: float) -> list[int]:
    """How often each transaction of a time updated a run."""
    counted = [0]

    def count(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        counted[-1] += statement.startswith("UPDATE runs ")

    def committed(_connection: object) -> None:
        counted.append(0)

    listened: dict[str, Callable[..., None]] = {
        "before_cursor_execute": count,
        "commit": committed,
    }
    for name, heard in listened.items():
        event.listen(Engine, name, heard)
    try:
        rig.pass_time(**length)
    finally:
        for name, heard in listened.items():
            event.remove(Engine, name, heard)
    return [each for each in counted if each]


def test_each_step_updates_its_run_once(rig: Rig) -> None:
    run_id = rig.submit()
    updates = updates_of_runs(rig, minutes=1)
    assert rig.get(run_id).phase == RunPhase.RUNNING
    assert len(updates) >= 3  # it is created, admitted, and runs
    assert set(updates) == {1}
