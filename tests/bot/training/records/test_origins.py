"""Runs start again on the state of a snapshot: its PVC is made, waited for, and mounted."""

from typing import Any

import pytest
from sqlmodel import select

from bot.errors import QuartermasterError
from bot.slack.card import Reply
from bot.slack.grammar.container_parameters import NewVolume, VolumeMount
from bot.slack.text import as_text
from bot.snapshots.snapshots import replies
from bot.snapshots.tables import Restore, RestorePhase
from bot.training.records.lineage import lineage_of
from bot.training.records.record import details, record_of
from bot.training.records.spans import times_of
from bot.training.runs.replies import receipt
from bot.training.spec import asked_spec
from bot.training.tables import Run, RunPhase
from playground.cluster.story import claim, storage_class
from playground.ledger import Fault
from tests.bot.ground import ALICE
from tests.bot.training.keeping import CLAIMS, MOUNTS, SnapshotRig

MAKE = "create persistentvolumeclaims"


SLOW = (VolumeMount("slow", "/data", read_only=False),)


def ended(keeping: SnapshotRig, **more: Any) -> str:
    """A run whose end is kept, when imagenet said monday; it says tuesday now."""
    if more.get("pvc") == SLOW:
        keeping.world.create("storageclasses", storage_class("slow", seconds=30))
        slow = claim("slow")
        slow["spec"]["storageClassName"] = "slow"
        keeping.world.create(CLAIMS, slow, "team-a")
        keeping.pass_time(minutes=1)
    keeping.write("monday")
    run_id = keeping.train(**more)
    keeping.pass_time(minutes=5)
    keeping.write("tuesday")
    return run_id


def refused(keeping: SnapshotRig, *asked: str) -> tuple[str, str]:
    with pytest.raises(QuartermasterError) as error:
        keeping.start_on(*asked)
    return error.value.message, error.value.hint


def count(keeping: SnapshotRig) -> tuple[int, int]:
    """How many runs and restores there are."""
    return keeping.do(
        lambda s: (len(s.exec(select(Run)).all()), len(s.exec(select(Restore)).all()))
    )


def test_a_run_goes_on_from_its_end(keeping: SnapshotRig) -> None:
    first = ended(keeping)
    name = keeping.kept(first).name
    again = keeping.start_on()
    made = f"imagenet-{again[-10:]}"
    keeping.do(keeping.controller.step(again).save)
    assert keeping.card(again).splitlines()[:3] == [
        "⏳ lane#2 · Waiting for data",
        "Waiting since 2026-11-21 12:05 UTC.",
        f"Waiting for PVC {made}, which is being created from {name}.",
    ]
    assert keeping.fact(again, "From") == f"snapshot `{name}` of run `lane`"
    keeping.pass_time(minutes=5)
    assert keeping.get(again).phase == RunPhase.SUCCEEDED
    pod = keeping.job(again)["spec"]["template"]["spec"]
    assert pod["volumes"][1]["persistentVolumeClaim"] == {"claimName": made}
    assert pod["containers"][0]["volumeMounts"][1]["mountPath"] == "/data"
    assert (keeping.read(made), keeping.read("imagenet")) == ("monday", "tuesday")
    assert keeping.kept(again).claim_name == made
    assert keeping.effects() == [
        "create jobs", "create volumesnapshots", MAKE, "create jobs", "create volumesnapshots",
    ]  # fmt: skip
    assert (
        keeping.notes(again)["restore"]
        == f"PVC `{made}` is ready. It holds the data of snapshot {name}."
    )


