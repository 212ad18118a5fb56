"""Runs with a launcher and workers, from their beginning to their end, in a cluster over HTTP."""

import json
from datetime import datetime
from typing import Any

import pytest
from sqlmodel import col, select

from bot.audit import AuditLine
from bot.errors import UsageError
from bot.training.tables import RunPhase
from playground.cluster.control.speech import Line
from playground.cluster.control.training import Training
from playground.cluster.story import training_job
from playground.ledger import Fault
from tests.bot.training.rig import IMAGE, Rig

SECRET, SERVICE = "create secrets", "create services"
NO_SECRET, NO_SERVICE = "delete secrets", "delete services"
MADE, CLEARED = ["create jobs", SECRET, SERVICE], [NO_SECRET, NO_SERVICE]


def submitted(rig: Rig, **more: Any) -> str:
    """A run on both nodes."""
    fields: dict[str, Any] = {
        "kind": "sync",
        "nodes": 2,
        "gpus": 6,
        "command": ("python", "train.py"),
    }
    return rig.submit(**(fields | more))


def beside(rig: Rig) -> list[str]:
    """What is in the namespace beside what was there before."""
    names = [each["metadata"]["name"] for each in rig.world.list("services", "team-a")]
    secrets = [each["metadata"]["name"] for each in rig.world.list("secrets", "team-a")]
    return names + [name for name in secrets if name.endswith("-ssh")]


def test_launcher_and_workers_end_together(rig: Rig) -> None:
    run_id = submitted(rig)
    rig.pass_time(seconds=30)
    assert rig.card(run_id).splitlines()[0] == "▶️ lane · Running for 27s"
    assert len(rig.world.list("pods", "team-a")) == 2
    rig.pass_time(minutes=2)
    shown = rig.card(run_id)
    assert shown.splitlines()[0] == "✅ lane · Succeeded in 1m 6s"
    assert "total images/sec 9748.80000" in shown
    assert "GPUs       12 (6 on each of 2 nodes)" in shown
    assert "Nodes      gpu-1, gpu-2" in shown
    assert (rig.effects(), beside(rig)) == ([*MADE, *CLEARED], [])


# The end of the log of the guide's launcher, with what its MPI complains of.
GUIDE = """\
[10.61.218.152:00008] WARNING: local probe returned unhandled shell:unknown assuming bash
rm: cannot remove '/lib': Is a directory
[10.61.218.154:00033] PMIX ERROR: NO-PERMISSIONS in file gds_dstore.c at line 702
Total images/sec = 12881.33875
================ Clean Cache !!! ==================
mpirun -allow-run-as-root -np 2 -H 10.61.218.152:1,10.61.218.154:1 -mca pml ob1
========================================="""


def test_the_throughput_of_the_guide_is_the_result(rig: Rig) -> None:
    def log(_: Training, started: datetime, until: datetime) -> list[Line]:
        del until
        return [(started, line) for line in GUIDE.splitlines()]

    rig.world.behaviours[IMAGE] = Training(seconds_per_epoch=346, log=log)
    command = ("sh", "-c", "python /netapp/scripts/run.py --nodes=$QUARTERMASTER_HOSTS")
    run_id = submitted(rig, name="resnet", command=command)
    rig.pass_time(minutes=10)
    assert rig.card(run_id).replace(rig.get(run_id).job_name, "resnet-ID").splitlines() == [
        "✅ resnet · Succeeded in 5m 52s",
        "  Image      `ghcr.io/acme/lane:3.1`",
        "  Kind       sync",
        "  GPUs       12 (6 on each of 2 nodes)",
        "  By         Alice",
        "  Where      `team-a/resnet-ID`",
        "  Nodes      gpu-1, gpu-2",
        "  Submitted  2026-11-21 12:00 UTC",
        "  Started    2026-11-21 12:00 UTC",
        "  Results    total images/sec 12881.33875",
        "  Last line  `=========================================`",
        "  [Logs] [Curves] [Resubmit]",
    ]


def test_a_preempted_run_forgets_its_nodes(rig: Rig) -> None:
    run_id = submitted(rig)
    rig.pass_time(seconds=30)
    assert rig.get(run_id).nodes == ["gpu-1", "gpu-2"]
    rig.world.create("jobs", training_job("theirs", 8, "team-b", epochs=2), "team-b")
    rig.pass_time(seconds=10)
    assert (rig.get(run_id).phase, rig.get(run_id).nodes) == (RunPhase.PREEMPTED, [])
    rig.pass_time(minutes=10)
    assert (rig.get(run_id).phase, rig.get(run_id).nodes) == (
        RunPhase.SUCCEEDED,
        ["gpu-1", "gpu-2"],
    )


