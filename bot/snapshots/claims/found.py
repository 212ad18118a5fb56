"""What is known of the PVCs of a team: values for answers."""

from dataclasses import dataclass

from bot.cluster.types.claims import PersistentVolume, PersistentVolumeClaim, StorageClass
from bot.cluster.types.snapshots import VolumeSnapshot
from bot.snapshots.claims.lineage import ClaimSource
from bot.snapshots.claims.users import ClaimUser
from bot.snapshots.tables import Restore, Revert, SnapshotSchedule
from bot.volumes.resources import AnfVolume


@dataclass(frozen=True)
class LevelFound:
    """The volume of a PVC on Azure NetApp Files; `cost` is None if its level has no price."""

    volume: AnfVolume
    cost: float | None
    is_moved: bool = False


@dataclass(frozen=True)
class ClaimRun:
    """A run that mounts a PVC, also before it has pods and after it has ended.

    `state` is its status in words.
    """

    reference: str
    state: str
    is_read_only: bool = False


@dataclass(frozen=True)
class ClaimSummary:
    """A PVC, what mounts it, and its snapshots, the newest first.

    `class_cost` is what its storage class says that it costs a month. Without `has_snapshots` the
    cluster serves no VolumeSnapshots. `level` is None unless Azure was asked.
    """

    cluster: str
    claim: PersistentVolumeClaim
    volume: PersistentVolume | None
    storage_class: StorageClass | None
    users: tuple[ClaimUser, ...]
    snapshots: tuple[VolumeSnapshot, ...]
    has_snapshots: bool
    class_cost: float | None
    level: LevelFound | None = None

    @property
    def cost(self) -> float | None:
        """What it costs a month, by its level or else by its class; None if unknown."""
        if self.level is not None and self.level.cost is not None:
            return self.level.cost
        return self.class_cost


@dataclass(frozen=True)
class TeamClaims:
    """The PVCs of a team.

    `others` are PVCs of its namespace that are not its own, such as those that show the caches of
    datasets. `unread` are clusters that have not been read completely, `troubles` clusters with
    what goes wrong with watching them now, `azure` is why the levels are unknown.
    """

    team: str
    rows: tuple[ClaimSummary, ...]
    others: tuple[str, ...]
    unread: tuple[str, ...]
    troubles: tuple[tuple[str, str], ...]
    is_wide: bool
    azure: str = ""


@dataclass(frozen=True)
class ClaimDetails:
    """One PVC in detail.

    `copies` are PVCs that were created from it, `others` schedules of snapscheduler that take
    snapshots of it, `runs` the runs of the team that mount it, the newest first; `azure` is why its
    level is unknown.
    """

    summary: ClaimSummary
    source: ClaimSource | None
    restore: Restore | None
    copies: tuple[str, ...]
    schedule: SnapshotSchedule | None
    others: tuple[str, ...]
    revert: Revert | None
    runs: tuple[ClaimRun, ...] = ()
    azure: str = ""
