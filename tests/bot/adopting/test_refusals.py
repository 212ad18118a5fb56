"""What is not adopted: objects of others, what cannot be known, what somebody may have forged."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlmodel import Session, SQLModel

from bot.adopting.adopting import adopt_from
from bot.cluster import labels
from bot.cluster.api.client import Client
from bot.cluster.api.connection import Connection
from bot.config import ClusterSettings
from bot.database.leases import LeaseRow
from bot.database.schema import Installation
from bot.errors import ClusterError, ConfigurationError, ConflictError, NotFoundError
from bot.training.tables import RunPhase
from playground.cluster.control.training import Training
from tests.bot.adopting.rig import adopt, found, job_name, lose_database, relabel, rows
from tests.bot.cluster.api.api_server import write_kubeconfig
from tests.bot.ground import INSTALLATION, TEAM_A
from tests.bot.training.rig import IMAGE, Rig
from tests.states.datasets import push
from tests.states.snapshots import copied as copied_claim
from tests.states.teams import change

USUAL = ClusterSettings()
OTHER = "fedcba9876543210"
SECOND = "lane-0000000000"


@pytest.fixture
def lost(rig: Rig, tmp_path: Path) -> Rig:
    """The run lane goes on, and the database is new."""
    rig.world.behaviours[IMAGE] = Training(never_ends=True)
    rig.submit()
    rig.pass_time(seconds=30)
    lose_database(rig, tmp_path)
    return rig


def test_a_server_that_asks_for_patience_gets_it(lost: Rig) -> None:
    """A new API server refuses lists of kinds whose storage is not ready yet."""
    lost.world.faults.too_many = 2
    assert adopt(lost)[0] == "Adopted runs:"
    assert lost.world.faults.too_many == 0


def refused(rig: Rig) -> list[str]:
    """What is said of the only run, which is not adopted."""
    title, line = adopt(rig)
    assert title == "Not adopted:"
    assert rows(rig) == []
    name, _, why = line.partition(" on default: ")
    return [name.split("/")[0].strip(), why]


def copied(rig: Rig, name: str, namespace: str = "team-a", **marks: str) -> None:
    """Somebody makes a copy of the Job, with other labels."""
    job: dict[str, Any] = deepcopy(found(rig, "jobs", job_name(rig), "team-a"))
    template = job["spec"]["template"]
    template["metadata"] = {}
    metadata = {
        "name": name,
        "labels": job["metadata"]["labels"] | marks,
        "annotations": job["metadata"]["annotations"],
    }
    spec = {"template": template, "suspend": True, "backoffLimit": 0}
    rig.world.create("jobs", {"metadata": metadata, "spec": spec}, namespace)


def test_of_two_installations_one_must_be_named(lost: Rig) -> None:
    copied(lost, "theirs", **{labels.INSTALLATION: OTHER, labels.RUN: "their-run"})
    with pytest.raises(ConfigurationError) as error:
        adopt(lost)
    assert error.value.message.startswith("The clusters have objects of 2 installations: ")
    assert f"{OTHER} (1 object)" in error.value.message
    assert f"{INSTALLATION} (1 object)" in error.value.message
    assert error.value.hint == (
        "Several bots may share a cluster. Name the one whose database was lost: --installation ID."
    )
    shown = adopt(lost, INSTALLATION)
    assert shown[0] == "Adopted runs:"
    assert shown[2:] == [f"Installation {OTHER} has objects too. They were left alone."]
    assert [each.name for each in rows(lost)] == ["lane"]


def test_an_unknown_installation_is_not_taken_over(lost: Rig) -> None:
    with pytest.raises(NotFoundError) as error:
        adopt(lost, "none-such")
    assert error.value.message == "No object in the clusters is of installation none-such."
    assert error.value.hint == f"There are objects of: {INSTALLATION} (1 object)."
    assert rows(lost) == []


def test_clusters_without_objects_have_nothing_to_adopt(rig: Rig, tmp_path: Path) -> None:
    lose_database(rig, tmp_path)
    with pytest.raises(NotFoundError) as error:
        adopt(rig)
    assert error.value.message == (
        "The clusters have no object of any installation of Quartermaster."
    )


def test_a_used_database_is_not_taken_over(lost: Rig) -> None:
    def begin(session: Session) -> None:
        session.add(Installation(installation_id=OTHER))

    lost.do(begin)
    lost.look()
    lost.submit("new")
    with pytest.raises(ConflictError) as error:
        adopt(lost)
    assert error.value.message == (
        f"This database has rows of installation {OTHER} (runs: 1). Nothing was adopted."
    )
    assert [each.name for each in rows(lost)] == ["new"]


@pytest.mark.parametrize(
    ("row", "told"),
    [(copied_claim, "copies of PVCs"), (push, "pushes"), (change, "changes of teams")],
)
def test_what_has_objects_keeps_its_installation(
    lost: Rig, row: Callable[[], SQLModel], told: str
) -> None:
    """Their objects have the label of the database that created them."""

    def begin(session: Session) -> None:
        session.add_all([Installation(installation_id=OTHER), row()])

    lost.do(begin)
    with pytest.raises(ConflictError) as error:
        adopt(lost)
    assert error.value.message == (
        f"This database has rows of installation {OTHER} ({told}: 1). Nothing was adopted."
    )


def test_a_started_but_unused_database_is_taken_over(lost: Rig) -> None:
    def begin(session: Session) -> None:
        session.add(Installation(installation_id=OTHER))

    lost.do(begin)
    assert adopt(lost)[0] == "Adopted runs:"
    assert lost.do(lambda s: s.get_one(Installation, 1).installation_id) == INSTALLATION


def test_a_trial_writes_nothing_at_all(lost: Rig) -> None:
    assert adopt(lost, is_trial=True)[0] == "Runs to adopt:"
    assert lost.do(lambda session: session.get(Installation, 1)) is None
    assert rows(lost) == []


def test_beside_a_server_nothing_is_adopted(lost: Rig) -> None:
    def serve(session: Session) -> None:
        now = lost.database.real_now(session)
        session.add(LeaseRow(name="sender", holder="a-server", until=now.replace(year=2100)))

    lost.do(serve)
    with pytest.raises(ConflictError) as error:
        adopt(lost)
    assert error.value.message == "A server uses this database. Nothing was adopted."
    assert rows(lost) == []


def test_a_silent_cluster_stops_the_adoption(lost: Rig, tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path / "dead", "http://127.0.0.1:9", {"token": "t"})
    dead = {"burst": Client("burst", Connection.to(str(path)))}
    policy = lost.policy.model_copy(update={"clusters": dict.fromkeys(["default", "burst"], USUAL)})
    asked = {**lost.clusters, **dead}
    with pytest.raises(ClusterError):
        adopt_from(lost.database, policy, asked, None, now=lost.clock.now(), is_trial=False)
    assert rows(lost) == []


def test_runs_of_earlier_releases_are_listed(lost: Rig) -> None:
    relabel(lost, "jobs", job_name(lost), annotations={labels.RECORD: None})
    assert refused(lost)[1] == (
        "It has no annotation quartermaster.dev/record that this version can read: an earlier"
        " release created it. It goes on as a workload that was started outside Quartermaster:"
        " `/train list` shows it."
    )


@pytest.mark.parametrize(
    ("marks", "why"),
    [
        (
            {labels.TEAM: "team-c"},
            "quartermaster.yaml has no team team-c. Add the team, and run this command again.",
        ),
        ({labels.TEAM: "team-b"}, "Runs of team-b are not in namespace team-a of default."),
        ({labels.PERSON: "alice"}, "Its label quartermaster.dev/person names no Slack user."),
    ],
)
def test_labels_that_cannot_be_are_refused(lost: Rig, marks: dict[str, str], why: str) -> None:
    relabel(lost, "jobs", job_name(lost), labels=marks)
    assert refused(lost) == ["Job team-a", why]


def test_a_record_of_another_run_is_refused(lost: Rig) -> None:
    relabel(lost, "jobs", job_name(lost), annotations={labels.RUN_NAME: "other"})
    assert refused(lost)[1].startswith("It has no annotation quartermaster.dev/record that")


def test_a_run_that_is_leaving_is_not_adopted(lost: Rig) -> None:
    relabel(lost, "jobs", job_name(lost), finalizers=["acme.example/keep"])
    lost.world.delete("jobs", job_name(lost), "team-a")
    assert refused(lost)[1] == "It is being deleted."


@pytest.mark.parametrize("copy", ["a-copy", "the-copy"])
def test_a_copy_of_a_job_is_no_run(lost: Rig, copy: str) -> None:
    """Whichever of the two the cluster lists first."""
    name = job_name(lost)
    copied(lost, copy)
    away = "Delete this one with kubectl if it is not needed."
    whys = [
        f"It is a copy: the object of this run is called {name}. {away}",
        f"Run lane of team-a is team-a/{name} on default. {away}",
    ]
    title, adopted, other, why = adopt(lost)
    assert (title, other) == ("Adopted runs:", "Not adopted:")
    assert adopted == f"  lane of team-a: Job team-a/{name} on default"
    assert why == f"  Job team-a/{copy} on default: {whys[copy > name]}"
    assert adopt(lost) == [
        "Known already: 1 run.",
        "Not adopted:",
        f"  Job team-a/{copy} on default: {whys[1]}",
    ]
    assert [each.job_name for each in rows(lost)] == [name]


def test_of_two_equal_names_one_is_adopted(lost: Rig) -> None:
    copied(lost, SECOND, **{labels.RUN: "0" * 32})
    title, adopted, other, why = adopt(lost)
    assert (title, other) == ("Adopted runs:", "Not adopted:")
    assert SECOND in adopted + why
    assert why.endswith(
        "team-a has another run lane. Delete this one with kubectl if it is not needed."
    )
    assert len(rows(lost)) == 1


def test_a_trial_shows_one_of_two_equal_names(lost: Rig) -> None:
    copied(lost, SECOND, **{labels.RUN: "0" * 32})
    shown = adopt(lost, is_trial=True)
    assert rows(lost) == []
    assert shown == ["Runs to adopt:", *adopt(lost)[1:]]
    assert shown[2] == "Not adopted:"


@pytest.mark.parametrize(
    "change",
    [
        {"number": 2**40},
        {"number": 0},
        {"name": "*lane*"},
        {"name": "lane\n"},
        {"queue": "team-a\0"},
        {"asked_at": "0001-01-01T00:00:00+14:00"},
        {"asked_at": "2026-11-21T12:00:00"},
        {"spec": {"image": "a", "cpu": "1", "memory": "\0"}},
    ],
)
def test_a_record_no_database_can_store_is_refused(lost: Rig, change: dict[str, Any]) -> None:
    name = job_name(lost)
    job = found(lost, "jobs", name, "team-a")
    record = msgspec.json.decode(job["metadata"]["annotations"][labels.RECORD]) | change
    said = str(record["name"]) + (f"#{record['number']}" if record["number"] != 1 else "")
    notes = {labels.RECORD: msgspec.json.encode(record).decode(), labels.RUN_NAME: said}
    relabel(lost, "jobs", name, annotations=notes)
    assert refused(lost)[1].startswith("It has no annotation quartermaster.dev/record that")


@pytest.mark.parametrize(
    "change",
    [
        {"gpus": "NaN"},
        {"gpus": "-3"},
        {"gpus": "1E+9999999"},
        {"gpus": "1E-9999999"},
        {"cpu": "many"},
        {"memory": "1e999999999"},
        {"shm": "Infinity"},
        {"gpu_requests": {"nvidia.com/gpu": "x"}},
        {"volumes": [{"storage_class": "nfs", "size": "x", "path": "/out"}]},
        {"nodes": 0},
        {"nodes": 513},
        {"nodes_range": [5, -3]},
        {"processes": 10**12},
        {"efa": -1},
        {"time_limit_seconds": 2**62},
        {"session_seconds": 2**62},
        {"longest_seconds": -(2**62), "session_seconds": 5},
        {"snapshot": {"target": "results", "keep_seconds": 2**62}},
    ],
)
def test_a_spec_nobody_can_calculate_with_is_refused(lost: Rig, change: dict[str, Any]) -> None:
    """Its card, and each list with it, could never be shown."""
    name = job_name(lost)
    record = msgspec.json.decode(
        found(lost, "jobs", name, "team-a")["metadata"]["annotations"][labels.RECORD]
    )
    record["spec"] |= change
    text = msgspec.json.encode(record).decode()
    relabel(lost, "jobs", name, annotations={labels.RECORD: text})
    assert refused(lost)[1].startswith("It has no annotation quartermaster.dev/record that")


def test_a_record_of_brackets_alone_is_refused(lost: Rig) -> None:
    deep = '{"spec":{"a":' + 100_000 * "[" + 100_000 * "]" + "}}"
    relabel(lost, "jobs", job_name(lost), annotations={labels.RECORD: deep})
    assert refused(lost)[1].startswith("It has no annotation quartermaster.dev/record that")


def test_a_session_lasts_as_its_team_allows(rig: Rig, tmp_path: Path) -> None:
    rig.world.behaviours[IMAGE] = Training(never_ends=True)
    run_id = rig.submit("pad", kind="interactive", gpus=1, command=("sleep", "infinity"))
    rig.pass_time(seconds=30)
    most = rig.get(run_id).spec["longest_seconds"]
    job = found(rig, "jobs", job_name(rig), "team-a")
    record = msgspec.json.decode(job["metadata"]["annotations"][labels.RECORD])
    record["spec"]["longest_seconds"] = 2**62
    text = msgspec.json.encode(record).decode()
    relabel(rig, "jobs", job_name(rig), annotations={labels.RECORD: text})
    lose_database(rig, tmp_path)
    adopt(rig)
    assert rows(rig)[0].spec["longest_seconds"] == rows(rig)[0].seconds_left == most


def test_a_forged_record_reaches_no_other_place(lost: Rig) -> None:
    name = job_name(lost)
    job = found(lost, "jobs", name, "team-a")
    record = msgspec.json.decode(job["metadata"]["annotations"][labels.RECORD])
    record["channel"] = "C0BOARD"
    record["spec"]["entrance"] = {"host": "evil.example"}
    record["candidates"] = [{"cluster": "other"}]
    text = msgspec.json.encode(record).decode()
    relabel(lost, "jobs", name, annotations={labels.RECORD: text})
    assert adopt(lost)[0] == "Adopted runs:"
    (run,) = rows(lost)
    assert (run.channel, run.spec["entrance"], run.candidates) == (TEAM_A, None, [])


def test_an_adopted_run_that_is_deleted_has_vanished(lost: Rig) -> None:
    adopt(lost)
    (run,) = rows(lost)
    lost.run()
    lost.world.delete("jobs", run.job_name, "team-a")
    lost.pass_time(minutes=1)
    assert lost.get(run.id).phase == RunPhase.VANISHED
