"""Renders the cards of restores."""

from sqlmodel import Session

from bot.clock import Clock
from bot.datasets.wording import name_of
from bot.slack.card import Card
from bot.snapshots.restores.card import restore_card
from bot.snapshots.tables import RESTORE, Restore, Snapshot


class RestoreRenderer:
    """Renders restores and clones."""

    kind = RESTORE

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The PVC's card; the same in every channel."""
        del channel
        row = session.get(Restore, subject_id)
        if row is None:
            return None
        source = session.get(Snapshot, row.snapshot_id) if row.snapshot_id is not None else None
        person = name_of(session, row.workspace_id, row.person)
        shows = source.taken_at if source is not None else None
        return restore_card(row, person, shows, self._clock.now())
