"""Renders the card of a change for the channel it stands in."""

from collections.abc import Callable

from sqlmodel import Session

from bot.approvals import ApprovalPhase, Approvals
from bot.config import Settings
from bot.people import name_of
from bot.slack.card import Card
from bot.volumes.changes.card import Deciding, change_card
from bot.volumes.changes.tables import CHANGE, VolumeChange

_MOST_DECIDERS = 10


class ChangeRenderer:
    """The cards of changes; they have buttons to decide only where changes are decided."""

    kind = CHANGE

    def __init__(self, settings: Callable[[], Settings], approvals: Approvals) -> None:
        self._settings = settings
        self._approvals = approvals

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """What the card says now in this channel; None when there is no such change."""
        row = session.get(VolumeChange, subject_id)
        if row is None:
            return None
        asker = name_of(session, row.workspace_id, row.person)
        return change_card(row, asker, self._deciding(session, row, channel))

    def _deciding(self, session: Session, row: VolumeChange, channel: str) -> Deciding:
        approval = self._approvals.of(session, CHANGE, row.id)
        if approval is None:
            return Deciding()
        lines = self._approvals.lines(session, approval)
        teams = (each for team in self._settings().teams.values() for each in team.channels)
        is_there = channel != row.channel and channel not in teams
        if not is_there or approval.phase != ApprovalPhase.ASKED:
            return Deciding(lines, is_there=is_there)
        deciders = tuple(self._approvals.deciders(session, approval)[:_MOST_DECIDERS])
        return Deciding(lines, self._approvals.buttons(approval), deciders, is_there=True)
