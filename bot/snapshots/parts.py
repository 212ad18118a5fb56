"""What keeps and renders the rows of snapshots."""

from collections.abc import Callable

from bot.approvals import Approvals
from bot.clock import Clock
from bot.config import Settings
from bot.controller import Controller
from bot.slack.messages import Renderer
from bot.snapshots.controller import SnapshotController, World
from bot.snapshots.renderer import SnapshotRenderer
from bot.snapshots.restore_controller import RestoreController
from bot.snapshots.restore_renderer import RestoreRenderer
from bot.snapshots.revert_controller import Deciders, ReadAnew, RevertController
from bot.snapshots.revert_renderer import RevertRenderer
from bot.snapshots.schedule_controller import ScheduleController
from bot.snapshots.schedule_renderer import ScheduleRenderer


def controllers(world: World, approvals: Approvals, read_anew: ReadAnew) -> tuple[Controller, ...]:
    """What keeps them; `read_anew` asks Slack about people before their word is acted upon."""
    return (
        SnapshotController(world),
        RestoreController(world),
        ScheduleController(world),
        RevertController(world, Deciders(approvals, read_anew)),
    )


def renderers(
    clock: Clock, settings: Callable[[], Settings], approvals: Approvals
) -> tuple[Renderer, ...]:
    """What renders their cards."""
    return (
        SnapshotRenderer(clock),
        RestoreRenderer(clock),
        ScheduleRenderer(),
        RevertRenderer(clock, settings, approvals),
    )
