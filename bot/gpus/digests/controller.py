"""Gathers the figures of a digest, and posts it."""

from functools import partial

from sqlmodel import Session

from bot.clock import Clock
from bot.database.database import Database
from bot.gpus.digests.card import day_words, digest_card, skipped_card
from bot.gpus.digests.figures import Figures, kept, read
from bot.gpus.digests.gathering import DigestScope, Gathering
from bot.gpus.digests.tables import DIGEST, Digest, Period
from bot.gpus.minutes import Window
from bot.reconcile.controller import Step, Trouble
from bot.slack.card import Card
from bot.slack.messages import show_card


class DigestController:
    """Gathers the figures of a digest once, so that the posted digest does not change."""

    kind = DIGEST

    def __init__(self, database: Database, clock: Clock, gathering: Gathering) -> None:
        self._database = database
        self._clock = clock
        self._gathering = gathering

    def step(self, row_id: str) -> Step:
        """Reads the figures and stores them with the digest."""
        now = self._clock.now()
        figures = self._database.read(partial(self._figures, row_id=row_id))

        def save(session: Session) -> None:
            row = session.get(Digest, row_id)
            if row is None or figures is None or row.figures is not None:
                return
            row.figures = kept(figures)
            session.add(row)
            show_card(session, row.subject, row.channel, now, live=False)

        return Step(None, save)

    def on_failure(self, session: Session, row_id: str, trouble: Trouble, /) -> None:
        """Does nothing: the step is retried, and the digest is late."""

    def _figures(self, session: Session, row_id: str) -> Figures | None:
        row = session.get(Digest, row_id)
        if row is None or row.figures is not None:
            return None
        return self._gathering.figures(session, wish_of(row), self._clock.now())


class DigestRenderer:
    """Renders digests from their stored figures."""

    kind = DIGEST

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The digest; None while its figures are being gathered."""
        del channel
        row = session.get(Digest, subject_id)
        if row is None:
            return None
        times = (row.begun, row.ended, row.time_zone)
        if row.is_skipped:
            return skipped_card(day_words(*times), row.note)
        return digest_card(read(row.figures), *times, row.note) if row.figures else None


def wish_of(row: Digest) -> DigestScope:
    """The contents of a digest, from its row."""
    window = Window(row.begun, row.ended)
    return DigestScope(window, Period(row.period), row.time_zone, row.team, frozenset(row.sections))
