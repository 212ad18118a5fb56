"""Exports the controllers and card renderers of volumes."""

from collections.abc import Callable, Sequence

from bot.approvals import Approvals
from bot.approvals.context import ApprovalContext
from bot.config import Settings
from bot.reconcile.controller import Controller
from bot.reconcile.frame import ControllerContext
from bot.slack.messages import Renderer
from bot.volumes.anf import NetAppFiles
from bot.volumes.changes.controller import VolumeChangeController
from bot.volumes.changes.renderer import ChangeRenderer
from bot.volumes.growth_card import GrowthRenderer
from bot.volumes.growth_controller import GrowthController
from bot.volumes.repair_card import RepairRenderer
from bot.volumes.repair_controller import RepairController
from bot.volumes.sightings import PoolController


def controllers(
    context: ControllerContext, approvals: ApprovalContext, files: NetAppFiles
) -> Sequence[Controller]:
    """The controllers of pools and moved volumes, changes, repairs and growths."""
    return (
        PoolController(context.clock, files, context.settings, context.clusters),
        VolumeChangeController(context, approvals, files),
        RepairController(context, approvals, files),
        GrowthController(context, approvals, files),
    )


def renderers(settings: Callable[[], Settings], approvals: Approvals) -> Sequence[Renderer]:
    """The renderers of their cards."""
    return (
        ChangeRenderer(settings, approvals),
        RepairRenderer(settings, approvals),
        GrowthRenderer(settings, approvals),
    )
