"""The three objects in the namespace of datasets through which a snapshot is read.

A PVC can only be created from a snapshot in its own namespace, and the stores' keys stay in the
namespace of datasets. So the driver's snapshot gets a second VolumeSnapshotContent there, whose
deletion does not delete it, then a VolumeSnapshot and a PVC. All have the name of the push's Job.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from bot.cluster.claims import PersistentVolume, PersistentVolumeClaim
from bot.cluster.resources import PVCS, SNAPSHOT_CONTENTS, SNAPSHOTS, Resource
from bot.cluster.snapshots import VolumeSnapshot, VolumeSnapshotContent


class RestoredPart(Enum):
    """One of these objects."""

    CONTENT = "content"
    SNAPSHOT = "snapshot"
    CLAIM = "claim"

    @property
    def resource(self) -> Resource[Any]:
        """Its kind of Kubernetes resource."""
        return _RESOURCES[self]


_RESOURCES: dict[RestoredPart, Resource[Any]] = {
    RestoredPart.CONTENT: SNAPSHOT_CONTENTS,
    RestoredPart.SNAPSHOT: SNAPSHOTS,
    RestoredPart.CLAIM: PVCS,
}


@dataclass(frozen=True)
class Restored:
    """The observed state of a snapshot and of the objects through which it is read.

    `source` is the team's snapshot, `origin` its VolumeSnapshotContent. `content`, `snapshot` and
    `claim` are ours; `taken` names an object of that name that is not ours. `volume` is what is
    left once the PVC is gone, `obstacle` what keeps the PVC from having one.
    """

    source: VolumeSnapshot | None = None
    origin: VolumeSnapshotContent | None = None
    content: VolumeSnapshotContent | None = None
    snapshot: VolumeSnapshot | None = None
    claim: PersistentVolumeClaim | None = None
    volume: PersistentVolume | None = None
    taken: str = ""
    obstacle: str = ""
