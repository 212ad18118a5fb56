"""Renders the cards of PVCs that are put back in place."""

from collections.abc import Callable

from sqlmodel import Session

from bot.approvals import ApprovalPhase, Approvals
from bot.clock import Clock
from bot.config import Settings
from bot.datasets.wording import name_of
from bot.slack.card import Card
from bot.snapshots.revert_card import Standing, revert_card
from bot.snapshots.revert_tables import REVERT, Revert


class RevertRenderer:
    """Renders PVCs that are put back in place: for those who decide, and where it was asked."""

    kind = REVERT

    def __init__(
        self, clock: Clock, settings: Callable[[], Settings], approvals: Approvals
    ) -> None:
        self._clock = clock
        self._settings = settings
        self._approvals = approvals

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The card; where it was asked it can be cancelled, elsewhere it is decided."""
        row = session.get(Revert, subject_id)
        if row is None:
            return None
        standing = self._standing(session, row)
        for_deciders = channel != row.channel
        return revert_card(row, standing, self._clock.now(), for_deciders=for_deciders)

    def _standing(self, session: Session, row: Revert) -> Standing:
        asker = name_of(session, row.workspace_id, row.person)
        approval = self._approvals.of(session, REVERT, row.id)
        if approval is None:
            return Standing(asker)
        is_open = approval.phase == ApprovalPhase.ASKED
        return Standing(
            asker,
            self._approvals.lines(session, approval),
            tuple(self._approvals.deciders(session, approval)) if is_open else (),
            self._approvals.buttons(approval),
        )
