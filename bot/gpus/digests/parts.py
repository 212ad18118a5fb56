"""Builds the parts of digests."""

from collections.abc import Callable

from bot.clock import Clock
from bot.config import Settings
from bot.database.database import Database
from bot.datasets.usage.service import UsageService
from bot.gpus.digests.controller import DigestController, DigestRenderer
from bot.gpus.digests.gathering import Gathering
from bot.gpus.digests.service import DigestService
from bot.gpus.digests.slots import DigestSlots, TeamOf


class Digests:
    """The parts of digests; `team_of` says which team a channel belongs to."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        database: Database,
        clock: Clock,
        caches: UsageService,
        team_of: TeamOf,
    ) -> None:
        gathering = Gathering(settings, caches)
        self.service = DigestService(settings, database, gathering)
        self.controller = DigestController(database, clock, gathering)
        self.renderer = DigestRenderer()
        self.slots = DigestSlots(settings, team_of)
