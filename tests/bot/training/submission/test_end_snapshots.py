"""The end of a run is kept by one snapshot, and what fails of that is told in its thread."""

from dataclasses import replace
from typing import Any

import pytest

from bot.audit import lines_about
from bot.errors import QuartermasterError
from bot.slack.grammar.container_parameters import NewVolume, VolumeMount
from bot.slack.markup import when
from bot.snapshots.tables import SnapshotPhase as Taking
from bot.training.records.lineage import lineage_of
from bot.training.records.record import record_of
from bot.training.records.spans import times_of
from bot.training.submission.end_snapshots import end_of, is_wanted
from bot.training.tables import RunPhase
from playground.cluster.control.training import Training
from playground.cluster.story import claim, storage_class
from playground.ledger import Fault
from tests.bot.ground import ALICE, START
from tests.bot.training.keeping import CLAIMS, MOUNTS, TAKEN, SnapshotRig
from tests.bot.training.objects import run

TAKE = "create volumesnapshots"


def refused(keeping: SnapshotRig, **asked: Any) -> tuple[str, str]:
    with pytest.raises(QuartermasterError) as error:
        keeping.train("other", **asked)
    return error.value.message, error.value.hint


def test_success_is_kept_without_being_asked(keeping: SnapshotRig) -> None:
    run_id = keeping.train()
    assert keeping.fact(run_id) == "of `imagenet` when it succeeds"
    keeping.pass_time(minutes=5)
    run, row = keeping.get(run_id), keeping.kept(run_id)
    name = f"imagenet-{run_id[-10:]}"
    assert (run.phase, row.phase, row.name) == (RunPhase.SUCCEEDED, Taking.READY, name)
    assert (row.run_id, row.run, row.claim_name, row.person) == (run_id, "lane", "imagenet", ALICE)
    assert keeping.effects() == ["create jobs", TAKE]
    assert keeping.objects() == [name]
    assert keeping.fact(run_id) == f"`{name}`, ready"
    assert row.taken_at is not None
    assert keeping.notes(run_id)["snapshot"].splitlines() == [
        (
            f"The snapshot of imagenet at the end of lane is ready: `{name}`, as of"
            f" {when(row.taken_at)}."
        ),
        f"To restore it to a new PVC: `/snapshot restore {name}`",
        "`/train resubmit lane --from-snapshot` starts lane again from that state.",
    ]
    (line,) = keeping.do(lambda session: lines_about(session, row.id))
    assert (line.verb, line.facts) == (
        "snapshot.create", {"pvc": "imagenet", "name": name, "run": "lane"},
    )  # fmt: skip


def test_the_record_names_the_snapshot(keeping: SnapshotRig) -> None:
    run_id = keeping.train()
    keeping.pass_time(minutes=5)

    def record(session: Any) -> Any:
        run = keeping.service.get(session, run_id)
        now = keeping.clock.now()
        return record_of(run, times_of(session, run, now), now, lineage_of(session, run))

    assert keeping.do(record)["snapshot"] == {
        "pvc": "imagenet",
        "on": "success",
        "name": f"imagenet-{run_id[-10:]}",
        "state": "ready",
        "restored_for": [],
    }


@pytest.mark.parametrize(("on", "is_kept"), [("success", False), ("always", True)])
def test_failure_is_kept_only_when_asked(keeping: SnapshotRig, on: str, is_kept: bool) -> None:  # noqa: FBT001 - a parameter of the test
    keeping.world.behaviours["ghcr.io/acme/lane"] = Training(fails_after=20)
    run_id = keeping.train(snapshot_on=on)
    keeping.pass_time(minutes=10)
    assert keeping.get(run_id).phase == RunPhase.FAILED
    assert keeping.is_kept(run_id) == is_kept
    shown = (
        f"`imagenet-{run_id[-10:]}`, ready"
        if is_kept
        else "not taken of `imagenet`: it did not succeed"
    )
    assert keeping.fact(run_id) == shown


