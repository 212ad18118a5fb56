"""Checks whether a PVC can be reverted to a snapshot, and what is in the way."""

from collections.abc import Iterable
from dataclasses import dataclass

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PODS, SNAPSHOT_ACTIONS
from bot.cluster.types.claims import TRIDENT
from bot.cluster.types.objects import Pod
from bot.cluster.types.snapshots import VolumeSnapshot
from bot.masking import without_mentions
from bot.snapshots.classes import Problem
from bot.snapshots.examining import ClaimContext, not_theirs

_OVER = {"Succeeded", "Failed"}


@dataclass(frozen=True)
class Target:
    """The PVC to revert, and the snapshot to revert it to."""

    team: str
    claim: str
    claim_uid: str
    snapshot: str
    snapshot_uid: str
    restore: str
    """The command that restores the same snapshot to a new PVC."""


def cannot(driver: str, cluster: Cluster, target: Target) -> Problem | None:
    """Why the cluster cannot revert the PVC at all: no Trident, or a Trident without reverts."""
    instead = f"Restoring to a new PVC always works, and the old PVC stays: `{target.restore}`."
    if driver != TRIDENT:
        return Problem(
            f"Only Trident can revert a PVC in place, and {target.claim} uses {driver}.", instead
        )
    if cluster.view.store(SNAPSHOT_ACTIONS).absent:
        return Problem(
            f"Trident in cluster {cluster.name} cannot do it: it serves no"
            f" {SNAPSHOT_ACTIONS.kind}.",
            instead,
        )
    return None


def hindrance(around: ClaimContext, pods: Iterable[Pod], target: Target) -> Problem | None:
    """What blocks the revert now, by Trident's rules; None if nothing does."""
    claim = around.claim
    if claim is None or claim.metadata.deletion_timestamp is not None:
        return Problem(f"PVC {target.claim} no longer exists.", _AS_NEW.format(target.restore))
    if claim.uid != target.claim_uid:
        said = f"PVC {target.claim} is now a different PVC: the one of the snapshot was deleted."
        return Problem(said, _AS_NEW.format(target.restore))
    problem = not_theirs(claim, target.team)
    if problem is not None:
        return problem
    if claim.status.phase != "Bound":
        return Problem(f"PVC {target.claim} has no volume.", _AS_NEW.format(target.restore))
    return _of_snapshots(around.snapshots, target) or _of_pods(pods, target)


def pods_in_view(cluster: Cluster, namespace: str) -> Iterable[Pod]:
    """The pods of runs that the watches show."""
    return cluster.view.all(PODS, namespace)


def _of_snapshots(there: Iterable[VolumeSnapshot], target: Target) -> Problem | None:
    mine = [each for each in there if each.claim_name == target.claim]
    own = next((each for each in mine if each.name == target.snapshot), None)
    if own is None or own.uid != target.snapshot_uid or not own.status.ready_to_use:
        return Problem(f"Snapshot {target.snapshot} no longer exists or is not ready.", "")
    newer = sorted(each.name for each in mine if each is not own and not _is_older(each, own))
    if newer:
        return Problem(
            f"{target.snapshot} is not the newest snapshot of {target.claim}, and Trident can"
            f" revert a volume only to the newest. Newer: {', '.join(newer)}.",
            f"Restore the newest, or delete the newer ones first. {_AS_NEW.format(target.restore)}",
        )
    return None


def _is_older(other: VolumeSnapshot, own: VolumeSnapshot) -> bool:
    """Whether it was taken earlier; one that is still being taken counts as later."""
    theirs, ours = other.status.creation_time, own.status.creation_time
    return theirs is not None and ours is not None and theirs <= ours


def _of_pods(pods: Iterable[Pod], target: Target) -> Problem | None:
    users = sorted(
        _named(each)
        for each in pods
        if target.claim in each.spec.claims and each.status.phase not in _OVER
    )
    if not users:
        return None
    return Problem(
        f"PVC {target.claim} is mounted, and a volume in use cannot be reverted:"
        f" {'; '.join(users)}.",
        "Stop them, or wait until they end.",
    )


def _named(pod: Pod) -> str:
    run = without_mentions(pod.metadata.annotations.get(labels.RUN_NAME, ""))
    person = pod.labels.get(labels.PERSON)
    of_run = f" of run {run}" if run else ""
    return f"pod {pod.name}{of_run}" + (f" (<@{person}>)" if person else "")


_AS_NEW = "To restore the snapshot to a new PVC: `{}`."
