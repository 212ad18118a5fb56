"""The controller of changes of teams: a dry run, the approval, then one object at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from sqlmodel import Session
from typing_extensions import override

from bot.approvals import ApprovalPhase
from bot.approvals.context import ApprovalContext
from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.errors import ClusterError
from bot.reconcile.decisions import UpdateStatus
from bot.reconcile.frame import SOON, ControllerContext, Reconciler, slower
from bot.teams.adoption.record import recorded
from bot.teams.decide import (
    CLOSED_AFTER,
    DELETED,
    Approved,
    Ask,
    Decision,
    EndChange,
    MakeObject,
    ObjectState,
    Problem,
    RemoveObject,
    TeamObserved,
    created_so_far,
    decide,
)
from bot.teams.objects import labelled, read, resource_of
from bot.teams.observe import dry_run, states
from bot.teams.record import ChangeFindings, TeamRecorder
from bot.teams.stores import HOPELESS, TeamStores, is_in_service
from bot.teams.tables import CHANGE, ChangePhase, TeamChange, Verb
from bot.teams.uses import TeamUses, kept_for

_UNTIL = "its teams are created or removed"


class TeamController(Reconciler[TeamChange, TeamObserved, Decision]):
    """Reconciles changes of teams."""

    kind = CHANGE
    table, phases = TeamChange, ChangePhase

    def __init__(
        self,
        context: ControllerContext,
        approvals: ApprovalContext,
        stores: TeamStores,
        uses: Sequence[TeamUses],
    ) -> None:
        super().__init__(context)
        self._approvals = approvals
        self._stores = stores
        self._uses = uses
        self._recorder = TeamRecorder(context.settings, approvals.approvals)

    @override
    def observe(self, row: TeamChange, now: datetime) -> TeamObserved:
        match ChangePhase(row.phase):
            case ChangePhase.ASKED:
                return self._of_approval(row)
            case ChangePhase.CHECKING if row.verb == Verb.CREATE:
                return dry_run(self._context.settings(), self._cluster(row), self._stores, row)
            case ChangePhase.CLOSING if now - row.since < CLOSED_AFTER:
                return TeamObserved()
            case ChangePhase.MAKING:
                return self._of_making(row)
            case ChangePhase.CHECKING:
                return replace(self._in_use(row), checks=tuple(self._found(row)))
            case ChangePhase.CLOSING:
                is_known = row.team in self._context.settings().teams
                return replace(self._in_use(row), is_known=is_known)
            case _:
                return self._in_use(row)

    @override
    def decide(self, row: TeamChange, observed: TeamObserved, now: datetime) -> Decision:
        return decide(row, observed, now)

    @override
    def act(self, row: TeamChange, observed: TeamObserved, decision: Decision) -> Decision:
        match decision:
            case MakeObject():
                return self._make(row, observed, decision)
            case RemoveObject():
                return self._remove(row, decision)
            case _:
                return decision

    @override
    def record(self, session: Session, row: TeamChange, found: ChangeFindings) -> None:
        self._recorder.record(session, row.id, row.phase, found)

    @override
    def next_look(self, row: TeamChange, found: ChangeFindings) -> datetime | None:
        match found.decision:
            case EndChange() | Ask():
                return None
            case UpdateStatus(phase) if phase == row.phase:
                return slower(row.since, found.now)
            case Approved() if row.verb == Verb.REMOVE:
                return found.now + CLOSED_AFTER
            case _:
                return found.now + SOON

    def _of_approval(self, row: TeamChange) -> TeamObserved:
        approval = self._approvals.request(CHANGE, row.id)
        if approval is None:
            return TeamObserved(ApprovalPhase.VOIDED, "Its approval request is void.")
        if approval.phase == ApprovalPhase.APPROVED:
            self._approvals.read_deciders(approval)
        return TeamObserved(ApprovalPhase(approval.phase), approval.note)

    def _of_making(self, row: TeamChange) -> TeamObserved:
        """What there is of it; a withdrawal does not wait for a cluster that does not answer."""
        try:
            return TeamObserved(objects=self._states(row))
        except ClusterError as error:
            if row.withdrawn_by is None:
                raise
            unknown = f"What was created is unknown: {error.message}"
            return TeamObserved(problem=Problem(unknown))

    def _in_use(self, row: TeamChange) -> TeamObserved:
        """The team's objects, and what needs the team."""
        kept = self._context.database.read(lambda session: kept_for(session, row.team, self._uses))
        return TeamObserved(objects=self._states(row), uses=(*kept, *self._held(row)))

    def _held(self, row: TeamChange) -> Iterator[str]:
        """What would be lost with the team's objects."""
        cluster = self._cluster(row)
        for each in read(row.objects):
            resource = resource_of(each.kind)
            yield from self._stores.of(cluster, resource).uses(resource, each.name)

    def _found(self, row: TeamChange) -> list[str]:
        return [self._check(row, each) for each in self._states(row)]

    def _check(self, row: TeamChange, state: ObjectState) -> str:
        """What becomes of an object, and what goes along, as the Secrets of a namespace do."""
        found, resource = _found(state), resource_of(state.object.kind)
        if found != DELETED:
            return found
        store = self._stores.of(self._cluster(row), resource)
        more = store.goes_along(resource, state.object.name)
        return f"{DELETED}, {more}" if more else found

    def _states(self, row: TeamChange) -> list[ObjectState]:
        return states(self._cluster(row), self._stores, row.team, read(row.objects))

    def _make(self, row: TeamChange, observed: TeamObserved, decision: MakeObject) -> Decision:
        """Creates the object; a refusal that repeating cannot help ends the change."""
        each, cluster = decision.object, self._cluster(row)
        resource = resource_of(each.kind)
        body = labelled(each.body, cluster.installation, row.team)
        if not is_in_service(resource):
            body["metadata"]["annotations"][labels.RECORD] = recorded(row)
        refused = self._stores.of(cluster, resource).create(resource, body, each.namespace)
        if refused is None:
            return decision
        said = f"{refused.message} {created_so_far(observed)}"
        again = "Request it again when that is fixed; what was created is used then."
        return EndChange(ChangePhase.FAILED, said, f"{refused.hint} {again}".strip())

    def _remove(self, row: TeamChange, decision: RemoveObject) -> Decision:
        """Deletes the object; while that is refused, the card says so."""
        each, cluster = decision.object, self._cluster(row)
        resource = resource_of(each.kind)
        try:
            store = self._stores.of(cluster, resource)
            store.delete(resource, each.name, each.namespace, uid=decision.uid)
        except ClusterError as error:
            if error.is_final or error.reason in HOPELESS:
                return UpdateStatus(ChangePhase.REMOVING, f"{error.message} {error.hint}".strip())
            raise
        return decision

    def _cluster(self, row: TeamChange) -> Cluster:
        return self._context.cluster(row.cluster, _UNTIL)


def _found(state: ObjectState) -> str:
    if state.is_missing:
        return "is not there"
    return DELETED if state.is_ours else "stays: not created by Quartermaster for this team"
