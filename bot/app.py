"""The composition root: every part is built and connected here, and nowhere else."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from importlib.metadata import version as installed_version
from pathlib import Path

from bot.access import Access
from bot.approvals import ApprovalController, Approvals
from bot.approvals.context import ApprovalContext, ReadAnew
from bot.clock import Clock
from bot.cluster.cluster import Cluster
from bot.cluster.following import Following
from bot.cluster.opening import follow
from bot.commands.context import Services
from bot.commands.dispatcher import CommandDispatcher
from bot.config import ConfigurationFile
from bot.current import CurrentSettings
from bot.database import schema
from bot.database.database import Database, Session
from bot.datasets import parts as datasets
from bot.datasets.caches.evictions.sweep import look_through
from bot.datasets.caches.keeping.service import KeepingService
from bot.datasets.caches.reads import CacheReads
from bot.datasets.caches.refreshing import refresh
from bot.datasets.caches.service import CacheService
from bot.datasets.leftovers.anf import AnfOrphans
from bot.datasets.leftovers.controller import OrphanController, look_for_orphans
from bot.datasets.leftovers.fsx import FsxOrphans
from bot.datasets.leftovers.sources import OrphanSource
from bot.datasets.pushes.service import PushService
from bot.datasets.reads import DatasetReads
from bot.datasets.service import DatasetService
from bot.datasets.usage.service import UsageService
from bot.gpus.digests.parts import Digests
from bot.gpus.idle.controller import UseController, look_around
from bot.gpus.idle.runs import look_at_idle_runs
from bot.gpus.samples.measuring import MeasureController
from bot.gpus.samples.sampling import SampleController, sample_all
from bot.gpus.service import GpuService
from bot.quotas.engines.registry import Engines
from bot.quotas.managed.controller import QuotaController
from bot.quotas.overrides.controller import OverrideController
from bot.quotas.renderer import OverrideRenderer
from bot.quotas.service import QuotaService
from bot.quotas.watching import QueueChanges, recover
from bot.reconcile.controller import Controller
from bot.reconcile.frame import ControllerContext
from bot.reconcile.wakeups import WatchHandler
from bot.slack.messages import Renderer
from bot.slack.registry import Registry
from bot.snapshots.of_runs import RunSnapshots
from bot.snapshots.parts import controllers as snapshot_controllers
from bot.snapshots.parts import renderers as snapshot_renderers
from bot.snapshots.restores.service import RestoreService
from bot.snapshots.reverts.service import RevertService
from bot.snapshots.schedules.service import ScheduleService
from bot.snapshots.snapshots.service import SnapshotService
from bot.snapshots.watching import SnapshotEar
from bot.training.external.removal import RemovalController
from bot.training.follows.card import LogFollowRenderer
from bot.training.follows.controller import LogFollowController
from bot.training.follows.service import FollowService
from bot.training.idle.runs import IdleRunService
from bot.training.idle.service import IdlingService
from bot.training.logs.reads import LogReads
from bot.training.offers.service import OfferService
from bot.training.records.makers import makers_of
from bot.training.runs.controller import RunCollaborators, RunController
from bot.training.runs.reads import TrainingReads
from bot.training.runs.renderer import RemovalRenderer, RunRenderer
from bot.training.runs.watching import RunEar
from bot.training.scaling import ScalingService
from bot.training.service import TrainingService
from bot.training.sessions.service import SessionService
from bot.training.stopping import RunStopping
from bot.volumes.anf import NetAppFiles
from bot.volumes.changes.service import ChangeService
from bot.volumes.growths.service import GrowthService
from bot.volumes.parts import controllers as volume_controllers
from bot.volumes.parts import renderers as volume_renderers
from bot.volumes.pools.controller import look_at_pools
from bot.volumes.pools.reads import VolumeReads
from bot.volumes.repairs.service import RepairService
from handlers.declared import COMMANDS
from jobs.declared import Works, declared
from jobs.timetable import Timetable

_SYNC_SECONDS = 5.0
_LOOK_SECONDS = 0.05


def version() -> str:
    """The installed version."""
    return installed_version("quartermaster")


def commands(prefix: str = "") -> Registry:
    """Every declared command, under the names that `prefix` gives them: qm for /qm-train."""
    return Registry(COMMANDS, prefix=f"{prefix.rstrip('-')}-" if prefix else "")


def migrate(path: Path) -> None:
    """Brings the schema of the configured database up to date."""
    schema.upgrade(ConfigurationFile(path).load().database.url)


@contextmanager
def open_application(path: Path) -> Iterator["Application"]:
    """An application that sees the clusters, for commands beside a running server."""
    file = ConfigurationFile(path)
    settings = file.load()
    application = Application(CurrentSettings(file, settings), follow(settings))
    try:
        application.start_watching()
        application.wait_for_views()
        yield application
    finally:
        application.close()


class Application:
    """The parts of the bot that decide; it has no threads of its own and never calls Slack."""

    def __init__(self, settings: CurrentSettings, followed: Mapping[str, Following]) -> None:
        now = settings()
        self.settings = settings
        self.clock = Clock()
        self.database = Database(now.database.url)
        self.database.read(lambda session: schema.refuse_misfit(session, version()))
        self.clusters = _clusters(followed, self.database.transaction(schema.installation))
        self.registry = commands(now.slack.command_prefix)
        self.access = Access(settings)
        self.approvals = Approvals(settings, self.access)
        self.engines = Engines(settings, self.clusters)
        self.quotas = QuotaService(settings, self.access, self.approvals, self.engines)
        self.run_snapshots = RunSnapshots(settings, self.clusters, self.access)
        self.training = self._training()
        self.scaling = ScalingService(
            self.access, self.training, self.engines.get, self.registry.slash.of
        )
        self.idling = IdlingService(settings, self.training.stop_jobs, self.registry.slash.of)
        self.netapp_files = NetAppFiles(settings)
        self.usage = UsageService(settings, self.clusters)
        self.digests = Digests(
            settings, self.database, self.clock, self.usage, lambda at: self.access.place(at)[1]
        )
        self.services = self._services()
        self.desk = CommandDispatcher(self.database, self.clock, self.registry, self.services)
        own = (self.digests.slots,)
        self.timetable = Timetable(self.database, self.clock, declared(self._works()), own)

    def controllers(self, read_anew: ReadAnew) -> Sequence[Controller]:
        """The controllers; `read_anew` asks Slack about approvers before an approval counts."""
        database, clock, clusters = self.database, self.clock, self.clusters
        context = ControllerContext(
            database, clock, self.settings, clusters, self.registry.slash.of
        )
        of_runs = RunCollaborators(self.engines.of, self.scaling.again, self.run_snapshots)
        deciding = ApprovalContext(database, clock, self.access, self.approvals, read_anew)
        return (
            RunController(context, of_runs),
            RemovalController(context),
            LogFollowController(database, clock, self.access, LogReads(database, clusters)),
            QuotaController(database, clock, self.engines),
            OverrideController(context, deciding, self.engines, RunStopping(self.training)),
            ApprovalController(database, clock, self.settings, self.approvals),
            UseController(database, clock, self.settings, self.idling),
            SampleController(database, clock, self.settings, clusters, self.engines.of),
            MeasureController(database, clock, self.settings, clusters),
            *datasets.controllers(context, makers_of),
            *snapshot_controllers(context, deciding),
            *volume_controllers(context, deciding, self.netapp_files),
            OrphanController(context, self._clouds()),
            self.digests.controller,
        )

    def renderers(self) -> Mapping[str, Renderer]:
        """What renders the cards of each kind of subject."""
        renderers: tuple[Renderer, ...] = (
            RunRenderer(self.clock),
            RemovalRenderer(),
            LogFollowRenderer(self.registry.slash.of),
            OverrideRenderer(self.settings, self.approvals, self.quotas, self.clock),
            *datasets.renderers(self.clock),
            *snapshot_renderers(self.clock, self.settings, self.approvals),
            *volume_renderers(self.settings, self.approvals),
            self.digests.renderer,
        )
        return {renderer.kind: renderer for renderer in renderers}

    def ears(self) -> Sequence[WatchHandler]:
        """The watch handlers: each returns the rows that a changed object concerns."""
        return (
            RunEar(self.clusters),
            *datasets.ears(self.clusters),
            SnapshotEar(self.clusters),
            QueueChanges(self.database).changes,
        )

    def start_watching(self) -> None:
        """Begins to watch the clusters; returns at once."""
        for cluster in self.clusters.values():
            cluster.start()

    def wait_for_views(self) -> None:
        """Returns once every cluster was read, or after a short time-out."""
        waiting = threading.Event()
        for _ in range(round(_SYNC_SECONDS / _LOOK_SECONDS)):
            if all(cluster.view.synced for cluster in self.clusters.values()):
                return
            waiting.wait(_LOOK_SECONDS)

    def close(self) -> None:
        """Ends the watches and gives the database back."""
        for cluster in self.clusters.values():
            cluster.stop()
        self.netapp_files.close()
        self.database.close()

    def _services(self) -> Services:
        settings, words = self.settings, self.registry.slash.of
        caches = CacheService(settings, self.clusters, words)
        return Services(
            settings=settings,
            access=self.access,
            approvals=self.approvals,
            training=self.training,
            training_reads=TrainingReads(self.database, self.clusters),
            sessions=SessionService(words),
            follows=FollowService(words),
            idling=self.idling,
            gpus=GpuService(settings, self.clusters, self.engines.of),
            scaling=self.scaling,
            offers=OfferService(self.training, caches, words),
            quotas=self.quotas,
            datasets=DatasetService(settings, words),
            dataset_reads=DatasetReads(settings),
            caches=caches,
            pushes=PushService(settings, self.clusters, words),
            keeping=KeepingService(settings, words),
            cache_reads=CacheReads(self.database, self.clock, self.clusters),
            usage=self.usage,
            digests=self.digests.service,
            snapshots=SnapshotService(settings, self.clusters, words),
            schedules=ScheduleService(settings, self.clusters, words),
            restoring=RestoreService(settings, self.clusters),
            reverts=RevertService(settings, self.access, self.approvals, self.clusters, words),
            volume_reads=VolumeReads(self.netapp_files, self.clusters),
            changes=ChangeService(
                self.netapp_files, self.clusters, self.database, self.approvals, self.clock
            ),
            growing=GrowthService(self.netapp_files, self.clusters, self.approvals),
            repairs=RepairService(settings, self.approvals, self.netapp_files, self.clusters),
        )

    def _clouds(self) -> Sequence[OrphanSource]:
        """Where volumes may be left over outside of clusters."""
        return (
            FsxOrphans(self.database, self.settings),
            AnfOrphans(self.database, self.netapp_files, self.settings),
        )

    def _training(self) -> TrainingService:
        installation = self.database.transaction(schema.installation)
        words = self.registry.slash.of
        return TrainingService(
            self.settings, self.engines.get, installation, words, self.run_snapshots
        )

    def _works(self) -> Works:
        settings = self.settings
        return Works(
            recover_quotas=self._recover_quotas,
            look_at_gpus=self._look_at_gpus,
            sample_gpus=lambda session, now: sample_all(settings(), session, now),
            look_at_caches=lambda session, now: look_through(settings(), session, now),
            look_for_orphans=lambda session, now: look_for_orphans(settings(), session, now),
            refresh_datasets=lambda session, now: refresh(settings(), session, now),
            look_at_pools=lambda session, now: look_at_pools(settings(), session, now),
        )

    def _look_at_gpus(self, session: Session, now: datetime) -> None:
        look_around(self.settings(), session, now)
        idle = IdleRunService(self.settings, self.training.stop_jobs)
        look_at_idle_runs(idle, session, self.settings().clusters, now)

    def _recover_quotas(self, session: Session, now: datetime) -> None:
        for cluster in self.clusters:
            recover(session, self.engines.of(cluster), self.settings().workspace, now)


def _clusters(followed: Mapping[str, Following], installation: str) -> dict[str, Cluster]:
    return {name: Cluster.of(each, installation) for name, each in followed.items()}
