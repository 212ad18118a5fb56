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
from bot.volumes.growths.card import GrowthRenderer
from bot.volumes.growths.controller import GrowthController
from bot.volumes.pools.controller import PoolController
from bot.volumes.repairs.card import RepairRenderer
from bot.volumes.repairs.controller import RepairController


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
