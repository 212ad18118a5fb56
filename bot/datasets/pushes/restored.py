"""By what a snapshot is read: three objects in the namespace of datasets, and what is seen of them.

A PVC can only be made of a snapshot in its own namespace, and the stores' keys do not leave that
of datasets. So the driver's snapshot gets a second content there, which leaves it alone when it
goes, then a VolumeSnapshot, then the PVC. All are called as the push's Job.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from bot.cluster.claims import PersistentVolume, PersistentVolumeClaim
from bot.cluster.resources import PVCS, SNAPSHOT_CONTENTS, SNAPSHOTS, Resource
from bot.cluster.snapshots import VolumeSnapshot, VolumeSnapshotContent


class Part(Enum):
    """One of these objects."""

    CONTENT = "content"
    SNAPSHOT = "snapshot"
    CLAIM = "claim"

    @property
    def resource(self) -> Resource[Any]:
        """What it is."""
        return _RESOURCES[self]


_RESOURCES: dict[Part, Resource[Any]] = {
    Part.CONTENT: SNAPSHOT_CONTENTS,
    Part.SNAPSHOT: SNAPSHOTS,
    Part.CLAIM: PVCS,
}


@dataclass(frozen=True)
class Restored:
    """One look at a snapshot and at what it is read by.

    `source` is the team's snapshot and `origin` what its driver made of it. `content`, `snapshot`
    and `claim` are ours; what has such a name and is not ours is named in `taken`. `volume` is what
    is left when the PVC is gone, `obstacle` what keeps it from having one.
    """

    source: VolumeSnapshot | None = None
    origin: VolumeSnapshotContent | None = None
    content: VolumeSnapshotContent | None = None
    snapshot: VolumeSnapshot | None = None
    claim: PersistentVolumeClaim | None = None
    volume: PersistentVolume | None = None
    taken: str = ""
    obstacle: str = ""
