"""Decides the next step for a run from its row and the observed state, without any calls."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot.cluster import labels
from bot.cluster.types.objects import ClusterObject, Pod
from bot.datasets.caches import using
from bot.quotas.engines.admission import AdmissionState
from bot.reconcile.decisions import Create, Wait
from bot.training.failures import as_mishap, cause_of_run, is_lost
from bot.training.kinds import kept_after_end, kind_of_run
from bot.training.kinds.kind import Dependent
from bot.training.kinds.status import Progress, Root, WorkloadStatus
from bot.training.mishaps import FINE, FailureReason, of_deadline
from bot.training.pods import LAUNCHER
from bot.training.session_time import is_session, is_up
from bot.training.state import State, has_ended, has_failed, state_of
from bot.training.submission.data import lacking
from bot.training.tables import ENDS, Run, RunIntent, RunPhase
from bot.training.templates.moving import Leave, Move, Withdraw, is_due, may_leave

UNMANAGED_AFTER = timedelta(seconds=30)
# After this a run that is still so is late, and its card says why.
LONGEST = {
    RunPhase.ASKED: timedelta(minutes=2),
    **dict.fromkeys((RunPhase.DATA, RunPhase.PENDING, RunPhase.PREEMPTED), timedelta(hours=24)),
    RunPhase.CREATING: timedelta(minutes=15),
}
LONGEST_STOP = timedelta(minutes=5)
OVER_TIME = timedelta(minutes=10)
TIME_IS_UP = "Its data outside PVCs is lost."


@dataclass(frozen=True)
class DependentObserved:
    """A dependent as observed; None was confirmed by a live read."""

    dependent: Dependent
    object: ClusterObject | None = None
    is_ours: bool = True


@dataclass(frozen=True)
class RunObserved:
    """The observed state of a run.

    `root` is our object; None was confirmed by a live read. `is_taken` means that an object that
    is not ours has its name. `unmanaged` means that the quota engine ignored the root, also
    confirmed by a live read, and `left_out` that it never manages its pods; both are sentences.
    `dependents` is None if they were not read. `loss` is which of its nodes and PVCs it lost.
    `data` is how far the caches are that it reads. `gate` is its state because of the runs that
    it waits for; None if it may start. `no_way_on` says why it cannot move on to its next compute
    template although its time is up; empty if it can.
    """

    root: Root | None
    admission: AdmissionState | None = None
    pods: tuple[Pod, ...] = ()
    is_taken: bool = False
    unmanaged: str = ""
    left_out: str = ""
    dependents: tuple[DependentObserved, ...] | None = None
    loss: FailureReason = FINE
    data: using.DataReadiness = using.THERE
    gate: State | None = None
    no_way_on: str = ""

    @property
    def missing(self) -> tuple[Dependent, ...]:
        """The dependents that do not exist."""
        return tuple(each.dependent for each in self.dependents or () if each.object is None)

    @property
    def foreign(self) -> tuple[Dependent, ...]:
        """The dependents whose names objects of others have."""
        return tuple(each.dependent for each in self.dependents or () if not each.is_ours)


@dataclass(frozen=True)
class CreateDependent:
    """Create a dependent; `state` is that of the root if there is one."""

    dependent: Dependent
    state: State | None = None


@dataclass(frozen=True)
class Prepare:
    """Save the logs, and record the phase in which the removal of the root ends."""

    outcome: RunPhase
    reason: str
    advice: str = ""


@dataclass(frozen=True)
class Delete:
    """Delete the root."""


@dataclass(frozen=True)
class Clear:
    """Delete a dependent of a run that is over."""

    dependent: Dependent
    uid: str


@dataclass(frozen=True)
class Await:
    """An object is being deleted; observe again."""


@dataclass(frozen=True)
class Scale:
    """Patch the number of nodes of the root; `refusal` says why the cluster does not allow it."""

    nodes: int
    state: State
    refusal: str = ""


@dataclass(frozen=True)
class UpdateStatus:
    """Nothing to do; record the state."""

    state: State


@dataclass(frozen=True)
class End:
    """The run has ended."""

    state: State


Decision = (
    Create
    | CreateDependent
    | Prepare
    | Delete
    | Clear
    | Await
    | Scale
    | UpdateStatus
    | End
    | Leave
    | Withdraw
    | Move
    | Wait
)


def decide(run: Run, seen: RunObserved, now: datetime) -> Decision:
    """The next step for a run."""
    if not run.is_live:
        return _clear_away(run, seen, now)
    if run.moving_to is not None and not _is_kept(run, seen):
        return _moving(run, seen, run.moving_to)
    if seen.root is None:
        return _without_root(run, seen)
    if run.removing is not None:
        return Await() if seen.root.is_leaving else Delete()
    return _with_root(run, seen, seen.root, now)


def _with_root(run: Run, seen: RunObserved, root: Root, now: datetime) -> Decision:
    state = _state(run, root.status, seen)
    if state.phase in ENDS and not state.is_unfinished:
        return End(state)
    removal = _removal(run, seen, state, now)
    if removal is not None:
        return removal
    is_to_leave = may_leave(run, state) and is_due(run, now)
    if is_to_leave and not seen.no_way_on:
        return Leave(run.candidate + 1)
    if is_to_leave:
        state = state.hindered(FailureReason(seen.no_way_on))
    if seen.missing:
        return CreateDependent(seen.missing[0], state)
    nodes = _other_size(run, root)
    return Scale(nodes, state) if nodes is not None else UpdateStatus(state)


def _is_kept(run: Run, seen: RunObserved) -> bool:
    """Whether a run that was to move stays after all: it is to stop, or was admitted meanwhile."""
    root = seen.root
    if root is None or root.is_leaving:
        return False
    return run.wanted == RunIntent.STOP or not may_leave(run, _state(run, root.status, seen))


def _moving(run: Run, seen: RunObserved, to: int) -> Decision:
    """The next step of a run that leaves its place; it has moved when nothing is left there."""
    if seen.root is not None:
        return Await() if seen.root.is_leaving else Withdraw()
    is_elsewhere = run.candidates[to]["cluster"] != run.cluster
    left = [
        each
        for each in seen.dependents or ()
        if each.object and each.is_ours and (is_elsewhere or not each.dependent.stays)
    ]
    for each in left:
        if each.object and each.object.metadata.deletion_timestamp is None:
            return Clear(each.dependent, each.object.uid)
    if left or seen.pods:
        return Await()
    if run.wanted == RunIntent.STOP:
        return End(State(RunPhase.STOPPED, reason=run.stop_why))
    return Move(to)


def _other_size(run: Run, root: Root) -> int | None:
    """The number of nodes its root should have; None if it has them or cannot change them."""
    is_done = root.nodes in {None, run.scale_to} or root.status.progress is not Progress.GOING
    return None if is_done or run.unscaled_to == run.scale_to else run.scale_to


def _state(run: Run, status: WorkloadStatus, seen: RunObserved) -> State:
    """Its state; a session that its root ended for its time limit counts as expired."""
    cause = cause_of_run(run, seen.pods)
    state = state_of(status, seen.admission, seen.pods, cause)
    if status.reason == "DeadlineExceeded" and is_session(run) and run.until is not None:
        return replace(state, phase=RunPhase.EXPIRED, reason=TIME_IS_UP, advice="")
    if seen.loss and state.phase in {RunPhase.CREATING, RunPhase.RUNNING}:
        return state.hindered(seen.loss)
    return state


def is_late(run: Run, now: datetime) -> bool:
    """Whether the run has been in its phase for longer than expected."""
    limit = late_at(run)
    return limit is not None and now >= limit


def late_at(run: Run) -> datetime | None:
    """When the run becomes overdue, None if its phase has no limit."""
    if not run.is_live:
        return None
    if run.stop_at is not None:
        return run.stop_at + LONGEST_STOP
    if run.phase == RunPhase.RUNNING:
        if run.until is not None:
            return run.until + OVER_TIME
        limit = run.spec.get("time_limit_seconds")
        if limit is None or run.started_at is None:
            return None
        return run.started_at + timedelta(seconds=limit) + OVER_TIME
    longest = LONGEST.get(RunPhase(run.phase))
    return run.since + longest if longest else None


def waited(run: Run, now: datetime) -> timedelta:
    """How long its root has existed."""
    return now - (run.made_at or now)


def vanished(run: Run) -> str:
    """The reason of a run whose root was deleted outside Quartermaster."""
    return (
        f"Its {kind_of_run(run).root.kind} is gone from the cluster, and Quartermaster did not"
        " delete it: it was deleted outside Quartermaster, or it ended unseen and was cleaned up."
    )


def taken(run: Run, kind: str, name: str) -> str:
    """The reason of a run that needs a name which an object of others has."""
    return (
        f"Namespace {run.namespace} already has a {kind} {name} that Quartermaster did not create."
        " It was not changed."
    )


def _without_root(run: Run, seen: RunObserved) -> Decision:
    if run.removing is not None:
        if any(not has_ended(pod) for pod in seen.pods):
            return Await()
        return End(State(RunPhase(run.removing), reason=run.reason, advice=run.unblock))
    if run.job_uid is not None:
        return End(State(RunPhase.VANISHED, reason=vanished(run)))
    if run.wanted == RunIntent.STOP:
        return End(State(RunPhase.STOPPED, reason=run.stop_why))
    if seen.is_taken:
        reason = taken(run, kind_of_run(run).root.kind, run.job_name)
        return End(State(RunPhase.FAILED, reason=reason))
    other = _taken_dependent(run, seen)
    if other:
        return End(State(RunPhase.FAILED, reason=other))
    return _beginning(run, seen)


def _beginning(run: Run, seen: RunObserved) -> Decision:
    """The first step: its objects are created once other runs have ended and its data is ready."""
    if seen.gate is not None:
        return End(seen.gate) if seen.gate.phase in ENDS else UpdateStatus(seen.gate)
    if run.phase == RunPhase.AFTER:
        return UpdateStatus(State(RunPhase.ASKED))
    if lacks := lacking(seen.data):
        return End(lacks) if lacks.phase is RunPhase.FAILED else UpdateStatus(lacks)
    return CreateDependent(seen.missing[0]) if seen.missing else Create()


def _removal(run: Run, seen: RunObserved, state: State, now: datetime) -> Prepare | None:
    """Why the root has to be deleted; None if it does not."""
    if run.wanted == RunIntent.STOP:
        return Prepare(RunPhase.STOPPED, run.stop_why)
    if state.is_unfinished:
        return Prepare(state.phase, state.reason, state.advice)
    if is_up(run, now):
        return Prepare(RunPhase.EXPIRED, TIME_IS_UP)
    if seen.left_out:
        return Prepare(RunPhase.UNMANAGED, seen.left_out)
    if seen.unmanaged and not run.workload and waited(run, now) >= UNMANAGED_AFTER:
        return Prepare(RunPhase.UNMANAGED, seen.unmanaged)
    given_up = _given_up(run, seen, state, now)
    if given_up:
        return Prepare(RunPhase.FAILED, given_up.said, given_up.advice)
    other = _taken_dependent(run, seen)
    return Prepare(RunPhase.FAILED, other) if other else None


def _given_up(run: Run, seen: RunObserved, state: State, now: datetime) -> FailureReason:
    """Why it is ended although its root would retry, which counts evictions as failures."""
    if seen.root is None:
        return FINE
    limit = timedelta(seconds=run.spec.get("time_limit_seconds") or 0)
    is_ours_to_keep = limit and seen.root.status.time_limit_seconds is None
    if is_ours_to_keep and _is_over_time(seen, state, limit, now):
        return of_deadline(int(limit.total_seconds()))
    if unlaunched := _unlaunched(run, seen, seen.root.status):
        return unlaunched
    attempts = seen.root.object.metadata.annotations.get(labels.ATTEMPTS)
    failed = [pod for pod in seen.pods if has_failed(pod)]
    cause = cause_of_run(run, failed)
    if attempts is None or len(failed) <= int(attempts) or cause is None:
        return FINE
    return as_mishap(cause, len(failed))


def _unlaunched(run: Run, seen: RunObserved, status: WorkloadStatus) -> FailureReason:
    """Why it never launches: the launcher waits for all workers, and one has failed."""
    is_launched = any(pod.labels.get(labels.ROLE) == LAUNCHER for pod in seen.pods)
    if kind_of_run(run).root.replaces_workers or is_launched:
        return FINE
    cause = cause_of_run(run, seen.pods)
    if cause is None or cause.is_disrupted or not is_lost(cause, run, status, seen.pods):
        return FINE
    return as_mishap(cause, 1)


def _is_over_time(seen: RunObserved, state: State, limit: timedelta, now: datetime) -> bool:
    if any(pod.status.reason == "DeadlineExceeded" for pod in seen.pods):
        return True
    is_running = state.phase is RunPhase.RUNNING and state.started_at is not None
    return is_running and state.started_at is not None and now >= state.started_at + limit


def _taken_dependent(run: Run, seen: RunObserved) -> str:
    other = next(iter(seen.foreign), None)
    return taken(run, other.resource.kind, other.name) if other else ""


def _clear_away(run: Run, seen: RunObserved, now: datetime) -> Decision:
    """Deletes what is left of an ended run: dependents, and a root that was created late.

    A root that Kubernetes does not clean up is deleted some time after its end.
    """
    root = seen.root
    if root is not None and root.uid != run.job_uid and not root.is_leaving:
        return Delete()
    left = [each for each in seen.dependents or () if each.object and each.is_ours]
    for each in left:
        if each.object and each.object.metadata.deletion_timestamp is None:
            return Clear(each.dependent, each.object.uid)
    if left:
        return Await()
    kept_for, ended_at = kept_after_end(run), run.ended_at
    if root is None or kept_for is None or ended_at is None:
        return Wait()
    if now < ended_at + kept_for:
        return Wait(ended_at + kept_for)
    return Await() if root.is_leaving else Delete()
