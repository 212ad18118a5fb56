"""Exports the controllers and card renderers of snapshots, restores, schedules and reverts."""

from collections.abc import Callable

from bot.approvals import Approvals
from bot.approvals.context import ApprovalContext
from bot.clock import Clock
from bot.config import Settings
from bot.reconcile.controller import Controller
from bot.reconcile.frame import ControllerContext
from bot.slack.messages import Renderer
from bot.snapshots.controller import SnapshotController
from bot.snapshots.renderer import SnapshotRenderer
from bot.snapshots.restore_controller import RestoreController
from bot.snapshots.restore_renderer import RestoreRenderer
from bot.snapshots.revert_controller import RevertController
from bot.snapshots.revert_renderer import RevertRenderer
from bot.snapshots.schedule_controller import ScheduleController
from bot.snapshots.schedule_renderer import ScheduleRenderer


def controllers(context: ControllerContext, approvals: ApprovalContext) -> tuple[Controller, ...]:
    """The controllers of this area."""
    return (
        SnapshotController(context),
        RestoreController(context),
        ScheduleController(context),
        RevertController(context, approvals),
    )


def renderers(
    clock: Clock, settings: Callable[[], Settings], approvals: Approvals
) -> tuple[Renderer, ...]:
    """The renderers of their cards."""
    return (
        SnapshotRenderer(clock),
        RestoreRenderer(clock),
        ScheduleRenderer(),
        RevertRenderer(clock, settings, approvals),
    )
