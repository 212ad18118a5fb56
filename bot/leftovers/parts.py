"""What the area of leftovers brings: requests to remove what costs or holds much."""

from collections.abc import Sequence

from typing_extensions import override

from bot.approvals.context import ApprovalContext
from bot.areas import Area, Foundations
from bot.datasets.parts import DatasetsArea
from bot.leftovers.removals.card import RemovalRequestRenderer
from bot.leftovers.removals.controller import RemovalRequestController
from bot.leftovers.removals.record import RemovalRecorder
from bot.leftovers.removals.service import RemovalService
from bot.leftovers.removals.tables import RemovalKind
from bot.leftovers.removals.things import Caches, Claims, Objects, Snapshots, Things
from bot.reconcile.controller import Controller
from bot.slack.messages import Renderer
from bot.snapshots.parts import SnapshotsArea


class LeftoversArea(Area):
    """What costs and is not used, and its removal above a limit."""

    def __init__(self, on: Foundations, datasets: DatasetsArea, snapshots: SnapshotsArea) -> None:
        super().__init__(on)
        self._things: Things = {
            RemovalKind.CLAIM: Claims(on.access, snapshots.claims, snapshots.deletions),
            RemovalKind.SNAPSHOT: Snapshots(snapshots.snapshots),
            RemovalKind.CACHE: Caches(on.settings, datasets.keeping),
            RemovalKind.OBJECT: Objects(datasets.usage),
        }
        self.removals = RemovalService(on.settings, on.approvals, self._things)

    @override
    def controllers(self, deciding: ApprovalContext) -> Sequence[Controller]:
        recorder = RemovalRecorder(self.on.access, self.on.approvals, self._things)
        return (RemovalRequestController(self.on.reconciling, deciding, recorder),)

    @override
    def renderers(self) -> Sequence[Renderer]:
        return (RemovalRequestRenderer(self.on.settings, self.on.approvals),)
