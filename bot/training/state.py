"""Derives one state of a run from its root, its quota engine and its pods."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bot.cluster.types.objects import Pod, Running, find_condition
from bot.quotas.engines.admission import AdmissionPhase, AdmissionState
from bot.training import mishaps
from bot.training.failures import Failure, as_mishap, cause_of, failure_of
from bot.training.kinds.status import Progress, WorkloadStatus
from bot.training.mishaps import FINE, FailureReason, quoted
from bot.training.pods import exit_of, program_of
from bot.training.tables import RunPhase

_LATE = "active longer than specified deadline"


@dataclass(frozen=True)
class State:
    """The state of a run by its cluster.

    `reason` says why, `obstacle` what keeps it from continuing, `advice` what to try next; all are
    sentences. Times are those of the cluster, None if it reports none; `since` is when the state
    began. A state that `is_unfinished` is an end that the root does not report yet.
    """

    phase: RunPhase
    reason: str = ""
    obstacle: str = ""
    advice: str = ""
    since: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    is_unfinished: bool = False

    def hindered(self, by: FailureReason) -> "State":
        """The same state with an obstacle."""
        return replace(self, obstacle=by.said, advice=by.advice)


def state_of(
    status: WorkloadStatus,
    admission: AdmissionState | None,
    pods: Sequence[Pod],
    cause: Failure | None = None,
) -> State:
    """The state, by the precedence failed, succeeded, preempted, pending, creating, running.

    `cause` is the last failure of its programs, if any.
    """
    started_at = min(_starts(pods), default=None)
    if status.is_over:
        failed = status.progress is Progress.FAILED
        why = _why_failed(status, pods, cause) if failed else FINE
        return State(
            RunPhase.FAILED if failed else RunPhase.SUCCEEDED,
            reason=why.said,
            advice=why.advice,
            started_at=started_at,
            ended_at=status.ended_at,
        )
    if admission is not None and admission.phase is not AdmissionPhase.ADMITTED:
        return _not_admitted(admission)
    if admission is None and (status.is_suspended or not any(map(has_place, pods))):
        return State(RunPhase.PENDING)
    return _admitted(status, admission, pods, started_at)


def has_place(pod: Pod) -> bool:
    """Whether the pod is assigned to a node."""
    return bool(pod.spec.node_name)


def has_started(pod: Pod) -> bool:
    """Whether the pod's container runs or ran, so that it may have a log."""
    program = program_of(pod)
    if program is None:
        return False
    parts = (program.state.running, program.state.terminated, program.last_state.terminated)
    return any(part is not None for part in parts)


def has_ended(pod: Pod) -> bool:
    """Whether the pod has ended for good."""
    return pod.status.phase in {"Succeeded", "Failed"} or exit_of(pod) is not None


def _has_succeeded(pod: Pod) -> bool:
    """Whether the pod's program has succeeded, even if its controller has not noticed yet."""
    end = exit_of(pod)
    return pod.status.phase == "Succeeded" or (end is not None and end.exit_code == 0)


def has_failed(pod: Pod) -> bool:
    """Whether the pod failed by itself, not because it is being deleted."""
    return pod.status.phase == "Failed" and pod.metadata.deletion_timestamp is None


def obstacle_of(pods: Sequence[Pod]) -> FailureReason:
    """What keeps a pod from starting, if anything does."""
    found = (mishap for pod in pods for mishap in _obstacles(pod) if mishap)
    return next(found, FINE)


def _obstacles(pod: Pod) -> Iterator[FailureReason]:
    if has_ended(pod) or pod.metadata.deletion_timestamp:
        return
    scheduled = find_condition(pod.status.conditions, "PodScheduled")
    is_gated = scheduled is not None and scheduled.reason == "SchedulingGated"
    if scheduled is not None and scheduled.status == "False" and not is_gated:
        yield mishaps.of_scheduling(scheduled)
    for status in (*pod.status.init_container_statuses, *pod.status.container_statuses):
        if status.state.waiting is not None:
            yield mishaps.of_container(status.state.waiting)


def _not_admitted(admission: AdmissionState) -> State:
    quote = f" {quoted(admission.quote)}" if admission.quote else ""
    reason = f"{admission.reason}{quote}"
    match admission.phase:
        case AdmissionPhase.GIVEN_UP:
            return State(RunPhase.FAILED, reason=reason, is_unfinished=True)
        case AdmissionPhase.PREEMPTED:
            return State(RunPhase.PREEMPTED, reason=reason, since=admission.since)
        case _:
            return State(RunPhase.PENDING, reason=reason)


def _admitted(
    status: WorkloadStatus,
    admission: AdmissionState | None,
    pods: Sequence[Pod],
    started_at: datetime | None,
) -> State:
    running = [part for pod in pods for part in _running(pod)]
    is_ending = bool(pods) and all(map(_has_succeeded, pods))
    if running or is_ending or status.is_running or status.progress is Progress.FINISHING:
        latest = max((part.started_at for part in running if part.started_at), default=None)
        state = State(RunPhase.RUNNING, since=latest, started_at=started_at)
    else:
        state = State(RunPhase.CREATING, since=admission.since if admission else None)
    return state.hindered(obstacle_of(pods))


def _running(pod: Pod) -> Iterator[Running]:
    program = program_of(pod)
    if program and program.state.running and not pod.metadata.deletion_timestamp:
        yield program.state.running


def _starts(pods: Sequence[Pod]) -> Iterator[datetime]:
    for program in filter(None, map(program_of, pods)):
        state, before = program.state, program.last_state.terminated
        for part in (state.running, state.terminated, before):
            if part is not None and part.started_at is not None:
                yield part.started_at


def _why_failed(
    status: WorkloadStatus, pods: Sequence[Pod], cause: Failure | None
) -> FailureReason:
    limit = status.time_limit_seconds
    if limit is not None and (status.reason == "DeadlineExceeded" or _LATE in status.message):
        return mishaps.of_deadline(limit)
    said = f"The cluster reports: {quoted(status.message or status.reason or 'it failed')}"
    cause = cause or cause_of(filter(None, map(failure_of, pods)))
    if status.is_telling and (cause is None or cause.is_plain):
        return _as_told(status, cause)
    if cause is None:
        return FailureReason(said)
    failed = sum(pod.status.phase == "Failed" for pod in pods)
    why = as_mishap(cause, max(status.failed_pods, failed))
    return why if status.is_bare else replace(why, said=f"{why.said} {said}")


def _as_told(status: WorkloadStatus, cause: Failure | None) -> FailureReason:
    """The failure in the words of the root, which knows of it more than pods do."""
    said = quoted(status.message)
    if cause is None:
        return FailureReason(said)
    return as_mishap(replace(cause, said=said, place=""), status.failed_pods)
