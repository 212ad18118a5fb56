"""Exports the controllers and card renderers of snapshots, restores, schedules and reverts."""

from collections.abc import Callable

from bot.approvals import Approvals
from bot.approvals.context import ApprovalContext
from bot.clock import Clock
from bot.config import Settings
from bot.reconcile.controller import Controller
from bot.reconcile.frame import ControllerContext
from bot.slack.messages import Renderer
from bot.snapshots.restores.controller import RestoreController
from bot.snapshots.restores.renderer import RestoreRenderer
from bot.snapshots.reverts.controller import RevertController
from bot.snapshots.reverts.renderer import RevertRenderer
from bot.snapshots.schedules.controller import ScheduleController
from bot.snapshots.schedules.renderer import ScheduleRenderer
from bot.snapshots.snapshots.controller import SnapshotController
from bot.snapshots.snapshots.renderer import SnapshotRenderer


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
