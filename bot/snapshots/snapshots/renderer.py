"""Renders the cards of snapshots."""

from sqlmodel import Session

from bot.clock import Clock
from bot.datasets.wording import name_of
from bot.slack.card import Card
from bot.snapshots.keepers import keeping
from bot.snapshots.snapshots.card import snapshot_card
from bot.snapshots.tables import SNAPSHOT, Snapshot


class SnapshotRenderer:
    """Renders snapshots."""

    kind = SNAPSHOT

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The snapshot's card; the same in every channel."""
        del channel
        row = session.get(Snapshot, subject_id)
        if row is None:
            return None
        now, person = self._clock.now(), name_of(session, row.workspace_id, row.person)
        return snapshot_card(row, person, keeping(session, row, now), now)
