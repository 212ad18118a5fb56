"""Renders the cards of schedules of snapshots."""

from sqlmodel import Session

from bot.datasets.wording import name_of
from bot.slack.card import Card
from bot.snapshots import finding
from bot.snapshots.schedules.card import schedule_card
from bot.snapshots.tables import SCHEDULE, Snapshot, SnapshotSchedule


class ScheduleRenderer:
    """Renders schedules of snapshots."""

    kind = SCHEDULE

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The schedule's card; the same in every channel."""
        del channel
        row = session.get(SnapshotSchedule, subject_id)
        if row is None:
            return None
        last = session.get(Snapshot, row.last_id) if row.last_id is not None else None
        person = name_of(session, row.workspace_id, row.person)
        return schedule_card(row, person, last, finding.ready_on(session, row.id))
