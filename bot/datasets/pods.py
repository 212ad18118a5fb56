"""Reads the state and logs of a Job's pods, and what keeps them from starting."""

from collections.abc import Sequence
from datetime import UTC, datetime

from bot.cluster.cluster import Cluster
from bot.cluster.resources import EVENTS
from bot.cluster.types.objects import ContainerState, Pod, find_condition
from bot.datasets.job import CONTAINER
from bot.errors import ClusterError
from bot.masking import hide_secrets

_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_READ_LINES, _QUOTED_LINES = 50, 5
_LONGEST_QUOTE = 300
_BEGINNING = {"", "ContainerCreating", "PodInitializing"}


def speaker(pods: Sequence[Pod], *, is_complete: bool) -> Pod | None:
    """The pod whose log counts: the newest started one, or the newest succeeded one if complete."""
    started = [pod for pod in pods if has_started(pod)]
    if is_complete:
        started = [pod for pod in started if pod.status.phase == "Succeeded"] or started
    return max(started, key=_made_at, default=None)


def last_lines(
    cluster: Cluster, pod: Pod, container: str = CONTAINER, count: int = _READ_LINES
) -> list[str]:
    """The last log lines of a pod; none if it is gone or has not started."""
    try:
        return cluster.logs(pod.name, pod.namespace, container=container, tail_lines=count)
    except ClusterError as error:
        if error.reason in {"NotFound", "BadRequest"}:
            return []
        raise


def tail(cluster: Cluster, pod: Pod, container: str) -> str:
    """The end of a container's log, short enough for a card and without secrets."""
    words = " ".join(last_lines(cluster, pod, container, _QUOTED_LINES))
    return hide_secrets(words)[-_LONGEST_QUOTE:]


def obstacle(cluster: Cluster, pods: Sequence[Pod]) -> str:
    """What keeps the newest pod from starting, as a sentence; empty if unknown."""
    newest = max(pods, key=_made_at, default=None)
    if newest is None or newest.status.phase in {"Succeeded", "Failed"}:
        return ""
    scheduled = find_condition(newest.status.conditions, "PodScheduled")
    if scheduled is not None and scheduled.status == "False":
        return quoted("Its pod cannot be scheduled", scheduled.message or scheduled.reason)
    for status in newest.status.container_statuses:
        waiting = status.state.waiting
        if waiting is not None and waiting.reason not in _BEGINNING:
            return quoted("Its pod does not start", f"{waiting.reason}. {waiting.message}")
    return warning(cluster, newest.namespace, newest.uid)


def warning(cluster: Cluster, namespace: str, uid: str) -> str:
    """The last Warning event of an object, as a sentence; empty without one."""
    found = cluster.list(EVENTS, namespace, fields=f"involvedObject.uid={uid},type=Warning")
    warnings = [each for each in found if each.type == "Warning" and each.message]
    last = max(warnings, key=lambda each: each.last_seen or _LONG_AGO, default=None)
    return quoted("Kubernetes warns", last.message) if last is not None else ""


def has_started(pod: Pod) -> bool:
    """Whether its worker has started."""
    return any(state.running or state.terminated for state in _states(pod))


def is_running(pod: Pod) -> bool:
    """Whether its worker runs."""
    return any(state.running for state in _states(pod))


def started_at(pod: Pod) -> datetime | None:
    """When its worker started."""
    parts = (part for state in _states(pod) for part in (state.running, state.terminated))
    return next((part.started_at for part in parts if part is not None), None)


def quoted(said: str, words: str) -> str:
    """One sentence, short enough for a card: ours, then a quotation."""
    flat = " ".join(hide_secrets(words).split())
    flat = flat if len(flat) <= _LONGEST_QUOTE else f"{flat[:_LONGEST_QUOTE]}…"
    return f"{said}: {flat.rstrip('. ')}."


def _made_at(pod: Pod) -> datetime:
    return pod.metadata.creation_timestamp or _LONG_AGO


def _states(pod: Pod) -> list[ContainerState]:
    return [each.state for each in pod.status.container_statuses if each.name == CONTAINER]
