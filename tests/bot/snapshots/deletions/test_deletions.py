"""PVCs that leads delete: what is lost is shown first, and nothing that is needed goes."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from bot.audit import lines_about
from bot.cluster.resources import PVCS
from bot.datasets.tables import Push
from bot.errors import ClusterError, UserError
from bot.holds import on
from bot.snapshots.copies.tables import Copy
from bot.snapshots.deletions.tables import DeletionPhase
from bot.snapshots.resizes.tables import Resize
from bot.snapshots.tables import SNAPSHOT, Restore, Revert, SnapshotSchedule
from bot.training.tables import Run
from bot.volumes.changes.tables import VolumeChange
from bot.volumes.growths.tables import Growth
from playground.ledger import Fault
from tests.bot.ground import ALICE, ERIN, START, TEAM_A
from tests.bot.snapshots.deletions.deleting import CLAIM, CLAIMS, Deleting, asked_of
from tests.bot.snapshots.rig import TAKEN
from tests.bot.volumes.losing import STAYS, lose
from tests.databases import ON_BOTH

DELETE = f"delete {CLAIMS}"
GROWS = "It is being made larger, or waits for approval of that."
KEPT = "The PVC was not deleted."


def lines(text: str) -> list[str]:
    return [" ".join(each.split()) for each in text.splitlines()]


def refusal(rig: Deleting, *, saves: bool = False) -> str:
    with pytest.raises(UserError) as caught:
        rig.offer(saves=saves)
    return caught.value.message


def test_what_is_lost_is_shown_first(deleting: Deleting) -> None:
    assert lines(deleting.offer()) == [
        "Delete PVC imagenet?",
        "Its volume and its data are deleted with it. This cannot be undone.",
        "It has no snapshots.",
        "PVC `team-a/imagenet`",
        "Size 1 TiB",
        "Class standard",
        "[Delete it]",
    ]
    assert deleting.effects() == []


def test_unneeded_claim_is_deleted_with_its_volume(deleting: Deleting) -> None:
    volume = deleting.claim(CLAIM)["spec"]["volumeName"]
    row_id = deleting.remove()
    deleting.pass_time(minutes=1)
    assert deleting.row(row_id).phase == DeletionPhase.DONE
    assert (deleting.claim(CLAIM), deleting.world.get("persistentvolumes", volume)) == (None, None)
    assert deleting.effects() == [DELETE]
    assert deleting.notes(row_id) == {
        "ended": (
            f"<@{ERIN}> PVC `imagenet` is deleted. Its volume and its data are deleted with it."
        )
    }
    told = deleting.do(lambda session: lines_about(session, row_id))
    assert [(each.verb, each.person) for each in told] == [
        ("pvc.delete", ERIN), ("pvc.delete_ended", None),
    ]  # fmt: skip


def test_retained_volume_is_named(deleting: Deleting) -> None:
    volume = deleting.retain()
    stays = (
        f"Its data stays on PV {volume}, whose reclaim policy is Retain, and is billed until a"
        " platform admin deletes it."
    )
    assert f"{stays} This cannot be undone." in lines(deleting.offer())
    row_id = deleting.remove()
    deleting.pass_time(minutes=1)
    assert stays in deleting.notes(row_id)["ended"]
    assert deleting.world.get("persistentvolumes", volume) is not None


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_lost_answer_deletes_it_once(deleting: Deleting, fault: Fault) -> None:
    row_id = deleting.remove()
    deleting.outside.ledger.by_name[DELETE] = [fault]
    deleting.pass_time(minutes=2)
    assert (deleting.row(row_id).phase, deleting.claim(CLAIM)) == (DeletionPhase.DONE, None)


@ON_BOTH
def test_every_step_of_it_outlives_restarts(deleting: Deleting) -> None:
    row_id = deleting.remove(saves=True)
    for _ in range(20):
        deleting.restart()
        deleting.pass_time(seconds=2)
    assert deleting.row(row_id).phase == DeletionPhase.DONE
    assert deleting.effects() == [f"create {TAKEN}", DELETE]


def test_snapshot_is_ready_before_the_deletion(deleting: Deleting) -> None:
    assert "A snapshot is taken first, and stays." in lines(deleting.offer(saves=True))
    row_id = deleting.remove(saves=True)
    deleting.pass_time(seconds=1)
    row = deleting.row(row_id)
    assert (row.phase, deleting.effects()) == (DeletionPhase.SAVING, [f"create {TAKEN}"])
    now, held = deleting.clock.now(), row.snapshot_id or ""
    why = deleting.do(lambda s: [each.why for each in on(s, SNAPSHOT, held, now)])
    assert why == ["The deletion of PVC imagenet"]
    assert lines(deleting.card(row_id))[0] == "▶️ Delete PVC imagenet · Taking a snapshot first"
    deleting.pass_time(minutes=2)
    assert (deleting.row(row_id).phase, deleting.objects()) == (DeletionPhase.DONE, [row.snapshot])
    assert deleting.notes(row_id)["ended"].endswith(f"Snapshot {row.snapshot} stays.")
    assert deleting.found(held).keep_until is None
    now = deleting.clock.now()
    assert deleting.do(lambda s: on(s, SNAPSHOT, held, now)) == []


def test_failed_snapshot_keeps_the_claim(deleting: Deleting) -> None:
    row_id = deleting.remove(saves=True)
    deleting.world.delete("volumesnapshotclasses", "csi-snapclass")
    deleting.pass_time(hours=2)
    row = deleting.row(row_id)
    assert row.phase == DeletionPhase.FAILED
    assert row.reason.startswith(f"Snapshot {row.snapshot} could not be taken.")
    assert row.reason.endswith(KEPT)
    assert deleting.claim(CLAIM) is not None


def test_cancelled_deletion_keeps_claim_and_snapshot(deleting: Deleting) -> None:
    row_id = deleting.remove(saves=True)
    deleting.cancels(row_id)
    deleting.pass_time(minutes=2)
    row = deleting.row(row_id)
    assert (row.phase, deleting.objects()) == (DeletionPhase.CANCELLED, [row.snapshot])
    assert deleting.claim(CLAIM) is not None
    with pytest.raises(UserError, match="The deletion of imagenet has already ended"):
        deleting.cancels(row_id)


def test_mounted_claim_is_refused_with_its_pod(deleting: Deleting) -> None:
    deleting.mount()
    assert refusal(deleting) == "PVC imagenet is needed now. Pod user mounts it."


def test_pod_that_came_meanwhile_keeps_it(deleting: Deleting) -> None:
    row_id = deleting.remove()
    deleting.mount()
    deleting.pass_time(minutes=1)
    row = deleting.row(row_id)
    assert (row.phase, row.reason, deleting.effects()) == (
        DeletionPhase.FAILED,
        f"PVC imagenet is needed now. Pod user mounts it. {KEPT}",
        [],
    )


def test_claim_of_the_same_name_is_kept(deleting: Deleting) -> None:
    row_id, old = deleting.remove(), deleting.claim(CLAIM)["metadata"]["uid"]
    deleting.world.delete(CLAIMS, CLAIM, "team-a")
    spec = {
        "accessModes": ["ReadWriteMany"],
        "storageClassName": "standard",
        "resources": {"requests": {"storage": "1Ti"}},
    }
    deleting.world.create(CLAIMS, {"metadata": {"name": CLAIM}, "spec": spec}, "team-a")
    deleting.pass_time(minutes=1)
    assert (deleting.row(row_id).phase, deleting.effects()) == (DeletionPhase.DONE, [])
    assert deleting.claim(CLAIM)["metadata"]["uid"] != old
    found, by, now = deleting.summary(), deleting.caller(ERIN), deleting.clock.now()
    with pytest.raises(UserError, match="is now a different PVC of the same name"):
        deleting.do(lambda s: deleting.deletions.begin(s, by, asked_of(old), found, now))


def test_pod_that_holds_it_is_named(deleting: Deleting) -> None:
    row_id = deleting.remove()
    deleting.mount()
    deleting.world.delete(CLAIMS, CLAIM, "team-a")
    deleting.pass_time(minutes=1)
    assert lines(deleting.card(row_id))[:2] == [
        "⚠️ Delete PVC imagenet · Being deleted",
        "Kubernetes deletes it once these no longer mount it: pod user.",
    ]
    deleting.world.delete("pods", "user", "team-a")
    deleting.pass_time(minutes=3)
    assert (deleting.row(row_id).phase, deleting.claim(CLAIM)) == (DeletionPhase.DONE, None)


def any_row(table: Any, **fields: Any) -> Any:
    """A row of Alice's whose other required columns hold anything of their type."""
    usual = {"workspace_id": "T0QM", "team": "team-a", "person": ALICE, "channel": TEAM_A,
             "cluster": "default", "namespace": "team-a"}  # fmt: skip
    anything = {str: "any", int: 1, datetime: START}
    needed = {
        name: usual.get(name, anything.get(field.annotation))
        for name, field in table.model_fields.items()
        if field.is_required() or name in usual
    }
    return table(**{**needed, **fields})


