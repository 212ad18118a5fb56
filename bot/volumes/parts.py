"""What the area of volumes brings: its services, controllers and card renderers."""

from collections.abc import Sequence

from typing_extensions import override

from bot.approvals.context import ApprovalContext
from bot.areas import Area, Foundations
from bot.reconcile.controller import Controller
from bot.slack.messages import Renderer
from bot.volumes.anf import NetAppFiles
from bot.volumes.changes.card import ChangeRenderer
from bot.volumes.changes.controller import VolumeChangeController
from bot.volumes.changes.service import ChangeService
from bot.volumes.growths.card import GrowthRenderer
from bot.volumes.growths.controller import GrowthController
from bot.volumes.growths.service import GrowthService
from bot.volumes.pools.controller import PoolController
from bot.volumes.pools.reads import VolumeReads
from bot.volumes.provisioning.card import PoolRequestRenderer
from bot.volumes.provisioning.controller import PoolRequestController
from bot.volumes.provisioning.service import PoolService
from bot.volumes.repairs.card import RepairRenderer
from bot.volumes.repairs.controller import RepairController
from bot.volumes.repairs.service import RepairService


class VolumesArea(Area):
    """Azure NetApp Files: reads of volumes and pools, and changes, growths and repairs."""

    def __init__(self, on: Foundations) -> None:
        super().__init__(on)
        self.files = files = NetAppFiles(on.settings)
        self.reads = VolumeReads(files, on.clusters)
        self.changes = ChangeService(files, on.clusters, on.database, on.approvals, on.clock)
        self.growths = GrowthService(files, on.clusters, on.approvals)
        self.provisioning = PoolService(on.settings, files, on.approvals, on.installation)
        self.repairs = RepairService(on.settings, on.approvals, files, on.clusters)

    @override
    def controllers(self, deciding: ApprovalContext) -> Sequence[Controller]:
        on = self.on
        return (
            PoolController(on.clock, self.files, on.settings, on.clusters),
            VolumeChangeController(on.reconciling, deciding, self.files),
            RepairController(on.reconciling, deciding, self.files),
            GrowthController(on.reconciling, deciding, self.files),
            PoolRequestController(on.reconciling, deciding, self.files, on.installation),
        )

    @override
    def renderers(self) -> Sequence[Renderer]:
        settings, approvals = self.on.settings, self.on.approvals
        return (
            ChangeRenderer(settings, approvals),
            RepairRenderer(settings, approvals),
            GrowthRenderer(settings, approvals),
            PoolRequestRenderer(settings, approvals),
        )

    @override
    def close(self) -> None:
        self.files.close()