@pytest.mark.parametrize(("on", "is_kept"), [("success", False), ("always", True)])
def test_stopping_is_an_end_like_others(keeping: SnapshotRig, on: str, is_kept: bool) -> None:  # noqa: FBT001 - a parameter of the test
    run_id = keeping.train(snapshot_on=on)
    keeping.pass_time(minutes=1)
    keeping.stop(run_id)
    keeping.pass_time(minutes=1)
    assert (keeping.get(run_id).phase, keeping.is_kept(run_id)) == (RunPhase.STOPPED, is_kept)


def test_what_never_began_is_not_kept(keeping: SnapshotRig) -> None:
    run_id = keeping.train(snapshot_on="always")
    keeping.stop(run_id)
    keeping.pass_time(minutes=1)
    assert (keeping.get(run_id).phase, keeping.is_kept(run_id)) == (RunPhase.STOPPED, False)
    assert keeping.fact(run_id) == "not taken of `imagenet`: it never started"


def test_a_volume_of_its_own_is_kept(keeping: SnapshotRig) -> None:
    new = NewVolume("standard", "100Gi", "/out/")
    run_id = keeping.train(pvc=(*MOUNTS, new), snapshot="/out")
    made = f"pvc-{keeping.get(run_id).job_name}-0"
    assert keeping.fact(run_id) == f"of `{made}` when it succeeds"
    keeping.pass_time(minutes=5)
    row = keeping.kept(run_id)
    assert (row.claim_name, row.phase, row.capacity_bytes) == (made, Taking.READY, 100 * 2**30)


def test_a_team_pvc_beside_it_is_kept(keeping: SnapshotRig) -> None:
    run_id = keeping.train(pvc=(), snapshot="team-a-data")
    keeping.pass_time(minutes=5)
    assert (keeping.kept(run_id).claim_name, keeping.kept(run_id).phase) == (
        "team-a-data", Taking.READY,
    )  # fmt: skip


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_lost_answers_make_one_snapshot(keeping: SnapshotRig, fault: Fault) -> None:
    keeping.outside.ledger.by_name[TAKE] = [fault]
    run_id = keeping.train()
    keeping.pass_time(minutes=6)
    assert keeping.kept(run_id).phase == Taking.READY
    assert keeping.objects() == [keeping.kept(run_id).name]


def test_ending_twice_asks_for_one(keeping: SnapshotRig) -> None:
    run_id = keeping.train()
    keeping.pass_time(minutes=5)
    row = keeping.kept(run_id)

    def again(session: Any) -> str:
        end = end_of(keeping.service.get(session, run_id))
        return keeping.run_snapshots.take(session, end, keeping.clock.now()).id

    assert keeping.do(again) == row.id


def test_what_fails_is_told_in_its_thread(keeping: SnapshotRig) -> None:
    run_id = keeping.train(pvc=(), snapshot="team-a-data")
    keeping.pass_time(minutes=1)
    keeping.world.delete(CLAIMS, "team-a-data", "team-a")
    keeping.pass_time(minutes=5)
    assert keeping.get(run_id).phase == RunPhase.SUCCEEDED
    assert keeping.kept(run_id).phase == Taking.FAILED
    assert keeping.notes(run_id)["snapshot"].splitlines() == [
        (
            f"<@{ALICE}> The snapshot of team-a-data at the end of lane failed. PVC team-a-data"
            " no longer exists."
        ),
        "Name another PVC.",
    ]
    assert keeping.fact(run_id) == f"`{keeping.kept(run_id).name}`, not taken"


def test_snapshots_that_are_gone_fail_it(keeping: SnapshotRig) -> None:
    run_id = keeping.train()
    keeping.pass_time(minutes=1)
    with keeping.world.inside.lock:
        keeping.world.inside.kinds.forget("snapshot.storage.k8s.io", TAKEN)
    keeping.pass_time(minutes=5)
    assert keeping.kept(run_id).reason == (
        "Cluster default takes no snapshots: it serves no VolumeSnapshots."
    )