def test_lineage_is_told_both_ways(keeping: SnapshotRig) -> None:
    first = ended(keeping)
    again = keeping.start_on()
    keeping.pass_time(minutes=5)
    name, made = keeping.kept(first).name, keeping.made(again).claim_name

    def told(session: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        runs = [keeping.service.get(session, each) for each in (first, again)]
        now = keeping.clock.now()
        records = [
            record_of(run, times_of(session, run, now), now, lineage_of(session, run))
            for run in runs
        ]
        facts = details(runs[0], times_of(session, runs[0], now), lineage_of(session, runs[0]))
        return records[0], records[1], dict(facts)

    before, after, facts = keeping.do(told)
    assert (before["snapshot"]["name"], before["snapshot"]["restored_for"]) == (name, ["lane#2"])
    assert after["from"] == {
        "snapshot": name, "run": "lane", "pvc": made, "instead_of": "imagenet",
    }  # fmt: skip
    assert facts["Restored for"] == "lane#2"
    row = keeping.kept(first)
    shown = keeping.do(lambda session: as_text(replies.shown(*keeping.details(session, row))))
    assert f"Restored       `{made}` for run lane#2, ready" in shown
    assert "Run            `lane`" in shown


def test_a_chain_keeps_short_names(keeping: SnapshotRig) -> None:
    ended(keeping)
    keeping.start_on()
    keeping.pass_time(minutes=5)
    third = keeping.start_on()
    keeping.pass_time(minutes=5)
    assert keeping.get(third).phase == RunPhase.SUCCEEDED
    assert keeping.made(third).claim_name == f"imagenet-{third[-10:]}"
    assert keeping.fact(third, "From").endswith("of run `lane#2`")


def test_its_own_volume_is_replaced(keeping: SnapshotRig) -> None:
    new = NewVolume("standard", "100Gi", "/out")
    first = ended(keeping, pvc=(*MOUNTS, new), snapshot="/out")
    old = f"pvc-{keeping.get(first).job_name}-0"
    keeping.world.delete(CLAIMS, old, "team-a")
    again = keeping.start_on()
    keeping.pass_time(minutes=5)
    spec = asked_spec(keeping.get(again))
    made = keeping.made(again).claim_name
    assert keeping.get(again).phase == RunPhase.SUCCEEDED
    assert spec.volumes == ()
    assert spec.mounts == (*MOUNTS, VolumeMount(made, "/out", read_only=False))
    assert keeping.kept(again).claim_name == made


def test_another_snapshot_can_be_named(keeping: SnapshotRig) -> None:
    first = ended(keeping)
    ended(keeping, name="other")
    again = keeping.start_on("other", keeping.kept(first).name)
    assert keeping.fact(again, "From") == f"snapshot `{keeping.kept(first).name}` of run `lane`"


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_lost_answers_make_one_pvc(keeping: SnapshotRig, fault: Fault) -> None:
    ended(keeping)
    keeping.outside.ledger.by_name[MAKE] = [fault]
    again = keeping.start_on()
    keeping.pass_time(minutes=6)
    assert keeping.get(again).phase == RunPhase.SUCCEEDED
    assert [e for e in keeping.objects(CLAIMS) if e.startswith("imagenet-")] == [
        keeping.made(again).claim_name
    ]


def test_a_failed_restore_ends_the_run(keeping: SnapshotRig) -> None:
    first = ended(keeping)
    again = keeping.start_on()
    keeping.world.delete("volumesnapshots", keeping.kept(first).name, "team-a")
    keeping.pass_time(minutes=1)
    name, made = keeping.kept(first).name, keeping.made(again).claim_name
    why = (
        f"PVC {made} was not created from {name}. The snapshot {name} that it should be created"
        " from no longer exists."
    )
    assert keeping.get(again).phase == RunPhase.FAILED
    assert keeping.notes(again)["ended"] == f"<@{ALICE}> lane#2 failed before it started. {why}"
    assert "leaves" not in keeping.notes(again)
    assert keeping.job(again) is None


def test_stopping_the_wait_ends_the_restore(keeping: SnapshotRig) -> None:
    ended(keeping, pvc=SLOW, snapshot="slow")
    again = keeping.start_on()
    keeping.pass_time(seconds=10)
    made = keeping.made(again)
    assert (keeping.get(again).phase, made.phase) == (RunPhase.DATA, RestorePhase.MAKING)
    assert made.claim_name in keeping.objects(CLAIMS)
    keeping.stop(again)
    keeping.pass_time(minutes=1)
    assert (keeping.get(again).phase, keeping.made(again).phase) == (
        RunPhase.STOPPED, RestorePhase.CANCELLED,
    )  # fmt: skip
    assert made.claim_name not in keeping.objects(CLAIMS)
    assert keeping.job(again) is None
    assert keeping.notes(again)["leaves"] == (
        f"PVC `{made.claim_name}` did not exist yet and will not be created."
    )
    third = keeping.resubmit("lane")
    assert keeping.fact(third, "From").endswith("of run `lane`")
    keeping.pass_time(minutes=5)
    assert keeping.get(third).phase == RunPhase.SUCCEEDED


def test_a_pvc_that_is_there_stays(keeping: SnapshotRig) -> None:
    ended(keeping)
    for gpus in (8, 4):
        keeping.submit(f"busy-{gpus}", gpus=gpus, command=("sleep", "infinity"))
    keeping.pass_time(minutes=1)
    again = keeping.start_on()
    keeping.pass_time(minutes=1)
    assert (keeping.get(again).phase, keeping.made(again).phase) == (
        RunPhase.PENDING, RestorePhase.READY,
    )  # fmt: skip
    keeping.stop(again)
    keeping.pass_time(minutes=1)
    made = keeping.made(again).claim_name
    assert (keeping.get(again).phase, keeping.read(made)) == (RunPhase.STOPPED, "monday")
    assert keeping.notes(again)["leaves"].splitlines() == [
        f"PVC `{made}`, which was created for it, is kept; the run never started.",
        (
            f"`--pvc {made}:/mnt` mounts it in another run, and"
            f" `kubectl delete pvc -n team-a {made}` deletes it."
        ),
    ]
    third = asked_spec(keeping.get(keeping.resubmit("lane")))
    assert (third.origin, third.mounts[0].claim) == (None, made)


def test_late_volumes_are_not_waited_for(keeping: SnapshotRig) -> None:
    keeping.world.create("storageclasses", storage_class("late", waits=True))
    late = claim("late")
    late["spec"]["storageClassName"] = "late"
    keeping.world.create(CLAIMS, late, "team-a")
    keeping.look()
    mounts = (VolumeMount("late", "/data", read_only=False),)
    keeping.train(pvc=mounts, snapshot="late")
    keeping.pass_time(minutes=5)
    again = keeping.start_on()
    keeping.pass_time(minutes=5)
    assert (keeping.get(again).phase, keeping.made(again).phase) == (
        RunPhase.SUCCEEDED, RestorePhase.READY,
    )  # fmt: skip


def test_a_process_that_died_goes_on(keeping: SnapshotRig) -> None:
    ended(keeping)
    again = keeping.start_on()
    for work in (keeping.making, keeping.controller):
        row_id = keeping.made(again).id if work is keeping.making else again
        work.step(row_id)  # the step was taken, and nobody wrote it down
        keeping.restart()
    keeping.pass_time(minutes=6)
    assert keeping.get(again).phase == RunPhase.SUCCEEDED
    assert keeping.effects().count(MAKE) == 1
    assert keeping.effects().count("create jobs") == 2


def test_what_is_no_start_is_refused(keeping: SnapshotRig) -> None:
    keeping.submit("plain")
    keeping.pass_time(minutes=5)
    side = ended(keeping, name="side", pvc=MOUNTS, snapshot="team-a-data")
    before = count(keeping)
    assert refused(keeping, "plain") == (
        "There is no snapshot of the end of plain.",
        "It mounts no PVC: submit it again with `--pvc NAME:/path --snapshot NAME`.",
    )
    assert refused(keeping, "plain", "nothing")[0] == "team-a has no snapshot nothing."
    name = keeping.kept(side).name
    assert refused(keeping, "side") == (
        f"side mounts imagenet, but {name} is of team-a-data.",
        "Restore it under another name, and submit the run with `--pvc NAME:/path`.",
    )
    assert count(keeping) == before


def test_a_snapshot_not_ready_is_refused(keeping: SnapshotRig) -> None:
    run_id = keeping.train()
    while not keeping.is_kept(run_id):
        keeping.pass_time(seconds=1)
    assert refused(keeping, "lane") == (
        f"{keeping.kept(run_id).name} cannot be restored: it is not ready, or is being deleted.",
        "Its card shows its state.",
    )


def test_the_receipt_says_what_is_made(keeping: SnapshotRig) -> None:
    first = ended(keeping)
    keeping.look()

    def work(session: Any) -> Any:
        run = keeping.service.get(session, first)
        by = keeping.access.caller(session, ALICE, "C0TEAMA")
        return keeping.service.restart(session, by, run, "", keeping.clock.now())

    started = keeping.do(work)
    said = as_text(Reply(receipt(started, "/train stop lane"))).splitlines()
    assert said[1] == (
        f"It starts from snapshot `{keeping.kept(first).name}` of run lane: PVC"
        f" `imagenet-{started.run_id[-10:]}` is created from it for /data, and the run waits for"
        " that PVC."
    )
