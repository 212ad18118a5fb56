"""What each area is built on, and what it brings to the application beside its services."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bot.approvals import Approvals
from bot.approvals.context import ApprovalContext, ReadAnew
from bot.clock import Clock
from bot.cluster.cluster import Cluster
from bot.config import Settings
from bot.database.database import Database
from bot.gauges import GaugeSource
from bot.people.access import Access
from bot.reconcile.controller import Controller
from bot.reconcile.frame import ControllerContext
from bot.reconcile.wakeups import WatchHandler
from bot.schedule import OwnSchedules
from bot.slack.markup import FormatCommand
from bot.slack.messages import Renderer


@dataclass(frozen=True)
class Foundations:
    """What all areas share; `format_command` writes a command as people type it.

    `installation` is the id in the labels of every object that this installation creates.
    """

    settings: Callable[[], Settings]
    database: Database
    clock: Clock
    clusters: Mapping[str, Cluster]
    installation: str
    format_command: FormatCommand
    access: Access
    approvals: Approvals

    @property
    def reconciling(self) -> ControllerContext:
        """What controllers work with."""
        return ControllerContext(
            self.database, self.clock, self.settings, self.clusters, self.format_command
        )

    def deciding(self, read_anew: ReadAnew) -> ApprovalContext:
        """What controllers need for approvals; `read_anew` reads people from Slack at once."""
        return ApprovalContext(self.database, self.clock, self.access, self.approvals, read_anew)


class Area:
    """The parts of an area; its services are attributes of its class.

    An area overrides what it brings of its own.
    """

    def __init__(self, on: Foundations) -> None:
        self.on = on

    def controllers(self, _deciding: ApprovalContext) -> Sequence[Controller]:
        """The controllers of its rows."""
        return ()

    def renderers(self) -> Sequence[Renderer]:
        """What renders the cards of its rows."""
        return ()

    def watch_handlers(self) -> Sequence[WatchHandler]:
        """What maps a changed object to the rows it concerns."""
        return ()

    def own_schedules(self) -> Sequence[OwnSchedules]:
        """The schedules that people set, whose slots the timetable claims."""
        return ()

    def gauges(self) -> Sequence[GaugeSource]:
        """The metrics that are read from its rows."""
        return ()

    def close(self) -> None:
        """Closes its connections."""
