"""The controller of reverts: clones first, requests the revert from Trident, cleans up."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.approvals import Approval, ApprovalPhase, Approvals
from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import PODS, SNAPSHOT_ACTIONS
from bot.errors import ClusterError
from bot.reconcile.controller import Step, Trouble
from bot.slack.messages import refresh_cards
from bot.snapshots.controller import SOON, ControllerContext, slower
from bot.snapshots.examining import live
from bot.snapshots.objects import action_of, revert_name
from bot.snapshots.revert_checks import hindrance
from bot.snapshots.revert_decision import (
    Approved,
    Begin,
    Create,
    Decision,
    Delete,
    Done,
    End,
    Retry,
    RevertObserved,
    UpdateStatus,
    Wait,
    decide,
)
from bot.snapshots.revert_recording import Recorder, RevertFindings
from bot.snapshots.revert_tables import REVERT, Revert, RevertPhase
from bot.snapshots.reverting import target_of
from bot.snapshots.tables import Restore, RestorePhase

ReadAnew = Callable[[str, Iterable[str], Iterable[str]], None]
_SHOWN_ATTEMPTS = 2
# Watches report changes; this catches what they may have missed.
_RARELY = timedelta(hours=1)


@dataclass(frozen=True)
class Deciders:
    """Approvals, and what reads people from Slack again before an approval is used."""

    approvals: Approvals
    read_anew: ReadAnew


class RevertController:
    """Reconciles reverts."""

    kind = REVERT

    def __init__(self, world: ControllerContext, deciders: Deciders) -> None:
        self._world = world
        self._deciders = deciders
        self._recorder = Recorder(deciders.approvals)

    def step(self, row_id: str) -> Step:
        """Takes the next step for a revert; raises ClusterError if the cluster refuses it."""
        row = self._world.database.read(lambda session: session.get(Revert, row_id))
        if row is None or row.is_cleared or row.phase not in set(RevertPhase):
            return Step(None)
        now = self._world.clock.now()
        look = self._look(row)
        decision = self._act(row, decide(row, look, now))
        if isinstance(decision, Wait):
            return Step(None)
        found = RevertFindings(decision, look, now)
        return Step(
            _again(row, decision, now),
            lambda session: self._recorder.record(session, row_id, row.phase, found),
        )

    def on_failure(self, session: Session, row_id: str, trouble: Trouble) -> None:
        """Shows on the card why steps fail, from the second failure on."""
        row = session.get(Revert, row_id)
        if row is None or trouble.attempts < _SHOWN_ATTEMPTS or row.trouble == trouble.sentence:
            return
        row.trouble = trouble.sentence
        session.add(row)
        refresh_cards(session, row.subject, live=row.is_live)

    def _look(self, row: Revert) -> RevertObserved:
        approval = self._world.database.read(
            lambda session: self._deciders.approvals.of(session, REVERT, row.id)
        )
        phase = ApprovalPhase(approval.phase) if approval is not None else ApprovalPhase.VOIDED
        if row.is_live and row.phase == RevertPhase.ASKED:
            if phase != ApprovalPhase.APPROVED or row.cancelled_by is not None:
                return RevertObserved(phase)
            return self._checked(row, approval, RevertObserved(phase))
        if row.is_live and row.phase == RevertPhase.SAVING:
            return self._of_clone(row, phase)
        cluster = self._world.cluster(row.cluster)
        action = cluster.get(SNAPSHOT_ACTIONS, revert_name(row), row.namespace)
        if action is None and row.is_live and row.uid is None and row.cancelled_by is None:
            return self._checked(row, approval, RevertObserved(phase))
        marks = {labels.REVERT: row.id, labels.INSTALLATION: cluster.installation}
        is_ours = action is not None and marks.items() <= action.labels.items()
        return RevertObserved(phase, action=action, is_taken=action is not None and not is_ours)

    def _checked(
        self, row: Revert, approval: Approval | None, look: RevertObserved
    ) -> RevertObserved:
        """The same, with what blocks it in the cluster, and whether its approval still holds."""
        if approval is not None:
            users, groups = self._world.database.read(
                lambda session: self._deciders.approvals.concerned(session, approval)
            )
            self._deciders.read_anew(row.workspace_id, users, groups)
        stands = self._world.database.read(
            lambda session: (
                approval is not None and self._deciders.approvals.stands(session, approval)
            )
        )
        cluster = self._world.cluster(row.cluster)
        around = live(cluster, row.namespace, row.claim_name)
        pods = cluster.list(PODS, row.namespace)
        problem = hindrance(around, pods, target_of(row, self._world.words))
        return RevertObserved(look.approval, problem=problem, stands=stands)

    def _of_clone(self, row: Revert, phase: ApprovalPhase) -> RevertObserved:
        clone = self._world.database.read(
            lambda session: session.get(Restore, row.clone_id) if row.clone_id else None
        )
        if clone is None:
            return RevertObserved(phase)
        return RevertObserved(phase, clone=RestorePhase(clone.phase), because=clone.reason)

    def _act(self, row: Revert, decision: Decision) -> Decision:
        """Carries a decision out; returns the decision to record."""
        match decision:
            case Create():
                return self._create(self._world.cluster(row.cluster), row)
            case Delete(uid):
                cluster = self._world.cluster(row.cluster)
                cluster.delete(SNAPSHOT_ACTIONS, revert_name(row), row.namespace, uid=uid)
            case _:
                pass
        return decision

    def _create(self, cluster: Cluster, row: Revert) -> Decision:
        """Creates the request to Trident. If its name is taken, the next step finds out by whom."""
        try:
            cluster.create(SNAPSHOT_ACTIONS, action_of(row, cluster.installation), row.namespace)
        except ClusterError as error:
            if error.is_final:
                return End(RevertPhase.FAILED, error.message, error.hint)
            if error.reason != "AlreadyExists":
                raise
        return Create()


def _again(row: Revert, decision: Decision, now: datetime) -> datetime | None:
    """When to check again if nothing wakes the row earlier."""
    match decision:
        case Done():
            return None
        case UpdateStatus() | Retry() if row.is_live:
            return slower(row.since, now)
        case Approved() | Begin() | Create() | Delete() | End() | UpdateStatus():
            return now + SOON
        case _:
            return now + _RARELY
