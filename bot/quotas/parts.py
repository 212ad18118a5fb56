"""What the area of quotas brings: its service, controllers, renderer and watch handler."""

from collections.abc import Sequence
from datetime import datetime

from typing_extensions import override

from bot.approvals.context import ApprovalContext
from bot.areas import Area, Foundations
from bot.database.database import Session
from bot.gauges import GaugeSource
from bot.quotas.engines.registry import Engines
from bot.quotas.gauges import override_gauges
from bot.quotas.managed.controller import QuotaController
from bot.quotas.overrides.controller import OverrideController, Stopping
from bot.quotas.renderer import OverrideRenderer
from bot.quotas.service import QuotaService
from bot.quotas.steps.controller import StepController, StepReporter
from bot.quotas.steps.service import StepService
from bot.quotas.watching import QueueChanges, recover
from bot.reconcile.controller import Controller
from bot.reconcile.wakeups import WatchHandler
from bot.slack.messages import Renderer


class QuotasArea(Area):
    """GPU quota of teams; `stopping` stops the runs that an ended override leaves without quota."""

    def __init__(self, on: Foundations, engines: Engines, stopping: Stopping) -> None:
        super().__init__(on)
        self._engines = engines
        self._stopping = stopping
        self.service = QuotaService(on.settings, on.access, on.approvals, engines)
        self.steps = StepService(on.settings, on.access, self.service)

    def recover(self, session: Session, now: datetime) -> None:
        """Reverts quotas whose overrides only the annotations of queues still record."""
        for cluster in self.on.clusters:
            recover(session, self._engines.of(cluster), self.on.settings().workspace, now)

    def reporting(self, reporter: StepReporter) -> Controller:
        """The controller of steps of workflows, whose end Slack learns from `reporter`."""
        return StepController(self.on.reconciling, self.service, reporter)

    @override
    def controllers(self, deciding: ApprovalContext) -> Sequence[Controller]:
        on, engines = self.on, self._engines
        return (
            QuotaController(on.database, on.clock, engines),
            OverrideController(on.reconciling, deciding, engines, self._stopping),
        )

    @override
    def renderers(self) -> Sequence[Renderer]:
        on = self.on
        return (OverrideRenderer(on.settings, on.approvals, self.service, on.clock),)

    @override
    def watch_handlers(self) -> Sequence[WatchHandler]:
        return (QueueChanges(self.on.database).changes,)

    @override
    def gauges(self) -> Sequence[GaugeSource]:
        return (override_gauges(self.on.settings, self._engines.get),)
