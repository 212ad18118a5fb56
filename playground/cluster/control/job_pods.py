"""The pods of a Job: which are missing, which are too many, and when to try again."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from playground.cluster.control.job_counts import (
    FAILURES,
    IGNORED,
    Verdict,
    failures_of,
    index_of,
    is_active,
    is_indexed,
    is_ready,
    is_terminating,
    replaces_failed_only,
)
from playground.cluster.control.loop import seconds
from playground.cluster.control.world import World
from playground.cluster.objects.deletion import TRACKING
from playground.cluster.objects.errors import ApiError
from playground.cluster.objects.indexes import INDEX, read_indexes
from playground.cluster.objects.kinds import JOB, POD, Object
from playground.cluster.objects.store import key_of

SOURCE = "job-controller"
BACKOFF_SECONDS = 10
LONGEST_BACKOFF_SECONDS = 600
LONGEST_STEM = 58
Failures = tuple[int, datetime]
# The key of failures that belong to no index.
_WHOLE = -1


class JobPods:
    """Creates and ends the pods of Jobs."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._failures: dict[str, dict[int, Failures]] = {}
        self._counts: dict[str, dict[int, tuple[int, int]]] = {}

    def match(self, job: Object, pods: list[Object]) -> datetime | None:
        """Creates or ends pods until there are as many as wanted; when to try again, if later."""
        active = [pod for pod in pods if is_active(pod)]
        wanted = _wanted(job, len(active))
        surplus = _surplus(job, active, len(active) - wanted)
        if surplus:
            self.release(job, surplus)
            return None
        held = sum(map(is_terminating, pods)) if replaces_failed_only(job) else 0
        missing = wanted - len(active) - held
        if missing <= 0:
            return None
        if not is_indexed(job):
            return self._add(job, [None] * missing, _WHOLE)
        indexes = _next_indexes(job, pods)[:missing]
        if job["spec"].get("backoffLimitPerIndex") is None:
            return self._add(job, indexes, _WHOLE)
        later = [self._add(job, [index], index) for index in indexes]
        return min((moment for moment in later if moment is not None), default=None)

    def end(self, job: Object, pods: Iterable[Object]) -> None:
        """Tells pods to end."""
        for pod in pods:
            self._world.deletion.delete(POD, key_of(pod))
            why = ("SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}")
            self._world.record(JOB, job, why, SOURCE)

    def release(self, job: Object, pods: list[Object]) -> None:
        """Tells pods to end that are not needed (any more); their end counts for nothing."""
        for pod in pods:
            self._world.deletion.drop_finalizer(POD, key_of(pod), TRACKING)
        self.end(job, pods)

    def note(self, job: Object, verdict: Verdict) -> None:
        """Remembers failures, after which the next pod comes later and later."""
        uid, now = job["metadata"]["uid"], self._world.now
        known = self._failures.setdefault(uid, {})
        if verdict.succeeded:
            known.pop(_WHOLE, None)
        for pod in [*verdict.failed, *verdict.ignored]:
            index = index_of(pod)
            counted, ignored = failures_of(pod)
            extra = (0, 1) if pod in verdict.ignored else (1, 0)
            if index is not None:
                counts = counted + extra[0], ignored + extra[1]
                self._counts.setdefault(uid, {})[index] = counts
                known[index] = (sum(counts), now)
        if verdict.failed:
            known[_WHOLE] = (known.get(_WHOLE, (0, now))[0] + len(verdict.failed), now)

    def forget(self, job: Object) -> None:
        """Forgets about a Job that has ended or begins anew."""
        self._failures.pop(job["metadata"]["uid"], None)
        self._counts.pop(job["metadata"]["uid"], None)

    def _add(self, job: Object, indexes: Sequence[int | None], key: int) -> datetime | None:
        known = self._failures.get(job["metadata"]["uid"], {}).get(key)
        if known is not None:
            times, last = known
            delay = min(BACKOFF_SECONDS * 2 ** min(times - 1, 10), LONGEST_BACKOFF_SECONDS)
            if self._world.now < last + seconds(delay):
                return last + seconds(delay)
        made = [self._create(job, index) for index in indexes]
        return None if all(made) else self._world.now + seconds(BACKOFF_SECONDS)

    def _create(self, job: Object, index: int | None) -> bool:
        pod = self._pod(job, index)
        try:
            made = self._world.operations.create(POD, job["metadata"]["namespace"], pod)
        except ApiError as error:
            why = ("FailedCreate", f"Error creating: {error.message}")
            self._world.record(JOB, job, why, SOURCE, warning=True)
            return False
        why = ("SuccessfulCreate", f"Created pod: {made['metadata']['name']}")
        self._world.record(JOB, job, why, SOURCE)
        return True

    def _pod(self, job: Object, index: int | None) -> Object:
        template = job["spec"]["template"]
        labels = dict(template["metadata"].get("labels", {}))
        annotations = dict(template["metadata"].get("annotations", {}))
        spec = dict(template["spec"])
        name, tail = job["metadata"]["name"], "-"
        if index is not None:
            tail = f"-{index}-"
            labels[INDEX] = annotations[INDEX] = str(index)
            annotations |= self._index_notes(job, index)
            spec["hostname"] = f"{name}-{index}"
            for part in ("containers", "initContainers"):
                if spec.get(part):
                    spec[part] = [_with_index(container) for container in spec[part]]
        stem = name[: LONGEST_STEM - len(tail)] + tail
        metadata = {
            "name": stem + self._world.operations.suffix(),
            "generateName": stem,
            "labels": labels,
            "finalizers": [TRACKING],
            "ownerReferences": [owner_reference(job)],
        }
        if annotations:
            metadata["annotations"] = annotations
        return {"metadata": metadata, "spec": spec}

    def _index_notes(self, job: Object, index: int) -> dict[str, str]:
        if job["spec"].get("backoffLimitPerIndex") is None:
            return {}
        counted, ignored = self._counts.get(job["metadata"]["uid"], {}).get(index, (0, 0))
        notes = {FAILURES: str(counted)}
        return notes | ({IGNORED: str(ignored)} if ignored else {})


