"""Logs: from the cluster while it has them, else as they were kept."""

from bot.training.logs.reads import LogRequest
from tests.bot.training.objects import later
from tests.bot.training.rig import Rig


def test_a_running_pod_is_read_live(rig: Rig) -> None:
    run_id = rig.submit()
    rig.pass_time(seconds=70)
    tail = rig.reads.log_tail(rig.get(run_id), LogRequest(2))
    assert (tail.pod, tail.kept_at, tail.trouble) == (rig.world.list("pods")[0]["metadata"]["name"],
                                                      None, "")  # fmt: skip
    assert tail.lines == (
        "2026-11-21 12:01:53 epoch 1/3 step 400/400 loss 1.394 images/sec: 804.3",
        "2026-11-21 12:01:53 epoch 1/3 finished, accuracy 0.535, checkpoint saved",
    )


def test_kept_lines_outlive_the_pod(rig: Rig) -> None:
    run_id = rig.submit()
    rig.pass_time(minutes=5)
    rig.world.delete("jobs", rig.get(run_id).job_name, "team-a")
    rig.pass_time(minutes=1)
    tail = rig.reads.log_tail(rig.get(run_id), LogRequest(1))
    assert tail.lines == ("2026-11-21 12:03:53 Total images/sec: 812.4",)
    assert (tail.kept_at, tail.trouble) == (later(minutes=3, seconds=7), "")


def test_kept_lines_help_while_the_cluster_is_down(rig: Rig) -> None:
    run_id = rig.submit()
    rig.pass_time(seconds=70)
    rig.world.faults.unavailable = True
    tail = rig.reads.log_tail(rig.get(run_id), LogRequest(1))
    assert tail.lines[0].startswith("2026-11-21 12:01:47 epoch 1/3 step 360/400")
    assert tail.kept_at is not None
    assert tail.trouble == (
        f"Reading the log of Pod {tail.pod} in namespace team-a on cluster default:"
        " 503 ServiceUnavailable: the server is currently unable to handle the request."
    )


def test_a_run_without_pod_said_nothing(rig: Rig) -> None:
    run_id = rig.submit()
    tail = rig.reads.log_tail(rig.get(run_id), LogRequest(10))
    assert (tail.pod, tail.lines, tail.trouble) == (None, (), "")


def test_a_pod_that_starts_said_nothing(rig: Rig) -> None:
    run_id = rig.submit()
    rig.pass_time(seconds=1)
    tail = rig.reads.log_tail(rig.get(run_id), LogRequest(10))
    assert (tail.pod, tail.lines, tail.trouble) == (None, (), "")
