"""What keeps and renders the rows of snapshots."""

from bot.clock import Clock
from bot.controller import Controller
from bot.slack.messages import Renderer
from bot.snapshots.controller import SnapshotController, World
from bot.snapshots.renderer import SnapshotRenderer
from bot.snapshots.restore_controller import RestoreController
from bot.snapshots.restore_renderer import RestoreRenderer
from bot.snapshots.schedule_controller import ScheduleController
from bot.snapshots.schedule_renderer import ScheduleRenderer


def controllers(world: World) -> tuple[Controller, ...]:
    """What keeps them."""
    return SnapshotController(world), RestoreController(world), ScheduleController(world)


def renderers(clock: Clock) -> tuple[Renderer, ...]:
    """What renders their cards."""
    return SnapshotRenderer(clock), RestoreRenderer(clock), ScheduleRenderer()
