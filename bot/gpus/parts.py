"""What the area of GPUs brings: its services, controllers, renderer and schedules."""

from collections.abc import Sequence

from typing_extensions import override

from bot.approvals.context import ApprovalContext
from bot.areas import Area, Foundations
from bot.datasets.usage.service import UsageService
from bot.gauges import GaugeSource
from bot.gpus.digests.controller import DigestController, DigestRenderer
from bot.gpus.digests.gathering import Gathering
from bot.gpus.digests.service import DigestService
from bot.gpus.digests.slots import DigestSlots
from bot.gpus.gauges import gpu_gauges
from bot.gpus.idle.controller import UseController
from bot.gpus.samples.measuring import MeasureController
from bot.gpus.samples.sampling import SampleController
from bot.gpus.service import GpuService
from bot.gpus.waits.controller import GpuWaitController
from bot.gpus.waits.free import FreeGpuReader
from bot.gpus.waits.service import WaitService
from bot.quotas.engines.registry import Engines
from bot.reconcile.controller import Controller
from bot.schedule import OwnSchedules
from bot.slack.messages import Renderer
from bot.training.idle.service import IdlingService


class GpusArea(Area):
    """Who holds GPUs, how busy they are, and who waits for some to be free.

    Digests also show the space that `caches` take.
    """

    def __init__(
        self, on: Foundations, engines: Engines, idling: IdlingService, caches: UsageService
    ) -> None:
        super().__init__(on)
        self._engines = engines
        self._idling = idling
        self._gathering = Gathering(on.settings, caches)
        self.usage = GpuService(on.settings, on.clusters, engines.of)
        reader = FreeGpuReader(on.settings, on.clusters, engines.of)
        self.waits = WaitService(reader, on.format_command)
        self._reader = reader
        self.digests = DigestService(on.settings, on.database, self._gathering)

    @override
    def controllers(self, _deciding: ApprovalContext) -> Sequence[Controller]:
        on = self.on
        return (
            UseController(on.database, on.clock, on.settings, self._idling),
            SampleController(on.database, on.clock, on.settings, on.clusters, self._engines.of),
            MeasureController(on.database, on.clock, on.settings, on.clusters),
            DigestController(on.database, on.clock, self._gathering),
            GpuWaitController(on.reconciling, on.access, self._reader),
        )

    @override
    def renderers(self) -> Sequence[Renderer]:
        return (DigestRenderer(),)

    @override
    def own_schedules(self) -> Sequence[OwnSchedules]:
        return (DigestSlots(self.on.settings, lambda channel: self.on.access.place(channel)[1]),)

    @override
    def gauges(self) -> Sequence[GaugeSource]:
        return (gpu_gauges(self.on.settings, self.on.clusters.keys()),)
