"""Pods of runs: which is the newest, and which of its containers runs the program."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from bot.cluster import labels
from bot.cluster.holders import Holder
from bot.cluster.types.objects import ClusterObject, ContainerStatus, Pod, Terminated
from bot.training.kinds import ROOTS

T = TypeVar("T", bound=ClusterObject)

LAUNCHER, WORKER = "launcher", "worker"
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_PROGRAMS = frozenset(root.container for root in ROOTS)


def program_of(pod: Pod) -> ContainerStatus | None:
    """The status of the container with the run's program; None while it is unknown."""
    statuses = pod.status.container_statuses
    return next((each for each in statuses if each.name in _PROGRAMS), None)


def exit_of(pod: Pod) -> Terminated | None:
    """How the pod's program ended, None while it has not."""
    program = program_of(pod)
    return program.state.terminated if program else None


def newest(pods: Sequence[T]) -> T:
    """The pod that was created last."""
    return max(pods, key=_age)


def by_age(pods: Iterable[T]) -> list[T]:
    """The pods in the order of their creation."""
    return sorted(pods, key=_age)


def _age(pod: ClusterObject) -> tuple[datetime, str]:
    return pod.metadata.creation_timestamp or _LONG_AGO, pod.name


def part_of(pod: Pod | Holder) -> str:
    """Which of a run's pods it is: launcher, worker-1, or 0; empty where it has no number."""
    role = pod.labels.get(labels.ROLE, "")
    if role and role != WORKER:
        return role
    if index := pod.labels.get(labels.REPLICA_INDEX):
        return f"worker-{index}"
    return pod.labels.get(labels.INDEX) or pod.metadata.annotations.get(labels.INDEX, "")


def main_container(pod: Holder) -> str:
    """The container of an external pod whose log kubectl would show."""
    named = pod.metadata.annotations.get(labels.DEFAULT_CONTAINER, "")
    names = [each.name for each in pod.spec.containers]
    return named if named in names or not names else names[0]
