"""What is kept of a run: to be shown, exported, and set beside others."""

import json
from datetime import timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import delete
from sqlmodel import select

from bot.slack.card import AsFile
from bot.slack.grammar.container_parameters import EnvironmentVariable, SecretReference, VolumeMount
from bot.training.records.record import details, export_card, export_text, record_of
from bot.training.records.spans import Times, times_of
from bot.training.tables import Run, RunPhase, Span
from playground.cluster.control.training import Training
from playground.cluster.story import training_job
from tests.bot.training.records.past import NOW, finished, took
from tests.bot.training.rig import Rig
from tests.moments import in_whole_seconds

RECORD: dict[str, Any] = {
    "run": "lane",
    "team": "team-a",
    "person": "U0ALICE",
    "kind": "job",
    "form": None,
    "preset": None,
    "state": "succeeded",
    "reason": None,
    "exported_at": "2026-11-21T12:05:46Z",
    "image": {"asked": "ghcr.io/acme/lane:3.1"},
    "code": {"repository": "github.com/acme/lane", "commit": "3f2a9c1"},
    "command": ["python", "train.py", "--epochs", "3"],
    "launcher": None,
    "worker_command": [],
    "data": [],
    "artifacts": [],
    "snapshot": None,
    "from": None,
    "after": [],
    "env": {"BATCH": "32"},
    "secrets": {"TOKEN": "wandb/token"},
    "pvcs": [{"claim": "imagenet", "path": "/data", "read_only": True}],
    "where": {
        "cluster": "default",
        "namespace": "team-a",
        "queue": "team-a",
        "flavor": "h100",
        "nodes": ["gpu-1"],
    },
    "requests": {
        "pods": 1,
        "gpus": 2.0,
        "gpu_type": None,
        "of_each_pod": {"cpu": "16", "memory": "144Gi", "nvidia.com/gpu": "2"},
        "priority": None,
        "time_limit_seconds": None,
    },
    "times": {
        "asked_at": "2026-11-21T12:00:46Z",
        "admitted_at": "2026-11-21T12:00:46Z",
        "started_at": "2026-11-21T12:00:49Z",
        "ended_at": "2026-11-21T12:03:53Z",
        "seconds": {"creating": 3, "running": 184},
    },
    "gpu_hours": 0.102,
    "gpus_busy": None,
    "counts": {"admissions": 1, "preemptions": 0, "failed_attempts": 0},
    "arguments": {"epochs": "3"},
    "series_lost": {"gaps": 0, "names": []},
    "metrics": {"loss": "0.504", "accuracy": "0.832", "total images/sec": "812.4"},
    "links": {},
    "mlflow": None,
    "progress": {"done": 3.0, "total": 3, "unit": "epochs"},
}


def times(rig: Rig, run_id: str) -> Times:
    """What its time went into."""
    found, now = rig.get(run_id), rig.clock.now()
    return rig.do(lambda session: times_of(session, found, now))


def seconds(found: Times) -> dict[str, int]:
    """The same in whole seconds."""
    return {str(phase): int(lasted.total_seconds()) for phase, lasted in found.phases.items()}


def test_the_time_in_each_state_is_kept(rig: Rig) -> None:
    run_id = rig.submit(gpus=6)
    rig.pass_time(seconds=70)
    rig.world.create("jobs", training_job("theirs", 8, "team-b", epochs=2), "team-b")
    rig.pass_time(minutes=10)
    found = times(rig, run_id)
    assert rig.get(run_id).phase == RunPhase.SUCCEEDED
    assert list(found.phases) == [RunPhase.CREATING, RunPhase.RUNNING, RunPhase.PREEMPTED]
    lasted = (rig.get(run_id).ended_at or NOW) - in_whole_seconds(rig.get(run_id).asked_at)
    assert sum(seconds(found).values()) == int(lasted.total_seconds())
    ran = seconds(found)["running"]
    assert found.gpu_hours == Decimal(6 * ran) / 3600
    spans = rig.do(lambda session: len(session.exec(select(Span)).all()))
    rig.pass_time(minutes=10)
    assert rig.do(lambda session: len(session.exec(select(Span)).all())) == spans


