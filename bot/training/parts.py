"""What the area of training brings: its services, controllers, renderers and watch handler."""

from collections.abc import Sequence

from typing_extensions import override

from bot.approvals.context import ApprovalContext
from bot.areas import Area, Foundations
from bot.datasets.browsing.reads import BrowseReads
from bot.datasets.caches.service import CacheService
from bot.gauges import GaugeSource
from bot.quotas.engines.registry import Engines
from bot.reconcile.controller import Controller
from bot.reconcile.wakeups import WatchHandler
from bot.slack.messages import Renderer
from bot.snapshots.run_snapshots import RunSnapshots
from bot.training.external.removal import RemovalController
from bot.training.follows.card import LogFollowRenderer
from bot.training.follows.controller import LogFollowController
from bot.training.follows.service import FollowService
from bot.training.gauges import run_gauges
from bot.training.idle.runs import IdleRunService
from bot.training.idle.service import IdlingService
from bot.training.logs.reads import LogReads
from bot.training.mlflow.controller import ExportController
from bot.training.mlflow.service import ExportService
from bot.training.offers.service import OfferService
from bot.training.records.network_history import NetworkHistoryService
from bot.training.requests.card import RunRequestRenderer
from bot.training.requests.controller import RunRequestController
from bot.training.requests.record import RunRequestRecorder
from bot.training.requests.service import RunRequestService
from bot.training.runs.card import RemovalRenderer, RunRenderer
from bot.training.runs.controller import RunCollaborators, RunController
from bot.training.runs.folders import FolderCheck
from bot.training.runs.personal import PersonalRunService
from bot.training.runs.reads import TrainingReads
from bot.training.runs.watching import RunWatchHandler
from bot.training.saved_flows.card import FlowRenderer
from bot.training.saved_flows.controller import FlowController
from bot.training.saved_flows.record import FlowRecorder
from bot.training.saved_flows.service import FlowService
from bot.training.scaling import ScalingService
from bot.training.service import TrainingService
from bot.training.sessions.service import SessionService
from bot.training.sweeps.card import SweepRenderer
from bot.training.sweeps.controller import SweepController
from bot.training.sweeps.record import SweepRecorder
from bot.training.sweeps.service import SweepService
from bot.training.watches.service import WatchService


class TrainingArea(Area):
    """Training runs and sessions, queued by `engines`, with their logs, data and snapshots."""

    def __init__(
        self, on: Foundations, engines: Engines, snapshots: RunSnapshots, caches: CacheService
    ) -> None:
        super().__init__(on)
        self._engines = engines
        self._snapshots = snapshots
        settings, format_command = on.settings, on.format_command
        self.runs = TrainingService(
            settings, engines.get, on.installation, format_command, snapshots
        )
        self.personal = PersonalRunService()
        self.reads = TrainingReads(on.database, on.clusters)
        self.network_history = NetworkHistoryService(settings, on.clusters)
        self.sessions = SessionService(format_command)
        self.follows = FollowService(format_command)
        self.watches = WatchService(format_command)
        self.idling = IdlingService(settings, self.runs.stop_jobs, format_command)
        self.idle_runs = IdleRunService(settings, self.runs.stop_jobs)
        self.scaling = ScalingService(on.access, self.runs, engines.get, format_command)
        self.offers = OfferService(self.runs, caches, format_command)
        self.exports = ExportService(settings)
        self.sweeps = SweepService(settings, self.runs, format_command)
        self.requests = RunRequestService(settings, on.approvals)
        self.saved_flows = FlowService(
            settings, self.runs, self.sweeps, on.installation, format_command
        )

    @override
    def controllers(self, deciding: ApprovalContext) -> Sequence[Controller]:
        on = self.on
        of_runs = RunCollaborators(
            self._engines.of, self.scaling.again, self._snapshots,
            FolderCheck(BrowseReads(on.settings)), self.exports.note,
        )  # fmt: skip
        logs = LogReads(on.database, on.clusters)
        submitting = SweepRecorder(on.settings, on.access, self.runs, on.format_command)
        requested = RunRequestRecorder(on.access, on.approvals, self.runs, self.sweeps)
        starting = FlowRecorder(on.access, self.saved_flows.starter, on.format_command)
        return (
            RunController(on.reconciling, of_runs),
            RemovalController(on.reconciling),
            LogFollowController(on.database, on.clock, on.access, logs),
            SweepController(on.reconciling, submitting),
            ExportController(on.reconciling),
            RunRequestController(on.reconciling, deciding, requested),
            FlowController(on.reconciling, starting),
        )

    @override
    def renderers(self) -> Sequence[Renderer]:
        return (
            RunRenderer(self.on.clock, lambda: self.on.settings().training.links),
            RemovalRenderer(),
            LogFollowRenderer(self.on.format_command),
            SweepRenderer(self.on.clock, self.on.format_command),
            RunRequestRenderer(self.on.settings, self.on.approvals),
            FlowRenderer(self.on.format_command),
        )

    @override
    def watch_handlers(self) -> Sequence[WatchHandler]:
        return (RunWatchHandler(self.on.clusters),)

    @override
    def gauges(self) -> Sequence[GaugeSource]:
        return (run_gauges(self.on.settings),)