def row_of(table: Any, **fields: Any) -> Any:
    return any_row(table, **({"claim_name": CLAIM} | fields))


SPEC = {
    "image": "ghcr.io/acme/lane:3.1",
    "command": ["python", "train.py"],
    "mounts": [[CLAIM, "/data", True]],
    "cpu": "1",
    "memory": "1Gi",
    "shm": "1Gi",
}
NEEDS: dict[str, tuple[Callable[[], Any], str]] = {
    "run": (
        lambda: any_row(Run, name="lane", number=1, spec=SPEC, phase="running"),
        "Run lane mounts it.",
    ),
    "restore": (lambda: row_of(Restore), f"A restore by <@{ALICE}> creates it."),
    "clone": (
        lambda: any_row(Restore, source=CLAIM, claim_name="mine"),
        f"<@{ALICE}> clones it to PVC mine.",
    ),
    "revert": (
        lambda: row_of(Revert, snapshot="monday"),
        f"<@{ALICE}> requested to revert it to monday.",
    ),
    "copy": (
        lambda: row_of(Copy, target="shared"),
        f"<@{ALICE}> requested to copy it to PVC shared.",
    ),
    "copy to it": (
        lambda: row_of(Copy, claim_name="disk", target=CLAIM),
        f"<@{ALICE}> requested to copy PVC disk to it.",
    ),
    "schedule": (
        lambda: row_of(SnapshotSchedule),
        "Snapshots of it are scheduled: `/snapshot unschedule imagenet` ends that.",
    ),
    "resize": (lambda: row_of(Resize), GROWS),
    "growth": (lambda: row_of(Growth), GROWS),
    "level": (
        lambda: row_of(VolumeChange),
        f"<@{ALICE}> changed its level or throughput for a while.",
    ),
    "push": (
        lambda: row_of(Push, claim_namespace="team-a"),
        f"<@{ALICE}> pushes its data to a store.",
    ),
}


