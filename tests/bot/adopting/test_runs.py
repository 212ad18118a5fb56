"""Runs that live on while their database is lost, and what becomes of them in a new one."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlmodel import Session, select

from bot.cluster import labels
from bot.cluster.resources import PVCS
from bot.database.database import Database
from bot.holds import Hold
from bot.slack.grammar.container_parameters import VolumeMount
from bot.slack.messages import places_of
from bot.teams.tables import SlackTeam
from bot.training.tables import RunPhase
from playground.cluster.control.training import Training
from tests.bot.adopting.rig import adopt, found, job_name, lose_database, relabel, rows
from tests.bot.ground import ALICE
from tests.bot.training.cards import card
from tests.bot.training.rig import IMAGE, Rig
from tests.bot.training.runs.test_elastic_forms import manage_pytorch_jobs


def test_an_adopted_run_ends_as_any_other(rig: Rig, tmp_path: Path) -> None:
    run_id = rig.submit()
    rig.pass_time(seconds=70)
    before = rig.get(run_id)
    lose_database(rig, tmp_path)
    shown = adopt(rig, is_trial=True)
    assert shown == ["Runs to adopt:", f"  lane of team-a: Job team-a/{before.job_name} on default"]
    assert rows(rig) == []
    assert adopt(rig) == ["Adopted runs:", *shown[1:]]
    begun = len(rig.effects())
    rig.pass_time(seconds=10)
    assert card(rig, run_id).splitlines()[0] == "▶️ lane · Running for 1m 17s"
    rig.pass_time(minutes=5)
    assert card(rig, run_id).splitlines()[0] == "✅ lane · Succeeded in 3m 4s"
    assert rig.notes(run_id) == {
        "adopted": ("lane goes on under a new database. Buttons of its older card no longer work."),
        "ended": (
            f"<@{ALICE}> lane succeeded after 3m 4s. images/sec 820.5 · loss 0.504"
            " · accuracy 0.832 · total images/sec 812.4.\n"
            "More of the log: `/train logs lane`"
        ),
    }
    assert rig.effects()[begun:] == []
    after = rig.get(run_id)
    same = ("id", "name", "number", "person", "channel", "queue", "spec", "asked_at", "job_uid")
    assert {key: getattr(after, key) for key in same} == {
        key: getattr(before, key) | {"cell": None} if key == "spec" else getattr(before, key)
        for key in same
    }


def test_a_second_adoption_finds_nothing_new(rig: Rig, tmp_path: Path) -> None:
    rig.submit()
    rig.submit("edge")
    rig.pass_time(seconds=30)
    lose_database(rig, tmp_path)
    assert len(adopt(rig)) == 3
    assert adopt(rig) == ["Known already: 2 runs."]
    rig.pass_time(seconds=30)
    assert adopt(rig) == ["Known already: 2 runs."]
    assert {each.phase for each in rows(rig)} == {RunPhase.RUNNING}


def test_after_a_restore_later_runs_are_adopted(rig: Rig, tmp_path: Path) -> None:
    rig.submit()
    rig.pass_time(seconds=10)
    lose_database(rig, tmp_path)
    adopt(rig)
    with closing(sqlite3.connect(tmp_path / "anew.db")) as bot:
        bot.execute("VACUUM INTO ?", (str(tmp_path / "backup.db"),))
    rig.run()
    edge = rig.submit("edge")
    rig.pass_time(seconds=10)
    job = rig.get(edge).job_name
    rig.database.close()
    rig.database = Database(f"sqlite:///{tmp_path}/backup.db")
    rig.see_anew()
    assert adopt(rig) == [
        "Adopted runs:",
        f"  edge of team-a: Job team-a/{job} on default",
        "Known already: 1 run.",
    ]


@pytest.mark.parametrize(("code", "phase"), [(0, RunPhase.SUCCEEDED), (1, RunPhase.FAILED)])
def test_an_ended_run_is_known_and_told_nobody(
    rig: Rig, tmp_path: Path, code: int, phase: RunPhase
) -> None:
    rig.world.behaviours[IMAGE] = Training(fails_after=20 if code else None, exit_code=code)
    run_id = rig.submit()
    rig.pass_time(minutes=30)
    before = rig.get(run_id)
    assert before.phase == phase
    lose_database(rig, tmp_path)
    assert adopt(rig) == [
        "Adopted ended runs:",
        f"  lane of team-a: Job team-a/{before.job_name} on default",
    ]
    assert adopt(rig) == ["Known already: 1 ended run."]
    begun = len(rig.effects())
    rig.pass_time(minutes=5)
    after = rig.get(run_id)
    assert (after.phase, after.ended_at) == (phase, before.ended_at)
    assert (rig.notes(run_id), rig.effects()[begun:]) == ({}, [])
    assert rig.do(lambda session: places_of(session, after.subject)) == []
    assert rig.get(rig.resubmit("lane")).reference == "lane#2"


def test_what_an_ended_run_left_is_deleted(rig: Rig, tmp_path: Path) -> None:
    command = ("python", "train.py", "--epochs", "1")
    run_id = rig.submit(kind="sync", nodes=2, gpus=1, command=command)
    rig.pass_time(seconds=10)
    name = f"hosts-{rig.get(run_id).job_name}"
    rig.forget_due()
    rig.outside.clock.moment += timedelta(minutes=30)
    rig.world.settle()
    assert [each["metadata"]["name"] for each in rig.world.list("services", "team-a")] == [name]
    lose_database(rig, tmp_path)
    assert adopt(rig)[0] == "Adopted ended runs:"
    rig.pass_time(minutes=1)
    assert rig.world.list("services", "team-a") == []
    assert rig.get(run_id).phase == RunPhase.SUCCEEDED


def test_runs_of_a_team_from_slack_are_adopted(rig: Rig, tmp_path: Path) -> None:
    rig.submit()
    rig.pass_time(seconds=10)
    lose_database(rig, tmp_path)
    teams = dict(rig.policy.teams)
    said = teams.pop("team-a").model_dump(exclude_unset=True)
    rig.policy = rig.policy.model_copy(update={"teams": teams})
    made = SlackTeam(
        workspace_id="T0QM", name="team-a", said=said, objects=[], change_id="01aa",
        created_at=rig.clock.now(),
    )  # fmt: skip
    rig.do(lambda session: session.add(made))
    assert adopt(rig)[0] == "Adopted runs:"
    assert [each.team for each in rows(rig)] == ["team-a"]


def test_an_adopted_run_holds_its_volumes(rig: Rig, tmp_path: Path) -> None:
    rig.refresh(PVCS)
    rig.submit(pvc=(VolumeMount("imagenet", "/data", read_only=True),))
    rig.pass_time(seconds=10)
    before = rig.do(held)
    assert [each["why"] for each in before] == ["run lane of team-a"]
    lose_database(rig, tmp_path)
    adopt(rig)
    assert rig.do(held) == before


def test_a_waiting_run_is_admitted_after_adoption(rig: Rig, tmp_path: Path) -> None:
    rig.world.behaviours["first"] = Training(seconds_per_epoch=300)
    first, second = rig.submit("first", gpus=12), rig.submit("second", gpus=12)
    rig.pass_time(seconds=30)
    lose_database(rig, tmp_path)
    adopt(rig)
    rig.pass_time(seconds=30)
    assert rig.get(second).phase == RunPhase.PENDING
    assert card(rig, second).startswith("⏳ second · Pending\nWaiting since 2026-11-21 12:00 UTC.")
    rig.stop(first)
    rig.pass_time(minutes=2)
    assert rig.get(first).phase == RunPhase.STOPPED
    assert rig.notes(second)["admitted-1"].startswith("Admitted after 1m")


def test_an_extended_session_keeps_its_time(rig: Rig, tmp_path: Path) -> None:
    rig.world.behaviours[IMAGE] = Training(never_ends=True)
    command = ("sleep", "infinity")
    run_id = rig.submit("pad", kind="interactive", gpus=1, command=command)
    rig.pass_time(seconds=30)
    began, spec = rig.get(run_id).since, rig.get(run_id).spec
    assert spec["longest_seconds"] > spec["session_seconds"]
    lose_database(rig, tmp_path)
    adopt(rig)
    rig.pass_time(seconds=30)
    assert rig.get(run_id).until == began + timedelta(seconds=spec["longest_seconds"])
    assert rig.notes(run_id)["adopted"] == (
        "pad goes on under a new database. Buttons of its older card no longer work. How far it"
        " was extended is not known, so it lasts as long as it may."
    )


@pytest.mark.parametrize(
    ("kind", "form", "nodes", "operator"),
    [
        ("job", "", None, ""),
        ("interactive", "", None, ""),
        ("sync", "", 2, ""),
        ("mpi", "", 2, "mpi-operator"),
        ("elastic", "", 2, ""),
        ("elastic", "pytorchjob", 2, "training-operator"),
        ("elastic", "trainjob", 2, "trainer"),
        ("nccl", "", 2, ""),
        ("nccl", "all-pairs", 3, ""),
        ("rayjob", "", 2, "kuberay"),
    ],
)
def test_runs_of_every_kind_are_adopted(
    rig: Rig, tmp_path: Path, kind: str, form: str, nodes: int | None, operator: str
) -> None:
    if operator:
        rig.world.install(operator)
        manage_pytorch_jobs(rig)
        rig.look()
    more: dict[str, Any] = {"nodes": nodes} if nodes else {}
    command = ("python", "train.py", "--epochs", "30") if kind != "nccl" else ()
    run_id = rig.submit(kind=kind, form=form, gpus=1, command=command, **more)
    goes_on_after_adoption(rig, run_id, tmp_path)


def test_runs_with_a_deployment_are_adopted(plain: Rig, tmp_path: Path) -> None:
    command = ("python", "train.py", "--epochs", "30")
    run_id = plain.submit(
        kind="sync", form="deployment", nodes=2, gpus=6, host_network=True, command=command
    )
    goes_on_after_adoption(plain, run_id, tmp_path)


def test_a_run_beyond_its_policy_is_refused(plain: Rig, tmp_path: Path) -> None:
    """A forged record would have the bot create privileged pods."""
    command = ("python", "train.py", "--epochs", "30")
    plain.submit(
        kind="sync", form="deployment", nodes=2, gpus=6, host_network=True, command=command
    )
    plain.pass_time(seconds=10)
    name = job_name(plain)
    job = found(plain, "jobs", name, "team-a")
    record = msgspec.json.decode(job["metadata"]["annotations"][labels.RECORD])
    record["spec"]["privileged"] = True
    text = msgspec.json.encode(record).decode()
    relabel(plain, "jobs", name, annotations={labels.RECORD: text})
    plain.world.delete("deployments", f"{name}-workers", "team-a")
    lose_database(plain, tmp_path)
    assert adopt(plain) == [
        "Not adopted:",
        (
            f"  Job team-a/{name} on default: team-a may not run privileged containers with"
            " `--kind sync`. It goes on. To adopt it, allow that under `admission` of the team in"
            " quartermaster.yaml, and run this command again."
        ),
    ]
    assert rows(plain) == []


def held(session: Session) -> list[dict[str, Any]]:
    """What keeps volumes as they are."""
    return [each.model_dump() for each in session.scalars(select(Hold))]


def goes_on_after_adoption(rig: Rig, run_id: str, folder: Path) -> None:
    """It is as it was, nothing is created or deleted for it, and people can stop it."""
    rig.pass_time(seconds=10)
    before, begun = rig.get(run_id), len(rig.effects())
    assert before.phase == RunPhase.RUNNING
    lose_database(rig, folder)
    assert len(adopt(rig)) == 2
    rig.pass_time(seconds=3)
    after = rig.get(run_id)
    assert (after.phase, after.reason, after.nodes) == (before.phase, before.reason, before.nodes)
    assert rig.effects()[begun:] == []
    rig.stop(run_id)
    rig.pass_time(minutes=2)
    assert rig.get(run_id).phase == RunPhase.STOPPED
