"""The status of the root of a run, in the same form for every resource."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from bot.cluster import labels
from bot.cluster.types.objects import ClusterObject, Condition, find_condition, has_condition


class Progress(StrEnum):
    """The progress that an object reports; one that is finishing already reports its end."""

    GOING = "going"
    FINISHING = "finishing"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


@dataclass(frozen=True)
class WorkloadStatus:
    """The status that an object reports.

    `reason` and `message` are its own words for a failure; one that `is_bare` says no more than
    that pods failed, and one that `is_telling` says more than the exit codes of pods do.
    `is_running` is its own evidence that a pod runs; without it pods may still run. `failed_pods`
    counts attempts; `attempts` is how many there may be, of each of its pods where it counts them
    so, None where it does not say.
    """

    progress: Progress = Progress.GOING
    reason: str = ""
    message: str = ""
    is_bare: bool = False
    is_telling: bool = False
    ended_at: datetime | None = None
    started_at: datetime | None = None
    is_suspended: bool = False
    is_running: bool = False
    failed_pods: int = 0
    attempts: int | None = None
    time_limit_seconds: int | None = None

    @property
    def is_over(self) -> bool:
        """Whether it has ended, well or not."""
        return self.progress in {Progress.SUCCEEDED, Progress.FAILED}


@dataclass(frozen=True)
class Root:
    """The root of a run: the object that its quota engine manages and whose end is the run's.

    `nodes` is how many it asks for, None where that cannot be changed in it.
    """

    object: ClusterObject
    status: WorkloadStatus
    nodes: int | None = None

    @property
    def uid(self) -> str:
        """The uid, which differs from that of an earlier object of the same name."""
        return self.object.uid

    @property
    def is_leaving(self) -> bool:
        """Whether it is being deleted."""
        return self.object.metadata.deletion_timestamp is not None


def progress_of(
    conditions: Sequence[Condition],
    ends: Mapping[str, Progress],
    coming: frozenset[str] | set[str] = frozenset(),
) -> tuple[Progress, Condition]:
    """How far it is, and the condition that says so; a failure wins over a success."""
    for type_, progress in ends.items():
        found = find_condition(conditions, type_)
        if found is not None and found.true:
            return progress, found
    is_coming = any(has_condition(conditions, type_) for type_ in coming)
    return (Progress.FINISHING if is_coming else Progress.GOING), Condition()


def attempts_of(object_: ClusterObject, backoff_limit: int | None) -> int | None:
    """How many attempts there may be; where Quartermaster counts them itself, a note says so."""
    noted = object_.metadata.annotations.get(labels.ATTEMPTS)
    limit = backoff_limit if noted is None else int(noted)
    return None if limit is None else limit + 1
