"""What a handler is given: who asks, where, and the services that answer."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from bot.access import Access, Caller, Right
from bot.approvals import Approvals
from bot.config import Settings, Team
from bot.database.database import Session
from bot.datasets.caches.keeping.service import KeepingService
from bot.datasets.caches.reads import CacheReads
from bot.datasets.caches.service import CacheService
from bot.datasets.pushes.service import PushService
from bot.datasets.reads import DatasetReads
from bot.datasets.service import DatasetService
from bot.datasets.usage.service import UsageService
from bot.gpus.digests.service import DigestService
from bot.gpus.service import GpuService
from bot.quotas.service import QuotaService
from bot.slack.registry import Spelling
from bot.snapshots.restores.service import RestoreService
from bot.snapshots.reverts.service import RevertService
from bot.snapshots.schedules.service import ScheduleService
from bot.snapshots.snapshots.service import SnapshotService
from bot.training.follows.service import FollowService
from bot.training.idle.service import IdlingService
from bot.training.offers.service import OfferService
from bot.training.runs.reads import TrainingReads
from bot.training.scaling import ScalingService
from bot.training.service import TrainingService
from bot.training.sessions.service import SessionService
from bot.volumes.changes.service import ChangeService
from bot.volumes.growths.service import GrowthService
from bot.volumes.pools.reads import VolumeReads
from bot.volumes.repairs.service import RepairService


@dataclass(frozen=True)
class Services:
    """What handlers call, the same for every request."""

    settings: Callable[[], Settings]
    access: Access
    approvals: Approvals
    training: TrainingService
    training_reads: TrainingReads
    sessions: SessionService
    follows: FollowService
    idling: IdlingService
    gpus: GpuService
    scaling: ScalingService
    offers: OfferService
    quotas: QuotaService
    datasets: DatasetService
    dataset_reads: DatasetReads
    caches: CacheService
    pushes: PushService
    keeping: KeepingService
    cache_reads: CacheReads
    usage: UsageService
    snapshots: SnapshotService
    schedules: ScheduleService
    reverts: RevertService
    restoring: RestoreService
    volume_reads: VolumeReads
    changes: ChangeService
    repairs: RepairService
    growing: GrowthService
    digests: DigestService


@dataclass(frozen=True)
class Context:
    """One request: everything it writes goes through `session` and is committed as a whole.

    `said` are the words of its command, none of a click.
    """

    session: Session
    caller: Caller
    now: datetime
    spelling: Spelling
    services: Services
    said: tuple[str, ...] = ()

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.services.settings()

    @property
    def training(self) -> TrainingService:
        """Training runs."""
        return self.services.training

    @property
    def training_reads(self) -> TrainingReads:
        """What must be looked up outside about training runs."""
        return self.services.training_reads

    @property
    def sessions(self) -> SessionService:
        """Interactive sessions."""
        return self.services.sessions

    @property
    def follows(self) -> FollowService:
        """Logs that people see grow."""
        return self.services.follows

    @property
    def idling(self) -> IdlingService:
        """Sessions whose GPUs do nothing."""
        return self.services.idling

    @property
    def gpus(self) -> GpuService:
        """What GPUs do, and did."""
        return self.services.gpus

    @property
    def scaling(self) -> ScalingService:
        """Elastic runs."""
        return self.services.scaling

    @property
    def offers(self) -> OfferService:
        """Runs that wait for somebody to have their data cached."""
        return self.services.offers

    @property
    def quotas(self) -> QuotaService:
        """GPU quota."""
        return self.services.quotas

    @property
    def datasets(self) -> DatasetService:
        """Datasets."""
        return self.services.datasets

    @property
    def dataset_reads(self) -> DatasetReads:
        """What must be looked up outside about datasets."""
        return self.services.dataset_reads

    @property
    def caches(self) -> CacheService:
        """Caches of datasets."""
        return self.services.caches

    @property
    def pushes(self) -> PushService:
        """Pushes of folders into object stores."""
        return self.services.pushes

    @property
    def keeping(self) -> KeepingService:
        """How long caches of datasets stay."""
        return self.services.keeping

    @property
    def cache_reads(self) -> CacheReads:
        """What must be looked up outside about caches."""
        return self.services.cache_reads

    @property
    def usage(self) -> UsageService:
        """What caches take."""
        return self.services.usage

    @property
    def volume_reads(self) -> VolumeReads:
        """Volumes of Azure NetApp Files."""
        return self.services.volume_reads

    @property
    def changes(self) -> ChangeService:
        """Changes of what volumes can do."""
        return self.services.changes

    @property
    def repairs(self) -> RepairService:
        """Repairs of what Trident keeps."""
        return self.services.repairs

    @property
    def growing(self) -> GrowthService:
        """PVCs that get more room."""
        return self.services.growing

    @property
    def snapshots(self) -> SnapshotService:
        """Snapshots of PVCs."""
        return self.services.snapshots

    @property
    def schedules(self) -> ScheduleService:
        """Schedules of snapshots."""
        return self.services.schedules

    @property
    def reverts(self) -> RevertService:
        """PVCs that are put back in place."""
        return self.services.reverts

    @property
    def restoring(self) -> RestoreService:
        """PVCs that are made from snapshots."""
        return self.services.restoring

    @property
    def digests(self) -> DigestService:
        """What GPUs did, told."""
        return self.services.digests

    @property
    def approvals(self) -> Approvals:
        """Requests that people decide."""
        return self.services.approvals

    def require(self, right: Right) -> None:
        """Nothing when the person has the right here; NotAllowedError otherwise."""
        self.services.access.require(self.caller, right)

    def team(self, cluster: str | None = None) -> tuple[str, Team]:
        """The team the person acts for, in the named cluster or in its default one."""
        return self.services.access.require_team(self.caller, cluster)

    def words(self, text: str) -> str:
        """How a command is typed here: `train list` as `/train list` or `@Quartermaster ...`."""
        return self.spelling.of(text)

    def again(self, *more: str) -> str:
        """How the same command is typed here, its options included, with `more` behind it."""
        return self.words(shlex.join((*self.said, *more)))
