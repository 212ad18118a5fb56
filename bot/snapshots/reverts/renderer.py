"""Renders the cards of reverts."""

from collections.abc import Callable

from sqlmodel import Session

from bot.approvals import Approvals
from bot.approvals.deciding import RequestSubject, deciding
from bot.clock import Clock
from bot.config import Settings
from bot.datasets.wording import name_of
from bot.slack.card import Card
from bot.snapshots.reverts.card import revert_card
from bot.snapshots.tables import REVERT, Revert


class RevertRenderer:
    """Renders reverts, for the approvers and for the channel of the request."""

    kind = REVERT

    def __init__(
        self, clock: Clock, settings: Callable[[], Settings], approvals: Approvals
    ) -> None:
        self._clock = clock
        self._settings = settings
        self._approvals = approvals

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The card: with Cancel in the channel of the request, elsewhere with the decision."""
        row = session.get(Revert, subject_id)
        if row is None:
            return None
        asker = name_of(session, row.workspace_id, row.person)
        asked = RequestSubject(REVERT, row.id, row.channel)
        found = deciding(session, self._approvals, self._settings(), asked, channel)
        return revert_card(row, asker, found, self._clock.now())
