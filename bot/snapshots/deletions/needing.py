"""What still needs a PVC, as sentences: pods, runs, and work of other areas that is in progress."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from sqlmodel import Session, col, or_, select

from bot.cluster import labels
from bot.cluster.types.objects import Pod
from bot.datasets.tables import Push
from bot.masking import without_mentions
from bot.snapshots import finding
from bot.snapshots.copies.finding import copying
from bot.snapshots.resizes.tables import Resize
from bot.snapshots.tables import Restore, Snapshot, SnapshotPhase, SnapshotSchedule
from bot.volumes.changes.tables import VolumeChange
from bot.volumes.growths.tables import Growth
from bot.volumes.records import ClaimPlace, stale, why_it_stays

RunsNeeding = Callable[[Session, str, str], Mapping[str, Sequence[str]]]
"""The runs of a cluster's namespace that have not ended, by the PVCs that they mount."""
_OVER = {"Succeeded", "Failed"}


def needing(
    session: Session, place: ClaimPlace, runs: Sequence[str], snapshot_id: str | None = None
) -> list[str]:
    """What rows show that needs a PVC, which these runs mount.

    The snapshot with that id does not count.
    """
    moved = stale(session, place)
    return [
        *(f"Run {each} mounts it." for each in runs),
        *_of_snapshots(session, place, snapshot_id),
        *_of_copies(session, place),
        *_of_changes(session, place),
        *([why_it_stays(moved)] if moved is not None else []),
    ]


def mounted_by(pods: Iterable[Pod], claim: str) -> list[str]:
    """The pods that name a PVC and have not ended, with their runs, sorted."""
    return sorted(
        _named(pod) for pod in pods if claim in pod.spec.claims and pod.status.phase not in _OVER
    )


def _of_snapshots(session: Session, place: ClaimPlace, snapshot_id: str | None) -> Iterator[str]:
    restores = select(Restore).where(
        col(Restore.cluster) == place.cluster, col(Restore.ended_at).is_(None),
        or_(col(Restore.claim_name) == place.name, col(Restore.source) == place.name),
    )  # fmt: skip
    for each in session.exec(restores.order_by(col(Restore.id))):
        if (each.namespace, each.claim_name) == (place.namespace, place.name):
            yield f"A restore by <@{each.person}> creates it."
        elif each.snapshot_id is None and place.namespace == (
            each.source_namespace or each.namespace
        ):
            yield f"<@{each.person}> clones it to PVC {each.claim_name}."
    revert = finding.reverting(session, *place)
    if revert is not None:
        yield f"<@{revert.person}> requested to revert it to {revert.snapshot}."
    schedules = select(SnapshotSchedule).where(
        col(SnapshotSchedule.cluster) == place.cluster,
        col(SnapshotSchedule.namespace) == place.namespace,
        col(SnapshotSchedule.claim_name) == place.name,
        col(SnapshotSchedule.ended_at).is_(None),
    )
    if session.exec(schedules).first() is not None:
        yield f"Snapshots of it are scheduled: `/snapshot unschedule {place.name}` ends that."
    taking = select(Snapshot).where(
        col(Snapshot.cluster) == place.cluster, col(Snapshot.namespace) == place.namespace,
        col(Snapshot.claim_name) == place.name, col(Snapshot.ended_at).is_(None),
        col(Snapshot.phase).in_((SnapshotPhase.ASKED, SnapshotPhase.TAKING)),
    )  # fmt: skip
    for shot in session.exec(taking):
        if shot.id != snapshot_id:
            yield f"Snapshot {shot.name} of it is being taken."


def _of_copies(session: Session, place: ClaimPlace) -> Iterator[str]:
    for each in copying(session, *place):
        if each.claim_name == place.name:
            yield f"<@{each.person}> requested to copy it to PVC {each.target}."
        else:
            yield f"<@{each.person}> requested to copy PVC {each.claim_name} to it."


def _of_changes(session: Session, place: ClaimPlace) -> Iterator[str]:
    if any(_growing(session, place)):
        yield "It is being made larger, or waits for approval of that."
    change = session.exec(
        select(VolumeChange).where(
            col(VolumeChange.cluster) == place.cluster,
            col(VolumeChange.namespace) == place.namespace,
            col(VolumeChange.claim_name) == place.name,
            col(VolumeChange.ended_at).is_(None),
        )
    ).first()
    if change is not None:
        yield f"<@{change.person}> changed its level or throughput for a while."
    push = session.exec(
        select(Push).where(
            col(Push.cluster) == place.cluster,
            col(Push.claim_namespace) == place.namespace,
            col(Push.claim_name) == place.name,
            col(Push.ended_at).is_(None),
        )
    ).first()
    if push is not None:
        yield f"<@{push.person}> pushes its data to a store."


def _growing(session: Session, place: ClaimPlace) -> Iterator[bool]:
    """Whether it has a resize that has not ended, and whether it has a growth."""
    for table in (Resize, Growth):
        found = select(col(table.id)).where(
            col(table.cluster) == place.cluster, col(table.namespace) == place.namespace,
            col(table.claim_name) == place.name, col(table.ended_at).is_(None),
        )  # fmt: skip
        yield session.exec(found).first() is not None


def _named(pod: Pod) -> str:
    run = without_mentions(pod.metadata.annotations.get(labels.RUN_NAME, ""))
    return f"pod {pod.name}" + (f" of run {run}" if run else "")
