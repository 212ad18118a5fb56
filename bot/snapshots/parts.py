"""What the area of snapshots brings: its services, controllers, renderers and watch handler."""

from collections.abc import Sequence

from typing_extensions import override

from bot.approvals.context import ApprovalContext
from bot.areas import Area, Foundations
from bot.reconcile.controller import Controller
from bot.reconcile.wakeups import WatchHandler
from bot.slack.messages import Renderer
from bot.snapshots.claims.reads import ClaimReads
from bot.snapshots.copies.card import CopyRenderer
from bot.snapshots.copies.controller import CopyController, copy_changes
from bot.snapshots.copies.service import CopyService
from bot.snapshots.deletions.card import DeletionRenderer
from bot.snapshots.deletions.controller import DeletionController
from bot.snapshots.deletions.needing import RunsNeeding
from bot.snapshots.deletions.service import DeletionService
from bot.snapshots.resizes.card import ResizeRenderer
from bot.snapshots.resizes.controller import ResizeController
from bot.snapshots.resizes.service import ResizeService
from bot.snapshots.restores.card import RestoreRenderer
from bot.snapshots.restores.controller import RestoreController
from bot.snapshots.restores.service import RestoreService
from bot.snapshots.reverts.card import RevertRenderer
from bot.snapshots.reverts.controller import RevertController
from bot.snapshots.reverts.service import RevertService
from bot.snapshots.run_snapshots import RunSnapshots
from bot.snapshots.schedules.card import ScheduleRenderer
from bot.snapshots.schedules.controller import ScheduleController
from bot.snapshots.schedules.service import ScheduleService
from bot.snapshots.snapshots.card import SnapshotRenderer
from bot.snapshots.snapshots.controller import SnapshotController
from bot.snapshots.snapshots.service import SnapshotService
from bot.snapshots.watching import CHANGES
from bot.volumes.pools.reads import VolumeReads


class SnapshotsArea(Area):
    """PVCs of teams, and their snapshots: taken, scheduled, restored and reverted."""

    def __init__(self, on: Foundations, anf: VolumeReads, runs: RunsNeeding) -> None:
        super().__init__(on)
        self._runs = runs
        settings, clusters, format_command = on.settings, on.clusters, on.format_command
        self.snapshots = SnapshotService(settings, clusters, format_command)
        self.schedules = ScheduleService(settings, clusters, format_command)
        self.restores = RestoreService(settings, clusters)
        self.reverts = RevertService(settings, on.access, on.approvals, clusters, format_command)
        self.claims = ClaimReads(settings, clusters, anf)
        self.resizes = ResizeService(settings, on.approvals, clusters)
        self.copies = CopyService(settings, on.approvals, clusters, format_command)
        self.deletions = DeletionService(clusters, self.snapshots, runs)
        self.of_runs = RunSnapshots(settings, clusters, on.access)

    @override
    def controllers(self, deciding: ApprovalContext) -> Sequence[Controller]:
        context = self.on.reconciling
        return (
            SnapshotController(context),
            RestoreController(context),
            ScheduleController(context),
            RevertController(context, deciding),
            ResizeController(context, deciding),
            DeletionController(context, self._runs),
            CopyController(context, deciding),
        )

    @override
    def renderers(self) -> Sequence[Renderer]:
        clock = self.on.clock
        return (
            SnapshotRenderer(clock),
            RestoreRenderer(clock),
            ScheduleRenderer(),
            RevertRenderer(clock, self.on.settings, self.on.approvals),
            ResizeRenderer(self.on.settings, self.on.approvals),
            DeletionRenderer(),
            CopyRenderer(clock, self.on.settings, self.on.approvals, self.on.format_command),
        )

    @override
    def watch_handlers(self) -> Sequence[WatchHandler]:
        return [make(self.on.clusters) for make in (*CHANGES, copy_changes)]
