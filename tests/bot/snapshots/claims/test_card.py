"""What `/pvc` tells of PVCs in states that take a CSI driver a while, or that are rare."""

from dataclasses import replace
from datetime import UTC, datetime

from bot.cluster.types.claims import (
    ClaimResources,
    ClaimSpec,
    ClaimStatus,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeSpec,
)
from bot.cluster.types.objects import Condition, ObjectMeta
from bot.cluster.types.quantities import Quantity
from bot.cluster.types.snapshots import SnapshotMeta, SnapshotStatus, VolumeSnapshot
from bot.slack.card import Reply
from bot.slack.text import as_text
from bot.snapshots.claims.card import claim_card, claims_card
from bot.snapshots.claims.found import ClaimDetails, ClaimSummary, TeamClaims
from bot.snapshots.claims.users import ClaimUser

TIB, TWO_TIB = Quantity(2**40), Quantity(2**41)
SPEC = ClaimSpec(
    access_modes=("ReadWriteOnce",),
    storage_class_name="fast",
    resources=ClaimResources(requests={"storage": TIB}),
)
BOUND = ClaimStatus(phase="Bound", capacity={"storage": TIB})


def claim(
    spec: ClaimSpec = SPEC, status: ClaimStatus = BOUND, deleted: datetime | None = None
) -> PersistentVolumeClaim:
    meta = ObjectMeta(name="results", namespace="team-a", uid="uid", deletion_timestamp=deleted)
    return PersistentVolumeClaim(metadata=meta, spec=spec, status=status)


def summary(of: PersistentVolumeClaim, *users: ClaimUser) -> ClaimSummary:
    return ClaimSummary("default", of, None, None, users, (), has_snapshots=True, class_cost=None)


def shown(found: ClaimSummary) -> list[str]:
    details = ClaimDetails(found, None, None, (), None, (), None)
    return as_text(Reply(card=claim_card(details))).splitlines()


def listed(*rows: ClaimSummary, others: tuple[str, ...] = ()) -> list[str]:
    found = TeamClaims("team-a", rows, others, unread=(), troubles=(), is_wide=False)
    return as_text(Reply(card=claims_card(found, "/{}".format))).splitlines()


def test_growth_waits_for_a_pod() -> None:
    larger = ClaimSpec(
        access_modes=("ReadWriteOnce",), resources=ClaimResources(requests={"storage": TWO_TIB})
    )
    pending = Condition(type="FileSystemResizePending", status="True", message="Waiting for user")
    grown = ClaimStatus(phase="Bound", capacity={"storage": TIB}, conditions=(pending,))
    told = shown(summary(claim(larger, grown)))
    assert told[1] == "The volume has grown; its file system grows when a pod mounts it next."
    assert "  Size        1 TiB, growing to 2 TiB" in told


def test_other_conditions_show_their_message() -> None:
    failed = Condition(type="ControllerResizeError", status="True", message="out of capacity")
    told = shown(summary(claim(status=ClaimStatus(phase="Bound", conditions=(failed,)))))
    assert told[1] == "Kubernetes reports ControllerResizeError: out of capacity"


def test_pvc_without_volume_is_pending() -> None:
    found = summary(claim(status=ClaimStatus(phase="Pending")))
    assert listed(found)[2] == "  results  1 TiB (pending)  fast   RWO     not mounted  0"
    assert shown(found)[0] == "PVC results · Pending"


def test_deleted_pvc_waits_for_its_pods() -> None:
    leaving = claim(deleted=datetime(2026, 11, 21, tzinfo=UTC))
    told = shown(summary(leaving, ClaimUser("merge", "Running")))
    assert told[:2] == [
        "⚠️ PVC results · Being deleted",
        "Kubernetes deletes it once no pod mounts it any more.",
    ]


def test_retained_volume_of_fixed_size_says_so() -> None:
    volume = PersistentVolume(
        metadata=ObjectMeta(name="pv-1"), spec=VolumeSpec(persistent_volume_reclaim_policy="Retain")
    )
    kind = StorageClass(metadata=ObjectMeta(name="fast"), provisioner="ebs.csi.aws.com")
    told = shown(replace(summary(claim()), volume=volume, storage_class=kind))
    assert "  Class       fast (ebs.csi.aws.com)" in told
    assert "  Can grow    no, by its class" in told
    assert "  PV          `pv-1`, which stays when the PVC is deleted" in told


def test_many_pods_and_snapshots_are_counted() -> None:
    users = [ClaimUser(f"pod-{each}", "Running") for each in range(7)]
    taken = tuple(
        VolumeSnapshot(
            metadata=SnapshotMeta(name=f"results-{each}"),
            status=SnapshotStatus(creation_time=datetime(2026, 11, each, tzinfo=UTC)),
        )
        for each in range(8, 1, -1)
    )
    found = replace(summary(claim(), *users), snapshots=taken)
    assert listed(found)[2].endswith("pod pod-0, pod pod-1, pod pod-2 and 4 more  7")
    told = shown(found)
    assert told[-2].endswith("pod `pod-4`, running; and 2 more")
    assert told[-1].startswith("  Snapshots   7: `results-8` of 2026-11-08 00:00 UTC; `results-7`")
    assert told[-1].endswith("; and 2 older")


def test_team_without_pvcs_is_told() -> None:
    assert listed() == ["PVCs of team-a", "team-a has no PVCs."]
