"""How controllers use approvals, the same way for every kind of row."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from bot.approvals.service import Approvals
from bot.approvals.tables import Approval, ApprovalPhase
from bot.clock import Clock
from bot.database.database import Database
from bot.people.access import Access

_UNDECIDED = {ApprovalPhase.ASKED, ApprovalPhase.USED}


class ReadAnew(Protocol):
    """Reads people from Slack at once, before an approval of theirs is used."""

    def __call__(self, workspace_id: str, users: Iterable[str], groups: Iterable[str], /) -> None:
        """Updates what is known of them; raises OutsideError if Slack does not answer."""
        ...


@dataclass(frozen=True)
class ApprovalContext:
    """What controllers need to request approvals and use them.

    An approval is used in three parts: `decided` finds that it was given, and reads from Slack
    again who gave it; the controller checks that what it is about still holds; and in the
    transaction that begins the work, `Approvals.use` counts the votes under today's rights.
    """

    database: Database
    clock: Clock
    access: Access
    approvals: Approvals
    read_anew: ReadAnew

    def request(self, kind: str, row_id: str) -> Approval | None:
        """The newest approval request of a row."""
        return self.database.read(lambda session: self.approvals.of(session, kind, row_id))

    def read_deciders(self, approval: Approval) -> None:
        """Reads the current approvers; raises OutsideError if Slack does not answer."""
        users, groups = self.database.read(
            lambda session: self.approvals.concerned(session, approval)
        )
        self.read_anew(approval.workspace_id, users, groups)

    def decided(self, kind: str, row_id: str) -> Approval | None:
        """The approval of a row once it is decided, its approvers read again if it was given.

        None while it is undecided, or if its use is recorded already.
        """
        approval = self.request(kind, row_id)
        if approval is None or approval.phase in _UNDECIDED:
            return None
        if approval.phase == ApprovalPhase.APPROVED:
            self.read_deciders(approval)
        return approval