def test_the_hosts_find_each_other(rig: Rig) -> None:
    run_id = submitted(rig)
    rig.pass_time(seconds=30)
    name = rig.get(run_id).job_name
    (service,) = rig.world.list("services", "team-a")
    assert service["metadata"]["name"] == f"hosts-{name}"
    (slices,) = rig.world.list("endpointslices", "team-a")
    assert sorted(each["hostname"] for each in slices["endpoints"]) == [f"{name}-0", f"{name}-1"]


@pytest.mark.parametrize("name", [*MADE, *CLEARED])
@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_a_lost_answer_makes_nothing_twice(rig: Rig, name: str, fault: Fault) -> None:
    rig.outside.ledger.by_name[name] = [fault]
    run_id = submitted(rig)
    rig.pass_time(minutes=5)
    assert (rig.get(run_id).phase, beside(rig)) == (RunPhase.SUCCEEDED, [])
    is_made_again = (name, fault) == ("create jobs", Fault.REFUSE)
    assert rig.effects().count("create jobs") == 1 + is_made_again


@pytest.mark.parametrize("seconds", [0, 1, 10, 45])
def test_a_run_stopped_anywhere_leaves_nothing(rig: Rig, seconds: int) -> None:
    run_id = submitted(rig)
    rig.pass_time(seconds=seconds)
    rig.restart()
    rig.stop(run_id)
    rig.pass_time(minutes=3)
    assert (rig.get(run_id).phase, beside(rig)) == (RunPhase.STOPPED, [])
    assert rig.job(run_id) is None


def test_a_failed_launcher_takes_its_workers_along(rig: Rig) -> None:
    rig.world.behaviours["lane"] = Training(fails_after=12, exit_code=3)
    run_id = submitted(rig)
    rig.pass_time(minutes=10)
    assert rig.card(run_id).splitlines()[0] == "❌ lane · Failed after 1m 14s"
    assert [each["status"]["phase"] for each in rig.world.list("pods", "team-a")] == ["Failed"] * 3
    assert beside(rig) == []


def test_keys_that_somebody_deleted_come_back(rig: Rig) -> None:
    run_id = submitted(rig)
    rig.run()
    secret = f"{rig.get(run_id).job_name}-ssh"
    rig.world.delete("secrets", secret, "team-a")
    rig.pass_time(minutes=5)
    assert rig.get(run_id).phase == RunPhase.SUCCEEDED


def test_no_key_is_in_rows_or_audit(rig: Rig) -> None:
    run_id = submitted(rig)
    rig.pass_time(seconds=30)
    row = rig.get(run_id).model_dump_json()
    facts = rig.do(lambda s: json.dumps(s.scalars(select(col(AuditLine.facts))).all()))
    assert "PRIVATE" not in row + facts
    assert "ssh-ed25519" not in row + facts


def test_workers_run_a_server_of_the_image(rig: Rig) -> None:
    run_id = submitted(rig, worker_command=("bash", "serve.sh"), launcher="none")
    rig.world.behaviours[f"{rig.get(run_id).job_name}-1"] = Training(never_ends=True)
    rig.pass_time(seconds=30)
    assert rig.get(run_id).phase == RunPhase.RUNNING
    rig.pass_time(minutes=2)
    assert rig.get(run_id).phase == RunPhase.SUCCEEDED
    assert (rig.effects(), beside(rig)) == ([*MADE, *CLEARED], [])


def test_a_secret_of_workers_is_not_stored(rig: Rig) -> None:
    with pytest.raises(UsageError, match="What follows `--token` in the command"):
        submitted(rig, worker_command=("serve", "--token", "hf_" + "aB3" * 11))


def test_only_sync_has_workers_of_ones_own(rig: Rig) -> None:
    with pytest.raises(UsageError) as refused:
        rig.submit(kind="mpi", nodes=2, worker_command=("serve",))
    assert (refused.value.message, refused.value.hint) == (
        "`--worker-command` does not apply to `--kind mpi`.",
        "Leave it out, or use a kind that supports it: `--kind sync`.",
    )
    with pytest.raises(UsageError, match="`--launcher` does not apply to `--kind job`"):
        rig.submit(launcher="none")


def test_a_run_without_a_command_is_refused(rig: Rig) -> None:
    with pytest.raises(UsageError) as refused:
        submitted(rig, command=())
    assert (refused.value.message, refused.value.hint) == (
        "`--kind sync` needs the command that runs on every node.",
        "Put it at the end: `-- python train.py`.",
    )