@pytest.mark.parametrize("what", NEEDS)
def test_what_needs_it_is_named(deleting: Deleting, what: str) -> None:
    make, why = NEEDS[what]
    row_id = deleting.remove()
    deleting.do(lambda session: session.add(make()))
    deleting.pass_time(minutes=1)
    row = deleting.row(row_id)
    assert (row.phase, row.reason, deleting.effects()) == (
        DeletionPhase.FAILED, f"PVC imagenet is needed now. {why} {KEPT}", [],
    )  # fmt: skip
    assert refusal(deleting) == f"PVC imagenet is needed now. {why}"


def test_lost_volume_is_not_left_behind(deleting: Deleting) -> None:
    lose(deleting, CLAIM)
    assert refusal(deleting) == f"PVC imagenet is needed now. {STAYS}"


def test_claim_changed_since_the_look_is_read_again(deleting: Deleting) -> None:
    row_id = deleting.remove()
    cluster, seen = deleting.cluster, deleting.cluster.get(PVCS, CLAIM, "team-a")
    assert seen is not None
    deleting.world.patch(CLAIMS, CLAIM, {"metadata": {"labels": {"paper": "yes"}}}, "team-a")
    with pytest.raises(ClusterError) as caught:
        cluster.delete(PVCS, CLAIM, "team-a", uid=seen.uid, version=seen.metadata.resource_version)
    assert caught.value.reason == "Conflict"
    deleting.pass_time(minutes=1)
    assert (deleting.row(row_id).phase, deleting.claim(CLAIM)) == (DeletionPhase.DONE, None)
