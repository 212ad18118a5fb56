"""Exports the controllers and card renderers of snapshots, restores, schedules and reverts."""

from collections.abc import Callable

from bot.approvals import Approvals
from bot.clock import Clock
from bot.config import Settings
from bot.reconcile.controller import Controller
from bot.slack.messages import Renderer
from bot.snapshots.controller import ControllerContext, SnapshotController
from bot.snapshots.renderer import SnapshotRenderer
from bot.snapshots.restore_controller import RestoreController
from bot.snapshots.restore_renderer import RestoreRenderer
from bot.snapshots.revert_controller import Deciders, ReadAnew, RevertController
from bot.snapshots.revert_renderer import RevertRenderer
from bot.snapshots.schedule_controller import ScheduleController
from bot.snapshots.schedule_renderer import ScheduleRenderer


def controllers(
    world: ControllerContext, approvals: Approvals, read_anew: ReadAnew
) -> tuple[Controller, ...]:
    """The controllers; `read_anew` reads people from Slack before an approval is used."""
    return (
        SnapshotController(world),
        RestoreController(world),
        ScheduleController(world),
        RevertController(world, Deciders(approvals, read_anew)),
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