def test_what_the_view_lacks_is_found(keeping: SnapshotRig) -> None:
    """The watches may not have shown the PVC when the run ended."""
    run_id = keeping.train()
    end = replace(end_of(keeping.get(run_id)), claim="late")
    row = keeping.do(lambda s: keeping.run_snapshots.take(s, end, keeping.clock.now()))
    assert (row.claim_uid, row.storage_class) == ("", "")
    keeping.world.create(CLAIMS, claim("late"), "team-a")
    keeping.pass_time(seconds=30)
    found = keeping.kept(run_id)
    assert (found.phase, found.storage_class, found.driver, found.capacity_bytes) == (
        Taking.READY, "standard", "csi.playground", 2**40,
    )  # fmt: skip
    assert found.claim_uid


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (
            {"snapshot": "imagenett"},
            ("There is no PVC imagenett in namespace team-a.", "Did you mean imagenet?"),
        ),
        (
            {"snapshot": "/out"},
            (
                "No PVC is mounted at /out.",
                "PVCs are mounted at: /data. Or name a PVC: `--snapshot results`.",
            ),
        ),
        (
            {"pvc": (NewVolume("disks", "1Gi", "/out"),), "snapshot": "disks"},
            (
                "disks is a storage class, of which a volume is created for the run.",
                "Name the volume by its path: `--snapshot /out`.",
            ),
        ),
        (
            {"snapshot": None, "snapshot_on": "always"},
            (
                "`--snapshot-on` applies to a snapshot, and none is requested.",
                "Name the PVC: `--snapshot results`.",
            ),
        ),
        (
            {"pvc": (NewVolume("disks", "1Gi", "/out"),), "snapshot": "/out"},
            (
                (
                    "The cluster has no VolumeSnapshotClass for csi.disks, the driver of"
                    " this PVC's volume. It has some for csi.playground."
                ),
                "A platform admin has to create one.",
            ),
        ),
        (
            {"pvc": (VolumeMount("late", "/late", read_only=False),), "snapshot": "late"},
            (
                (
                    "The cluster has no VolumeSnapshotClass for csi.disks, the driver of"
                    " this PVC's volume. It has some for csi.playground."
                ),
                "A platform admin has to create one.",
            ),
        ),
        (
            {"snapshot": "late"},
            (
                ("PVC late has no volume yet, so there is nothing to take a snapshot of."),
                "Most PVCs get their volume when the first run mounts them.",
            ),
        ),
    ],
)
def test_what_cannot_be_kept_is_refused(
    keeping: SnapshotRig, asked: dict[str, Any], answer: tuple[str, str]
) -> None:
    disks = storage_class("disks", waits=True) | {"provisioner": "csi.disks"}
    keeping.world.create("storageclasses", disks)
    late = claim("late")
    late["spec"]["storageClassName"] = "disks"
    keeping.world.create(CLAIMS, late, "team-a")
    keeping.look()
    assert refused(keeping, **asked) == answer
    assert keeping.effects() == []


@pytest.mark.parametrize(
    ("phase", "on", "is_taken"),
    [
        (RunPhase.EXPIRED, "success", True),
        (RunPhase.VANISHED, "success", False),
        (RunPhase.VANISHED, "always", True),
        (RunPhase.UNMANAGED, "always", False),
    ],
)
def test_which_ends_are_kept(phase: RunPhase, on: str, is_taken: bool) -> None:  # noqa: FBT001 - a parameter of the test
    spec = {
        "image": "lane:1",
        "cpu": "8",
        "memory": "64Gi",
        "snapshot": {"target": "out", "on": on},
    }
    has_begun = phase is RunPhase.EXPIRED
    ended = run(phase=phase, spec=spec, started_at=START if has_begun else None)
    assert is_wanted(ended) == is_taken
