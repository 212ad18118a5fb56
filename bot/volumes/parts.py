"""Exports the controllers and card renderers of volumes."""

from collections.abc import Callable, Mapping, Sequence

from bot.approvals import Approvals
from bot.cluster.cluster import Cluster
from bot.config import Settings
from bot.reconcile.controller import Controller
from bot.slack.messages import Renderer
from bot.volumes.anf import NetAppFiles
from bot.volumes.changes.controller import ApprovalContext, VolumeChangeController
from bot.volumes.changes.renderer import ChangeRenderer
from bot.volumes.growth_card import GrowthRenderer
from bot.volumes.growth_controller import GrowthController
from bot.volumes.repair_card import RepairRenderer
from bot.volumes.repair_controller import RepairController
from bot.volumes.sightings import PoolController


def controllers(
    files: NetAppFiles,
    deciding: ApprovalContext,
    clusters: Mapping[str, Cluster],
    settings: Callable[[], Settings],
) -> Sequence[Controller]:
    """The controllers of pools and moved volumes, changes, repairs and growths."""
    return (
        PoolController(deciding.clock, files, settings, clusters),
        VolumeChangeController(files, deciding, clusters, settings),
        RepairController(files, deciding, clusters, settings),
        GrowthController(files, deciding, clusters, settings),
    )


def renderers(settings: Callable[[], Settings], approvals: Approvals) -> Sequence[Renderer]:
    """The renderers of their cards."""
    return (
        ChangeRenderer(settings, approvals),
        RepairRenderer(settings, approvals),
        GrowthRenderer(settings, approvals),
    )
