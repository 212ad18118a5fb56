"""The controller of pools that are created or deleted: awaits approval, begins, and follows."""

from datetime import datetime
from typing import Any

from sqlmodel import Session
from typing_extensions import override

from bot.approvals import ApprovalPhase
from bot.approvals.context import ApprovalContext
from bot.errors import StorageError, UserError
from bot.reconcile.decisions import UpdateStatus
from bot.reconcile.frame import SOON, ControllerContext, Reconciler, slower
from bot.volumes.anf import INSTALLATION_TAG, REQUEST_TAG, NetAppFiles
from bot.volumes.operations import Operations, Progress
from bot.volumes.provisioning.decide import (
    BeginApproved,
    Begun,
    Decision,
    EndPool,
    MakePool,
    PoolObserved,
    RemovePool,
    decide,
)
from bot.volumes.provisioning.plan import hindrance, refuse_forbidden
from bot.volumes.provisioning.record import PoolFindings, PoolRecorder
from bot.volumes.provisioning.service import changing
from bot.volumes.provisioning.tables import POOL_REQUEST, PoolPhase, PoolRequest, PoolVerb

_HOPELESS = {400, 403, 404}
_CONFLICT, _GONE = 409, 404
# Of conflicts, only those that do not pass by waiting.
_NESTED = "CannotDeleteResource"


class PoolRequestController(Reconciler[PoolRequest, PoolObserved, Decision]):
    """Reconciles requests."""

    kind = POOL_REQUEST
    table, phases = PoolRequest, PoolPhase

    def __init__(
        self,
        context: ControllerContext,
        approvals: ApprovalContext,
        files: NetAppFiles,
        installation: str,
    ) -> None:
        super().__init__(context)
        self._approvals = approvals
        self._files = files
        self._operations = Operations(files)
        self._installation = installation
        self._recorder = PoolRecorder(approvals.approvals)

    @override
    def observe(self, row: PoolRequest, now: datetime) -> PoolObserved:
        barred = self._barred(row)
        if row.phase == PoolPhase.ASKED:
            approval = self._approvals.request(POOL_REQUEST, row.id)
            if approval is None:
                return PoolObserved(ApprovalPhase.VOIDED, "Its approval request is void.")
            if approval.phase == ApprovalPhase.APPROVED:
                self._approvals.read_deciders(approval)
            return PoolObserved(ApprovalPhase(approval.phase), approval.note, barred=barred)
        unread = self._unread(row)
        if unread:
            return PoolObserved(barred=barred, unread=unread)
        pool, needs = self._files.pool(row.place), ""
        if pool is not None and row.verb == PoolVerb.DELETE:
            inside = self._files.volumes(row.place)
            uses = self._context.database.read(lambda session: changing(session, row.place))
            needs = hindrance(self._files.configured, pool, inside) or uses
        return PoolObserved(
            pool=pool,
            needs=needs,
            progress=self._progress(row),
            barred=barred,
            installation=self._installation,
        )

    @override
    def decide(self, row: PoolRequest, observed: PoolObserved, now: datetime) -> Decision:
        return decide(row, observed, now)

    @override
    def act(self, row: PoolRequest, observed: PoolObserved, decision: Decision) -> Decision:
        """Begins what was decided; a refusal that repeating cannot help ends the request."""
        try:
            match decision:
                case MakePool():
                    return Begun(self._operations.create_pool(row.place, self._body(row)))
                case RemovePool():
                    return Begun(self._operations.delete_pool(row.place))
                case _:
                    return decision
        except StorageError as error:
            if isinstance(decision, RemovePool) and error.status == _GONE:
                return UpdateStatus(PoolPhase.WORKING)
            if error.status in _HOPELESS or (error.status, error.code) == (_CONFLICT, _NESTED):
                return EndPool(PoolPhase.FAILED, error.message, error.hint)
            raise

    @override
    def record(self, session: Session, row: PoolRequest, found: PoolFindings) -> None:
        self._recorder.record(session, row.id, row.phase, found)

    @override
    def next_look(self, row: PoolRequest, found: PoolFindings) -> datetime | None:
        match found.decision:
            case EndPool():
                return None
            case UpdateStatus():
                return slower(row.since, found.now)
            case BeginApproved() | Begun():
                return found.now + SOON
            case _:
                return None

    def _body(self, row: PoolRequest) -> Any:
        """The pool as Azure is asked for it; its tags tell it from those of others."""
        has: dict[str, Any] = {
            "serviceLevel": row.level, "size": row.size_bytes, "qosType": row.qos
        }  # fmt: skip
        if row.mibps is not None:
            has["customThroughputMibps"] = row.mibps
        tags = {INSTALLATION_TAG: self._installation, REQUEST_TAG: row.id}
        location = self._files.location(row.place)
        return {"location": location, "tags": tags, "properties": has}

    def _progress(self, row: PoolRequest) -> Progress | None:
        """How far the operation is; None without one, or once Azure has forgotten it."""
        if not row.operation:
            return None
        try:
            return self._operations.progress(row.operation)
        except StorageError as error:
            if error.status == _GONE:
                return None
            raise

    def _unread(self, row: PoolRequest) -> str:
        """Why Azure cannot be asked about the pool: another pool could have its name."""
        anf = self._context.settings().anf
        if anf is None:
            return "Azure NetApp Files is no longer configured."
        if row.subscription not in anf.subscriptions:
            return f"Subscription {row.subscription} is no longer configured."
        return ""

    def _barred(self, row: PoolRequest) -> str:
        """Why it may no longer be carried out: by the settings and rights of today."""
        access = self._approvals.access
        if not self._context.database.read(lambda s: access.is_admin(s, row.person)):
            return f"<@{row.person}> is no longer a platform admin."
        try:
            refuse_forbidden(self._files.configured, row)
        except UserError as error:
            return error.message
        return ""
