"""Whose log is read, and from when: the pods of several nodes, and what ran before a restart."""

from typing import Any

import pytest

from bot.errors import NotFoundError
from bot.slack.card import Reply
from bot.slack.text import as_text
from bot.training.logs.reads import LogRequest, LogTail
from bot.training.runs.replies import log_card
from playground.cluster.control.training import Training
from tests.bot.training.rig import IMAGE, Rig
from tests.bot.training.runs.test_elastic_forms import manage_pytorch_jobs

FAILS = Training(fails_after=30, exit_code=1)


def running(rig: Rig, **more: Any) -> str:
    """A run of several nodes that has said something."""
    run_id = rig.submit(**{"kind": "elastic", "nodes": 2, "image": IMAGE, **more})
    rig.pass_time(seconds=70)
    return run_id


def with_mpi(rig: Rig) -> str:
    rig.world.install("mpi-operator")
    rig.look()
    return running(rig, kind="mpi")


def read(rig: Rig, run_id: str, **options: Any) -> LogTail:
    return rig.reads.log_tail(rig.get(run_id), LogRequest(**{"lines": 50, **options}))


def refusal(rig: Rig, run_id: str, **options: Any) -> tuple[str, str]:
    with pytest.raises(NotFoundError) as caught:
        read(rig, run_id, **options)
    return caught.value.message, caught.value.hint


def shown(name: str, tail: LogTail, **options: Any) -> list[str]:
    card = log_card(name, tail, LogRequest(**{"lines": 50, **options}))
    return as_text(Reply(card=card)).splitlines()


def test_each_node_has_a_log_of_its_own(rig: Rig) -> None:
    run_id = running(rig)
    job = rig.get(run_id).job_name
    pods = [read(rig, run_id, pod=name).pod or "" for name in ("0", "1", "")]
    assert [pod.rpartition("-")[0] for pod in pods] == [f"{job}-0", f"{job}-1", f"{job}-0"]
    assert read(rig, run_id, pod=pods[1]) == read(rig, run_id, pod="1")


def test_launcher_and_workers_are_called_so(rig: Rig) -> None:
    run_id = with_mpi(rig)
    job = rig.get(run_id).job_name
    assert (read(rig, run_id, pod="launcher").pod or "").startswith(f"{job}-launcher")
    assert read(rig, run_id, pod="worker-1").pod == f"{job}-worker-1"
    assert read(rig, run_id, pod="1").pod == f"{job}-worker-1"


def test_a_pod_that_is_not_there_is_named(rig: Rig) -> None:
    run_id = with_mpi(rig)
    assert refusal(rig, run_id, pod="2") == (
        "lane has no log of pod 2.",
        "It has logs of: launcher, worker-0, worker-1. Use `--pod worker-1`.",
    )
    waiting = rig.submit("later", kind="elastic", nodes=2)
    assert refusal(rig, waiting, pod="1") == (
        "later has no log of pod 1.",
        "later has no pod yet.",
    )


def test_kept_lines_are_known_by_their_pod(rig: Rig) -> None:
    run_id = running(rig)
    rig.pass_time(minutes=5)
    rig.world.delete("jobs", rig.get(run_id).job_name, "team-a")
    rig.pass_time(minutes=1)
    assert read(rig, run_id, pod="0", lines=1) == read(rig, run_id, lines=1)
    assert refusal(rig, run_id, pod="1")[1] == "It has logs of: 0. Use `--pod 0`."


def test_the_attempt_before_is_read(rig: Rig) -> None:
    rig.world.behaviours[IMAGE] = FAILS
    run_id = rig.submit()
    rig.pass_time(seconds=70)
    now, before = read(rig, run_id), read(rig, run_id, is_previous=True)
    assert (before.pod, before.lines[-1]) != (now.pod, now.lines[-1])
    assert before.lines[-1].endswith("RuntimeError: training stopped with exit code 1")
    assert shown("lane", before, is_previous=True)[0] == (
        f"Log of lane · {before.pod}, before its last restart"
    )


def test_a_container_started_again_tells_what_was(rig: Rig) -> None:
    rig.world.install("training-operator")
    manage_pytorch_jobs(rig)
    rig.look()
    rig.world.behaviours[IMAGE] = FAILS
    run_id = rig.submit(kind="elastic", form="pytorchjob", nodes=2)
    rig.pass_time(seconds=60)
    before = read(rig, run_id, is_previous=True)
    assert before.pod == f"{rig.get(run_id).job_name}-worker-0"
    assert before.lines[-1].endswith("RuntimeError: training stopped with exit code 1")
    assert read(rig, run_id).lines[-1] != before.lines[-1]


def test_kept_attempts_are_told_apart(rig: Rig) -> None:
    rig.world.behaviours[IMAGE] = FAILS
    run_id = rig.submit()
    rig.pass_time(minutes=12)
    last = read(rig, run_id)
    rig.world.delete("jobs", rig.get(run_id).job_name, "team-a")
    rig.pass_time(minutes=1)
    kept, before = read(rig, run_id), read(rig, run_id, is_previous=True)
    assert kept.kept_at is not None
    assert before.kept_at is not None
    assert (kept.pod, before.pod != kept.pod) == (last.pod, True)


def test_what_never_restarted_has_nothing_before(rig: Rig) -> None:
    run_id = running(rig)
    pod = read(rig, run_id).pod
    said, hint = refusal(rig, run_id, is_previous=True)
    assert (said, hint) == (
        f"Pod {pod} is the first one, and its program was started only once.",
        "Leave `--previous` out to see its output.",
    )


def test_all_of_a_log_is_read(rig: Rig) -> None:
    run_id = running(rig, kind="job", nodes=None)
    whole, last = read(rig, run_id, is_whole=True), read(rig, run_id, lines=1)
    assert whole.lines[0].endswith("Loading dataset from /data")
    assert (whole.lines[-1], whole.is_cut) == (last.lines[-1], False)
    assert shown("lane", whole, is_whole=True)[1] == (
        "Nodes keep the newest file of a log, and usually start a new file at 10 MiB."
    )
