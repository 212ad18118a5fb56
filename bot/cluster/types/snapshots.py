"""Snapshots of volumes, reduced to the fields the bot looks at."""

from collections.abc import Mapping
from datetime import datetime

from bot.cluster import labels
from bot.cluster.types.objects import ClusterObject, ObjectMeta, ObjectPart, StatusMessage
from bot.cluster.types.quantities import Quantity


class SnapshotMeta(ObjectMeta, frozen=True, kw_only=True):
    """What a snapshot has; it stays until the last finalizer is taken off."""

    finalizers: tuple[str, ...] = ()


class SnapshotSource(ObjectPart, frozen=True, kw_only=True):
    """What a snapshot is of."""

    persistent_volume_claim_name: str = ""


class SnapshotSpec(ObjectPart, frozen=True, kw_only=True):
    """What a snapshot is to be."""

    source: SnapshotSource = SnapshotSource()
    volume_snapshot_class_name: str = ""


class SnapshotError(StatusMessage, frozen=True, kw_only=True):
    """What went wrong last; it stays while the controller tries again."""

    time: datetime | None = None


class SnapshotStatus(ObjectPart, frozen=True, kw_only=True):
    """How far a snapshot is; all of it is missing at first.

    `creation_time` is the moment that it shows, `restore_size` in bytes what a volume made from
    it has at least.
    """

    bound_volume_snapshot_content_name: str = ""
    creation_time: datetime | None = None
    ready_to_use: bool = False
    restore_size: Quantity | None = None
    error: SnapshotError | None = None


class VolumeSnapshot(ClusterObject, frozen=True, kw_only=True):
    """A snapshot of a PVC."""

    metadata: SnapshotMeta = SnapshotMeta()
    spec: SnapshotSpec = SnapshotSpec()
    status: SnapshotStatus = SnapshotStatus()

    @property
    def claim_name(self) -> str:
        """The PVC it is of, empty where it was made from what a store had already."""
        return self.spec.source.persistent_volume_claim_name


class SnapshotReference(ObjectPart, frozen=True, kw_only=True):
    """Which snapshot a content belongs to."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class ContentSource(ObjectPart, frozen=True, kw_only=True):
    """What a content was made from; `snapshot_handle` where the store had the snapshot already."""

    snapshot_handle: str = ""


class ContentSpec(ObjectPart, frozen=True, kw_only=True):
    """What a content is of, and whether the store's own snapshot goes with it."""

    volume_snapshot_ref: SnapshotReference = SnapshotReference()
    deletion_policy: str = ""
    driver: str = ""
    volume_snapshot_class_name: str = ""
    source_volume_mode: str = ""
    source: ContentSource = ContentSource()


class ContentStatus(ObjectPart, frozen=True, kw_only=True):
    """The status of a content: the snapshot's handle in the driver."""

    snapshot_handle: str = ""


class VolumeSnapshotContent(ClusterObject, frozen=True, kw_only=True):
    """A snapshot as the store has it."""

    spec: ContentSpec = ContentSpec()
    status: ContentStatus = ContentStatus()

    @property
    def handle(self) -> str:
        """The snapshot's handle in the driver, empty while it is being taken."""
        return self.status.snapshot_handle or self.spec.source.snapshot_handle


class VolumeSnapshotClass(ClusterObject, frozen=True, kw_only=True):
    """How snapshots are taken: by which driver, and what deleting one means for the store."""

    driver: str = ""
    deletion_policy: str = ""

    @property
    def is_default(self) -> bool:
        """Whether it counts for its driver where no class is named."""
        return self.metadata.annotations.get(labels.DEFAULT_SNAPSHOT_CLASS) == "true"


class ScheduleSelector(ObjectPart, frozen=True, kw_only=True):
    """Which PVCs snapscheduler takes snapshots of, by their labels."""

    match_labels: Mapping[str, str] = {}


class SnapshotScheduleSpec(ObjectPart, frozen=True, kw_only=True):
    """When snapscheduler takes snapshots, and of what."""

    schedule: str = ""
    disabled: bool = False
    claim_selector: ScheduleSelector = ScheduleSelector()


class ForeignSchedule(ClusterObject, frozen=True, kw_only=True):
    """A SnapshotSchedule of snapscheduler, which takes snapshots of PVCs by itself."""

    spec: SnapshotScheduleSpec = SnapshotScheduleSpec()

    def may_cover(self, labels_of_claim: Mapping[str, str]) -> bool:
        """Whether it takes snapshots of a PVC with these labels, as far as its labels tell."""
        wanted = self.spec.claim_selector.match_labels
        return not self.spec.disabled and wanted.items() <= labels_of_claim.items()


class ActionStatus(StatusMessage, frozen=True, kw_only=True):
    """How far Trident is with an action; the state is empty until it has begun."""

    state: str = ""


class SnapshotAction(ClusterObject, frozen=True, kw_only=True):
    """A request to Trident to revert a volume in place to its newest snapshot."""

    status: ActionStatus = ActionStatus()
