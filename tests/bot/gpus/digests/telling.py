"""Digests of the story of one day, gathered and shown as cards."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlmodel import Session

from bot.config import Settings
from bot.database.database import Database
from bot.datasets.usage.service import UsageService
from bot.gpus.digests.controller import DigestController, DigestRenderer
from bot.gpus.digests.gathering import Gathering
from bot.gpus.digests.tables import DIGEST, Digest
from bot.reconcile.due import wake
from bot.reconcile.loop import Loop
from bot.slack.card import Card
from tests.bot.quotas.people import FrozenClock
from tests.bot.quotas.people import settings as story

DAY = datetime(2026, 11, 20, tzinfo=UTC)
NEXT = DAY + timedelta(days=1)
NOW = NEXT + timedelta(hours=9)
SECTIONS = [
    "teams",
    "idle",
    "queue",
    "failures",
    "hardware",
    "overrides",
    "caches",
    "anf",
    "days",
    "hours",
]
HOUR = timedelta(hours=1)


def settings() -> Settings:
    whole = story().model_dump(exclude_defaults=True)
    return Settings.model_validate(
        {**whole, "training": {"prices": {"per_gpu_hour": {"h100": "2.50"}}}}
    )


class Telling:
    """Digests of the story of one day."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.clock = FrozenClock()
        self.clock.moment = NOW
        self.loop = self.bot()

    def bot(self) -> Loop:
        gathering = Gathering(settings, UsageService(settings, {}))
        controller = DigestController(self.database, self.clock, gathering)
        return Loop(self.database, self.clock, [controller])

    def digest(self, **also: Any) -> str:
        """The id of a digest that is due."""
        fields = {
            "workspace_id": "T0QM", "channel": "C0DAILY", "period": "day", "day": NEXT.date(),
            "begun": DAY, "ended": NEXT, "time_zone": "UTC", "sections": SECTIONS,
            "asked_at": NOW,
        }  # fmt: skip
        row = Digest(**{**fields, **also})
        row_id = row.id

        def work(session: Session) -> None:
            session.add(row)
            wake(session, DIGEST, row_id, DIGEST, NOW)

        self.database.transaction(work)
        return row_id

    def card(self, **also: Any) -> Card:
        """The card of a digest, once it is gathered."""
        row_id = self.digest(**also)
        self.loop.run_due()
        card = self.database.read(lambda s: DigestRenderer().card(s, row_id, "C0DAILY"))
        assert card is not None
        return card
