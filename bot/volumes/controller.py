"""What the controllers of changes, growths and repairs share."""

from typing import Any, TypeVar

from sqlmodel import Session
from typing_extensions import override

from bot.approvals.context import ApprovalContext
from bot.reconcile.controller import Trouble
from bot.reconcile.frame import ControllerContext, RowController
from bot.volumes.anf import NetAppFiles

RowT = TypeVar("RowT")


class VolumeController(RowController[RowT]):
    """A controller of rows that others approve, and that nothing is done with after their end."""

    def __init__(
        self, context: ControllerContext, approvals: ApprovalContext, files: NetAppFiles
    ) -> None:
        super().__init__(context)
        self._approvals = approvals
        self._files = files

    @override
    def known(self, session: Session, row_id: str) -> Any:
        row = session.get(self.table, row_id)
        return row if row is not None and row.is_live else None

    @override
    def on_failure(self, session: Session, row_id: str, trouble: Trouble, /) -> None:
        """Shows on the card why steps fail, unless the row ended meanwhile."""
        if self.known(session, row_id) is not None:
            super().on_failure(session, row_id, trouble)
