"""Manifests of snapshots, restores and reverts."""

import re
from datetime import UTC, datetime
from typing import Any

from bot.cluster import labels
from bot.cluster.resources import SNAPSHOT as GROUP
from bot.snapshots.tables import Restore, Revert, Snapshot

Manifest = dict[str, Any]
_LONGEST_SLUG = 30


def object_name(claim: str, row_id: str) -> str:
    """The name of a row's object: the same each time, so that a repeated step finds it."""
    slug = re.sub(r"[^a-z0-9]+", "-", claim.lower()).strip("-")[:_LONGEST_SLUG].strip("-")
    return f"{slug or 'pvc'}-{row_id[-10:]}"


def scheduled_name(claim: str, slot: datetime, row_id: str) -> str:
    """The name of a scheduled snapshot, with the time of its slot in UTC."""
    slug, _, end = object_name(claim, row_id).rpartition("-")
    return f"{slug}-{slot.astimezone(UTC):%Y%m%d-%H%M}-{end}"


def snapshot_of(row: Snapshot, snapshot_class: str, installation: str) -> Manifest:
    """The VolumeSnapshot of a row."""
    return {
        "metadata": {
            "name": row.name,
            "namespace": row.namespace,
            "labels": _ours(row, labels.SNAPSHOT, installation),
        },
        "spec": {
            "volumeSnapshotClassName": snapshot_class,
            "source": {"persistentVolumeClaimName": row.claim_name},
        },
    }


def claim_of(row: Restore, installation: str) -> Manifest:
    """The PVC of a row: a restore from a snapshot, or a clone of another PVC."""
    source = {"kind": "PersistentVolumeClaim", "name": row.source}
    if row.snapshot_id is not None:
        source = {"apiGroup": GROUP, "kind": "VolumeSnapshot", "name": row.source}
    metadata: Manifest = {
        "name": row.claim_name,
        "namespace": row.namespace,
        "labels": _ours(row, labels.RESTORE, installation),
    }
    spec: Manifest = {
        "accessModes": [row.access_mode],
        "storageClassName": row.storage_class,
        "resources": {"requests": {"storage": str(row.size_bytes)}},
    }
    if row.is_read_only:
        metadata["annotations"] = {labels.READ_ONLY_CLONE: "true"}
    if row.is_split:
        metadata["annotations"] = {labels.SPLIT_CLONE: "true"}
    if row.source_namespace is not None:
        metadata["annotations"] = {
            labels.CLONED_FROM: row.of_claim,
            labels.CLONED_FROM_SNAPSHOT: row.source,
            labels.CLONED_FROM_NAMESPACE: row.source_namespace,
        }
    else:
        # dataSource would be dropped silently if the cluster does not know the kind.
        spec["dataSourceRef"] = source
    return {"metadata": metadata, "spec": spec}


def leave_name(row: Restore) -> str:
    """The name of the TridentVolumeReference that allows a clone from another namespace."""
    return object_name(row.of_claim, row.id)


def leave_of(row: Restore, installation: str) -> Manifest:
    """The TridentVolumeReference that Trident requires to clone from another namespace."""
    return {
        "metadata": {
            "name": leave_name(row),
            "namespace": row.namespace,
            "labels": _ours(row, labels.RESTORE, installation),
        },
        "spec": {"pvcName": row.of_claim, "pvcNamespace": row.source_namespace},
    }


def revert_name(row: Revert) -> str:
    """The name of the TridentActionSnapshotRestore of a revert."""
    return object_name(row.claim_name, row.id)


def action_of(row: Revert, installation: str) -> Manifest:
    """The TridentActionSnapshotRestore of a revert, in the namespace of the PVC."""
    return {
        "metadata": {
            "name": revert_name(row),
            "namespace": row.namespace,
            "labels": _ours(row, labels.REVERT, installation),
        },
        "spec": {"pvcName": row.claim_name, "volumeSnapshotName": row.snapshot},
    }


def _ours(row: Snapshot | Restore | Revert, label: str, installation: str) -> dict[str, str]:
    return {
        labels.MANAGED_BY: labels.MANAGER,
        labels.INSTALLATION: installation,
        label: row.id,
        labels.TEAM: row.team,
        labels.PERSON: row.person,
    }


def name_for_run(claim: str, run_id: str) -> str:
    """A name from a PVC and a run: of the snapshot of its end, or of the PVC it starts on."""
    # A run may start on a PVC that has such a name already: names must not grow each time.
    return object_name(_OF_ROW.sub("", claim), run_id)


_OF_ROW = re.compile(r"-[0-9a-f]{10}$")
