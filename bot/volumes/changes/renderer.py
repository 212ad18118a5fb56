"""Renders the cards of changes."""

from collections.abc import Callable

from sqlmodel import Session

from bot.approvals import Approvals
from bot.approvals.deciding import RequestSubject, deciding
from bot.config import Settings
from bot.people import name_of
from bot.slack.card import Card
from bot.volumes.changes.card import change_card
from bot.volumes.changes.tables import CHANGE, VolumeChange


class ChangeRenderer:
    """Renders changes; the buttons to decide are only on the approvers' card."""

    kind = CHANGE

    def __init__(self, settings: Callable[[], Settings], approvals: Approvals) -> None:
        self._settings = settings
        self._approvals = approvals

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The card of a change in this channel; None if there is no such change."""
        row = session.get(VolumeChange, subject_id)
        if row is None:
            return None
        asker = name_of(session, row.workspace_id, row.person)
        asked = RequestSubject(CHANGE, row.id, row.channel)
        found = deciding(session, self._approvals, self._settings(), asked, channel)
        return change_card(row, asker, found)