def test_a_run_that_goes_on_counts_until_now(rig: Rig) -> None:
    rig.world.behaviours["lane"] = Training(never_ends=True)
    run_id = rig.submit()
    rig.pass_time(minutes=5)
    assert seconds(times(rig, run_id)) == {"creating": 3, "running": 297}


def test_a_run_that_nobody_saw_running_ran(rig: Rig) -> None:
    run_id = rig.submit()
    rig.run()
    rig.world.settle()
    rig.outside.clock.moment += timedelta(minutes=10)
    rig.pass_time(seconds=20)
    assert rig.get(run_id).phase == RunPhase.SUCCEEDED
    assert seconds(times(rig, run_id)) == {"creating": 3, "running": 184}


def test_runs_of_before_spans_tell_by_their_ends(rig: Rig) -> None:
    run_id = rig.submit()
    rig.pass_time(minutes=5)
    rig.do(lambda session: session.connection().execute(delete(Span)))
    assert seconds(times(rig, run_id)) == {"running": 184}
    rig.do(lambda session: setattr(session.get_one(Run, run_id), "preemptions", 1))
    assert times(rig, run_id) == Times({}, None, None)


def test_a_record_says_all_but_secrets(rig: Rig) -> None:
    run_id = rig.submit(
        env=(EnvironmentVariable("BATCH", "32"),),
        secret=(SecretReference("TOKEN", "wandb", "token"),),
        pvc=(VolumeMount("imagenet", "/data", read_only=True),),
        code="github.com/acme/lane@3f2a9c1",
    )
    rig.pass_time(minutes=5)
    found, now = rig.get(run_id), rig.clock.now()
    record = json.loads(export_text(found, times(rig, run_id), now))
    assert record.pop("series") == {}
    assert record == record_of(found, times(rig, run_id), now)
    digest = "8ad2f9e7b7b0ea23ae1d0b2ac1ac8fd31e62bb2b4cba3e0ffe56c76ab0eb0e69"
    assert len(record["image"]["found"].rpartition("@sha256:")[2]) == len(digest)
    del record["image"]["found"], record["where"]["uid"], record["metrics"]["images/sec"]
    varying = {"id": run_id, "where": RECORD["where"] | {"object": f"Job/{found.job_name}"}}
    assert record == RECORD | varying


def test_what_looks_like_a_secret_is_masked() -> None:
    env = [["API_KEY", "abcdefgh1234"], ["NOTE", "`a`"]]
    command = ["python", "--token=hf_0123456789abcdefghij"]
    spec = finished("lane", 1).spec | {"env": env, "command": command}
    found = finished("lane", 1, spec=spec)
    record = json.loads(export_text(found, took(timedelta(hours=1)), NOW))
    assert record["env"] == {"API_KEY": "[hidden]", "NOTE": "`a`"}
    assert record["command"] == ["python", "--token=[hidden]"]
    said = dict(details(found, took(timedelta(hours=1))))
    assert said["Command"] == "`python --token=[hidden]`"
    assert said["Variables"] == "`API_KEY=[hidden] NOTE=\u02cba\u02cb`"


def test_a_long_record_has_all_of_it() -> None:
    command = ["bash", "-c", "echo step; " * 500, *["--learning-rate"] * 3_000]
    spec = finished("lane", 1).spec | {"command": command, "env": [["LAYERS", "12 " * 1_000]]}
    nodes = [f"node-{number}" for number in range(500)]
    card = export_card(finished("lane", 1, spec=spec, ran_on=nodes), took(timedelta(hours=1)), NOW)
    record = json.loads(card.document)
    assert card.as_file == AsFile("lane.json")
    assert (record["command"], record["env"]) == (command, {"LAYERS": "12 " * 1_000})
    assert record["where"]["nodes"] == nodes


def test_a_secret_deep_in_a_word_is_masked() -> None:
    script = "echo step; " * 500 + "export HF_TOKEN=hf_0123456789abcdefghij"
    spec = finished("lane", 1).spec | {"command": ["bash", "-c", script]}
    text = export_text(finished("lane", 1, spec=spec), took(timedelta(hours=1)), NOW)
    assert json.loads(text)["command"][2].endswith("; export HF_TOKEN=[hidden]")
