"""How the programs of a run failed: read from its pods, and kept on its row after they are gone."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.cluster import labels
from bot.cluster.objects import Pod, Terminated, find_condition
from bot.cluster.resources import MPIJOBS
from bot.training import mishaps
from bot.training.kinds import kind_of_run
from bot.training.kinds.fate import Course, Fate
from bot.training.mishaps import Mishap
from bot.training.pods import LAUNCHER, exit_of, program_of
from bot.training.spec import spec_of
from bot.training.tables import Run

# What one failure brings about in the other pods of a run comes within this time.
TOGETHER = timedelta(minutes=2)
# What a Deployment makes has no number.
_WORKER = "worker"
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Failure:
    """How a program ended in one of a run's pods.

    `key` tells it from every other end, `place` says which of several pods it was. `number` counts
    its attempts where the pod tells. One that `is_plain` may follow from the failure of another
    pod; one that `is_disrupted` was no fault of the program.
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
    """The one that others which came with it follow from; only the newest of a place counts."""
    newest: dict[str, Failure] = {}
    for each in sorted(failures, key=lambda each: each.at):
        newest[each.place] = each
    last = max((each.at for each in newest.values()), default=_LONG_AGO)
    together = [each for each in newest.values() if last - each.at <= TOGETHER]
    return min(together, key=lambda each: (each.is_plain, each.at), default=None)


def cause_of_run(run: Run, pods: Sequence[Pod]) -> Failure | None:
    """Why the run's programs failed last, by its pods and by what is remembered of earlier ones."""
    known = failure_from(run.failure)
    cause = cause_of([*failures_of(run, pods), *([known] if known else [])])
    if cause is None or cause.place or cause.is_disrupted:
        return cause
    is_new = known is None or known.key != cause.key
    return replace(cause, number=run.restarts + 1) if is_new else cause


def failures_of(run: Run, pods: Sequence[Pod]) -> Iterator[Failure]:
    """How those of its pods failed that did, each with its last failure."""
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
    """How a pod's program failed last, by itself; None where it did not, or was told to end."""
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
    """A failure as a row keeps it."""
    return asdict(failure) | {"at": failure.at.isoformat()}


def failure_from(row: Mapping[str, Any] | None) -> Failure | None:
    """A failure from a row."""
    return Failure(**{**row, "at": datetime.fromisoformat(row["at"])}) if row else None


def as_mishap(failure: Failure, count: int) -> Mishap:
    """The failure as the end of a run whose pods have failed so often."""
    which = f" It happened in {failure.place}." if failure.place else ""
    count = max(count, failure.number or 0)
    if not which and count > 1:
        which = f" This was attempt {count}."
    return Mishap(f"{failure.said}{which}", failure.advice)


def attempt_words(failure: Failure, count: int, most: int | None) -> str:
    """What failed and why, while the run goes on: attempt 1 of 3, or one of several pods."""
    if failure.is_disrupted:
        return failure.said
    number = failure.number if failure.place else count
    attempt = f"attempt {number} of {most}" if number and most else f"attempt {number}"
    in_place = f"{failure.place}, {attempt}," if number else failure.place
    who = in_place if failure.place else attempt
    return f"{who[0].upper()}{who[1:]} failed. {failure.said}"


def is_last(failure: Failure, run: Run, fate: Fate) -> bool:
    """Whether nothing takes the place of what failed."""
    if failure.place and kind_of_run(run).root is MPIJOBS:
        return True  # the MPI operator makes no worker anew that has failed
    number = failure.number if failure.place else run.restarts
    used_up = fate.attempts is not None and number is not None and number >= fate.attempts
    return used_up or fate.course is not Course.GOING


def is_lost(failure: Failure, run: Run, seen: tuple[Fate, Sequence[Pod]]) -> bool:
    """Whether a run goes on without one of its pods for good."""
    fate, pods = seen
    if not failure.place or fate.course is not Course.GOING or not is_last(failure, run, fate):
        return False
    there = [pod for pod in pods if _place(pod) == failure.place]
    # None are there when it comes back from its queue, to begin anew.
    return bool(there) and all(map(failure_of, there))


def _bad_end(pod: Pod) -> Terminated | None:
    """The last end of its program that was not a good one; a container may have gone on since."""
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
    """Which of the pods of a run it is, empty where there is one of its sort."""
    role = pod.labels.get(labels.ROLE)
    if role == LAUNCHER:
        return ""
    if index := pod.labels.get(labels.REPLICA_INDEX):
        return f"worker {index}"
    index = pod.labels.get(labels.INDEX) or pod.metadata.annotations.get(labels.INDEX)
    if index:
        return f"pod {index}"
    return "a worker" if role == _WORKER else ""


def _number(pod: Pod) -> int | None:
    """Which attempt of its index it is, where the Job counts them for each."""
    before = pod.metadata.annotations.get(labels.INDEX_FAILURES, "")
    return int(before) + 1 if before.isdecimal() else None