def owner_reference(owner: Object) -> dict[str, object]:
    """The reference by which an object owns what its controller creates."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _with_index(container: Object) -> Object:
    env = container.get("env") or []
    if any(variable["name"] == "JOB_COMPLETION_INDEX" for variable in env):
        return container
    source = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX}']"}}
    return {**container, "env": [*env, {"name": "JOB_COMPLETION_INDEX", "valueFrom": source}]}


def _wanted(job: Object, active: int) -> int:
    parallelism: int = job["spec"]["parallelism"]
    completions = job["spec"].get("completions")
    succeeded: int = job["status"].get("succeeded", 0)
    if completions is None:
        return parallelism if succeeded == 0 else active
    return max(0, min(parallelism, int(completions) - succeeded))


def _surplus(job: Object, active: list[Object], number: int) -> list[Object]:
    """The pods to end: those beyond the last index, then the youngest of the least far."""
    beyond: list[Object] = []
    if is_indexed(job):
        last = job["spec"]["completions"] - 1
        beyond = [pod for pod in active if (index := index_of(pod)) is None or index > last]
    left = [pod for pod in active if pod not in beyond]
    left.sort(key=lambda pod: pod["metadata"]["creationTimestamp"], reverse=True)
    left.sort(key=_progress)
    return beyond + left[: max(0, number - len(beyond))]


def _progress(pod: Object) -> tuple[bool, bool, bool]:
    return bool(pod["spec"].get("nodeName")), pod["status"]["phase"] == "Running", is_ready(pod)


def _next_indexes(job: Object, pods: list[Object]) -> list[int]:
    status = job["status"]
    taken = read_indexes(status.get("completedIndexes", ""))
    taken |= read_indexes(status.get("failedIndexes") or "")
    late = replaces_failed_only(job)
    busy = [pod for pod in pods if is_active(pod) or (late and is_terminating(pod))]
    taken |= {index for pod in busy if (index := index_of(pod)) is not None}
    return [index for index in range(job["spec"]["completions"]) if index not in taken]
