"""Failures of the programs of a run: read from its pods and stored on its row."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.cluster import labels
from bot.cluster.types.objects import Pod, Terminated, find_condition
from bot.training import mishaps
from bot.training.kinds import kind_of_run
from bot.training.kinds.status import Progress, WorkloadStatus
from bot.training.mishaps import FailureReason
from bot.training.pods import LAUNCHER, WORKER, exit_of, program_of
from bot.training.spec import spec_of
from bot.training.tables import Run

# What one failure brings about in the other pods of a run comes within this time.
TOGETHER = timedelta(minutes=2)
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Failure:
    """How a program ended in one of a run's pods.

    `key` identifies this end, `place` says which of several pods it was. `number` counts the
    attempts if the pod reports them. One that `is_plain` may be the consequence of another pod's
    failure; one that `is_disrupted` was not caused by the program.
    """

    key: str
    place: str
    at: datetime
    said: str
    advice: str = ""
    number: int | None = None
    is_plain: bool = False
    is_disrupted: bool = False


def cause_of(failures: Iterable[Failure]) -> Failure | None:
    """The root cause of failures that happened together; only the newest of a pod counts."""
    newest: dict[str, Failure] = {}
    for each in sorted(failures, key=lambda each: each.at):
        newest[each.place] = each
    last = max((each.at for each in newest.values()), default=_LONG_AGO)
    together = [each for each in newest.values() if last - each.at <= TOGETHER]
    return min(together, key=lambda each: (each.is_plain, each.at), default=None)


def cause_of_run(run: Run, pods: Sequence[Pod]) -> Failure | None:
    """The last failure of the run, from its pods and from the failure stored on its row."""
    known = failure_from(run.failure)
    cause = cause_of([*failures_of(run, pods), *([known] if known else [])])
    if cause is None or cause.place or cause.is_disrupted:
        return cause
    is_new = known is None or known.key != cause.key
    return replace(cause, number=run.restarts + 1) if is_new else cause


def failures_of(run: Run, pods: Sequence[Pod]) -> Iterator[Failure]:
    """The last failure of each of its pods that failed."""
    failed = [pod for pod in pods if failure_of(pod)]
    if not failed:
        return
    spec = spec_of(run)
    sets = {each.name: each for each in kind_of_run(run).pods(spec)}
    for pod in failed:
        role = sets.get(pod.labels.get(labels.ROLE, ""))
        memory = role.requests.get("memory", "") if role else spec.memory_with_shm
        failure = failure_of(pod, memory, is_alone=spec.nodes == 1)
        if failure is not None:
            yield failure


def failure_of(pod: Pod, memory: str = "", *, is_alone: bool = False) -> Failure | None:
    """The last failure of a pod's program; None if it did not fail or was told to end."""
    end = _bad_end(pod)
    is_failed = pod.status.phase == "Failed" and pod.metadata.deletion_timestamp is None
    if end is None and not is_failed:
        return None
    why = mishaps.of_pod(pod, memory) if is_failed else mishaps.of_end(end or Terminated(), memory)
    at = end.finished_at if end and end.finished_at else pod.metadata.creation_timestamp
    disruption = find_condition(pod.status.conditions, "DisruptionTarget")
    return Failure(
        f"{pod.uid} {at:%Y-%m-%dT%H:%M:%S}" if at else pod.uid,
        "" if is_alone else _place(pod),
        at or _LONG_AGO,
        why.said,
        why.advice,
        _number(pod),
        is_plain=why.is_plain,
        is_disrupted=disruption is not None and disruption.true,
    )


def failure_row(failure: Failure) -> dict[str, Any]:
    """A failure as it is stored on a row."""
    return asdict(failure) | {"at": failure.at.isoformat()}


def failure_from(row: Mapping[str, Any] | None) -> Failure | None:
    """The failure that is stored on a row."""
    return Failure(**{**row, "at": datetime.fromisoformat(row["at"])}) if row else None


def as_mishap(failure: Failure, count: int) -> FailureReason:
    """The failure as the reason of a run that failed after `count` attempts."""
    which = f" It happened in {failure.place}." if failure.place else ""
    count = max(count, failure.number or 0)
    if not which and count > 1:
        which = f" This was attempt {count}."
    return FailureReason(f"{failure.said}{which}", failure.advice)


def attempt_words(failure: Failure, count: int, most: int | None) -> str:
    """What failed and why while the run continues: attempt 1 of 3, or one of several pods."""
    if failure.is_disrupted:
        return failure.said
    number = failure.number if failure.place else count
    attempt = f"attempt {number} of {most}" if number and most else f"attempt {number}"
    in_place = f"{failure.place}, {attempt}," if number else failure.place
    who = in_place if failure.place else attempt
    return f"{who[0].upper()}{who[1:]} failed. {failure.said}"


def is_last(failure: Failure, run: Run, status: WorkloadStatus) -> bool:
    """Whether the failed pod is not replaced."""
    if failure.place and not kind_of_run(run).root.replaces_workers:
        return True
    number = failure.number if failure.place else run.restarts
    used_up = status.attempts is not None and number is not None and number >= status.attempts
    return used_up or status.progress is not Progress.GOING


def is_lost(failure: Failure, run: Run, status: WorkloadStatus, pods: Sequence[Pod]) -> bool:
    """Whether a run continues without one of its pods, which is not replaced."""
    if (
        not failure.place
        or status.progress is not Progress.GOING
        or not is_last(failure, run, status)
    ):
        return False
    there = [pod for pod in pods if _place(pod) == failure.place]
    # None are there when it comes back from its queue, to begin anew.
    return bool(there) and all(map(failure_of, there))


def _bad_end(pod: Pod) -> Terminated | None:
    """The last unsuccessful end of its program; the container may have restarted since."""
    program = program_of(pod)
    if program is None:
        return None
    end = exit_of(pod)
    if end is not None:
        told_at = pod.metadata.deletion_timestamp
        return end if end.exit_code and told_at is None else None
    before = program.last_state.terminated
    return before if before is not None and before.exit_code else None


def _place(pod: Pod) -> str:
    """Which of the pods of a run it is; empty if there is only one."""
    role = pod.labels.get(labels.ROLE)
    if role == LAUNCHER:
        return ""
    if index := pod.labels.get(labels.REPLICA_INDEX):
        return f"worker {index}"
    index = pod.labels.get(labels.INDEX) or pod.metadata.annotations.get(labels.INDEX)
    if index:
        return f"pod {index}"
    # Some workers have no number.
    return {None: "", WORKER: "a worker"}.get(role, f"the {role}")


def _number(pod: Pod) -> int | None:
    """The attempt of its index, if the Job counts attempts per index."""
    before = pod.metadata.annotations.get(labels.INDEX_FAILURES, "")
    return int(before) + 1 if before.isdecimal() else None
