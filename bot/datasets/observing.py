"""Looks at the Job of a survey and at its pods, live: there are few of them."""

from collections.abc import Sequence
from datetime import UTC, datetime

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.hiding import hide_secrets
from bot.cluster.objects import ContainerState, Job, Pod, find_condition, has_condition
from bot.cluster.resources import EVENTS, JOBS, PODS
from bot.datasets.decision import Seen
from bot.datasets.job import CONTAINER
from bot.datasets.saying import Said, last_said
from bot.datasets.tables import Version
from bot.errors import ClusterError

_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_READ_LINES = 50
_LONGEST_QUOTE = 300
_BEGINNING = {"", "ContainerCreating", "PodInitializing"}


def observe(cluster: Cluster, version: Version) -> Seen:
    """What the cluster shows of a survey; ClusterError when it cannot be told."""
    job = cluster.get(JOBS, version.job_name, version.namespace)
    if job is None:
        return Seen()
    if not is_ours(job, version, cluster.installation):
        return Seen(job, is_taken=True)
    if not version.is_live:
        return Seen(job)
    chosen = f"{labels.DATASET_VERSION}={version.id}"
    pods = cluster.list(PODS, version.namespace, labels=chosen)
    is_complete = has_condition(job.status.conditions, "Complete")
    speaker = _speaker(pods, is_complete=is_complete)
    is_running = speaker is not None and _is_running(speaker)
    obstacle = "" if is_running or is_complete else _obstacle(cluster, pods)
    return Seen(
        job,
        is_running=is_running,
        started_at=_started_at(speaker) if speaker is not None else None,
        said=_said(cluster, speaker) if speaker is not None else None,
        obstacle=obstacle,
    )


def is_ours(job: Job, version: Version, installation: str) -> bool:
    """Whether a Job was made for this version by this installation."""
    marks = {labels.DATASET_VERSION: version.id, labels.INSTALLATION: installation}
    return marks.items() <= job.labels.items() and version.job_uid in {None, job.uid}


def _speaker(pods: Sequence[Pod], *, is_complete: bool) -> Pod | None:
    """The pod whose words count: the newest that has started, of those that ended well if any."""
    started = [pod for pod in pods if _has_started(pod)]
    if is_complete:
        started = [pod for pod in started if pod.status.phase == "Succeeded"] or started
    return max(started, key=_made_at, default=None)


def _said(cluster: Cluster, pod: Pod) -> Said | None:
    try:
        text = cluster.logs(pod.name, pod.namespace, tail_lines=_READ_LINES)
    except ClusterError as error:
        if error.reason in {"NotFound", "BadRequest"}:
            return None  # The pod is gone, or its container about to start.
        raise
    return last_said(text.splitlines())


def _obstacle(cluster: Cluster, pods: Sequence[Pod]) -> str:
    """What keeps the newest pod from starting, as a sentence; empty where nothing is known."""
    newest = max(pods, key=_made_at, default=None)
    if newest is None or newest.status.phase in {"Succeeded", "Failed"}:
        return ""
    scheduled = find_condition(newest.status.conditions, "PodScheduled")
    if scheduled is not None and scheduled.status == "False":
        return _quoted("No node takes its pod", scheduled.message or scheduled.reason)
    for status in newest.status.container_statuses:
        waiting = status.state.waiting
        if waiting is not None and waiting.reason not in _BEGINNING:
            return _quoted("Its pod does not start", f"{waiting.reason}. {waiting.message}")
    return _warning(cluster, newest)


def _warning(cluster: Cluster, pod: Pod) -> str:
    fields = f"involvedObject.uid={pod.uid},type=Warning"
    found = cluster.list(EVENTS, pod.namespace, fields=fields)
    warnings = [each for each in found if each.type == "Warning" and each.message]
    last = max(warnings, key=lambda each: each.last_seen or _LONG_AGO, default=None)
    return _quoted("Kubernetes warns", last.message) if last is not None else ""


def _quoted(said: str, words: str) -> str:
    flat = " ".join(hide_secrets(words).split())
    flat = flat if len(flat) <= _LONGEST_QUOTE else f"{flat[:_LONGEST_QUOTE]}…"
    return f"{said}: {flat.rstrip('. ')}."


def _made_at(pod: Pod) -> datetime:
    return pod.metadata.creation_timestamp or _LONG_AGO


def _has_started(pod: Pod) -> bool:
    return any(state.running or state.terminated for state in _states(pod))


def _is_running(pod: Pod) -> bool:
    return any(state.running for state in _states(pod))


def _started_at(pod: Pod) -> datetime | None:
    parts = (part for state in _states(pod) for part in (state.running, state.terminated))
    return next((part.started_at for part in parts if part is not None), None)


def _states(pod: Pod) -> list[ContainerState]:
    return [each.state for each in pod.status.container_statuses if each.name == CONTAINER]
