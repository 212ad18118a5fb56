"""Kueue and jobs: suspends them at creation, gives each a Workload, starts and stops them."""

from collections.abc import Callable, Iterable
from typing import Any

from playground.cluster.control.loop import moment_of, seconds
from playground.cluster.control.world import World
from playground.cluster.kueue.admission import local_queue_of, queue_of
from playground.cluster.kueue.configuration import Configuration
from playground.cluster.kueue.frameworks import Framework
from playground.cluster.kueue.joining import priority_for
from playground.cluster.kueue.returning import (
    REACTIVATED,
    RETURN_WORDS,
    come_back,
    end_of_backoff,
    give_up_start,
    latest_start,
)
from playground.cluster.kueue.slices import Slices, is_elastic
from playground.cluster.kueue.starting import start_job, stop_job
from playground.cluster.kueue.transitions import EVICTION_WORDS, evict, give_back, say
from playground.cluster.kueue.workloads import (
    FINALIZER,
    QUEUE_LABEL,
    is_evicted,
    is_finished,
    is_reserved,
    new_workload,
    workload_name,
)
from playground.cluster.objects.conditions import condition
from playground.cluster.objects.kinds import (
    CLUSTER_QUEUE,
    LOCAL_QUEUE,
    WORKLOAD,
    Object,
)
from playground.cluster.objects.store import Change, Key, key_of

_ARE_READY = "All pods reached readiness and the workload is running"
_NOT_READY = ("WaitForStart", "Not all pods are ready or succeeded")
_RECOVERING = ("WaitForRecovery", "At least one pod has failed, waiting for recovery")


class QueuedJobs:
    """Keeps each queued job of one kind and its Workload in step."""

    def __init__(
        self, world: World, configuration: Callable[[], Configuration], framework: Framework
    ) -> None:
        self._world = world
        self._framework = framework
        self._kind = framework.kind
        self._slices = Slices(world)
        self._configuration = configuration

    def wants(self, change: Change) -> Iterable[Key]:
        """Jobs that changed, and Jobs whose Workload or queue did."""
        if not self._configuration().manages(self._kind.qualified):
            return
        if change.kind == self._kind.qualified:
            yield change.key
        elif change.kind == WORKLOAD.qualified:
            for owner in change.obj["metadata"].get("ownerReferences", ()):
                if owner["kind"] == self._kind.kind:
                    yield change.key[0], owner["name"]
        elif change.kind in {CLUSTER_QUEUE.qualified, LOCAL_QUEUE.qualified}:
            yield from self._affected(change)

    def reconcile(self, key: Key) -> None:
        """Brings a Job in step with its Workload."""
        job = self._world.store.get(self._kind, *key)
        queue = (job["metadata"].get("labels") or {}).get(QUEUE_LABEL) if job else None
        if job is None or not queue:
            self._let_go(key)
            return
        workload = self._workload(job)
        if workload is None:
            return
        if self._framework.ended(job):
            self._finish(job, workload)
        elif workload["metadata"].get("deletionTimestamp"):
            stop_job(self._world, self._framework, job, workload)
            self._world.deletion.drop_finalizer(WORKLOAD, key_of(workload), FINALIZER)
        else:
            self._follow(key, job, workload)

    def _affected(self, change: Change) -> list[Key]:
        before = (change.before or {}).get("spec", {}).get("stopPolicy")
        if change.obj.get("spec", {}).get("stopPolicy") == before:
            return []
        return [
            (workload["metadata"]["namespace"], owner["name"])
            for workload in self._world.store.all(WORKLOAD)
            for owner in workload["metadata"].get("ownerReferences", ())
            if owner["kind"] == self._kind.kind
        ]

    def _workload(self, job: Object) -> Object | None:
        space, name = job["metadata"]["namespace"], workload_name(job)
        found = self._world.store.get(WORKLOAD, space, name)
        if self._framework.ended(job) or job["metadata"].get("deletionTimestamp"):
            return found
        sets = self._framework.pod_sets(job)
        if found is not None and self._configuration().elastic and is_elastic(job):
            return (
                self._slices.follow(job, sets, priority_for(self._world, self._framework, job))
                or found
            )
        if found is not None:
            return self._matching(job, found, sets)
        priority, reference = priority_for(self._world, self._framework, job)
        made = self._world.operations.create(
            WORKLOAD,
            space,
            new_workload(job, sets, priority, reference),
        )
        why = ("CreatedWorkload", f"Created Workload: {space}/{name}")
        self._world.record(self._kind, job, why, self._framework.source)
        return made

    def _matching(self, job: Object, workload: Object, sets: list[dict[str, Any]]) -> Object:
        """A job's Workload; one that no longer counts the job's pods is made anew."""
        wanted = {row["name"]: row["count"] for row in sets}
        if wanted == {row["name"]: row["count"] for row in workload["spec"]["podSets"]}:
            return workload
        place = "/".join(key_of(workload))
        if not is_reserved(workload) and self._framework.suspended(job):
            change = {"podSets": sets}
            kept = self._world.change(
                WORKLOAD, key_of(workload), lambda obj: obj["spec"].update(change)
            )
            return kept or workload
        if not workload["metadata"].get("deletionTimestamp"):
            self._world.deletion.delete(WORKLOAD, key_of(workload))
            why = ("DeletedWorkload", f"Deleted not matching Workload: {place}")
            self._world.record(self._kind, job, why, self._framework.source)
        return self._world.store.get(WORKLOAD, *key_of(workload)) or workload

    def _follow(self, key: Key, job: Object, workload: Object) -> None:
        reason = self._eviction(workload)
        if reason:
            self._evict(workload, reason)
            return
        if is_evicted(workload) and is_reserved(workload):
            stop_job(self._world, self._framework, job, workload)
            if not self._still_runs(key):
                self._return_quota(workload)
        elif is_reserved(workload):
            start_job(self._world, self._framework, job, workload)
            self._pods_ready(job, workload)
            self._limit_time(key, workload)
            self._limit_start(key)
        else:
            stop_job(self._world, self._framework, job, workload)
            self._pods_ready(job, workload)
            self._requeue(key, workload)

    def _eviction(self, workload: Object) -> str:
        """Why a Workload that holds quota must give it back, if it must."""
        if is_evicted(workload):
            return ""
        if not workload["spec"].get("active", True):
            return "Deactivated"
        if not is_reserved(workload):
            return ""
        for obj, reason in (
            (queue_of(self._world, workload), "ClusterQueueStopped"),
            (local_queue_of(self._world, workload), "LocalQueueStopped"),
        ):
            if obj is not None and obj["spec"].get("stopPolicy") == "HoldAndDrain":
                return reason
        return ""

    def _evict(self, workload: Object, reason: str) -> None:
        message = EVICTION_WORDS[reason]
        row = condition(workload, "DeactivationTarget")
        if reason == "Deactivated" and row:
            reason, message = (
                f"DeactivatedDueTo{row['reason']}",
                f"{message} due to {row['message']}",
            )

        def edit(obj: Object) -> None:
            evict(obj, reason, message, self._world.now)
            if not is_reserved(obj):
                self._send_back(obj)

        kept = self._world.change(WORKLOAD, key_of(workload), edit)
        if kept is not None:
            self._world.record(
                WORKLOAD, kept, (f"EvictedDueTo{reason}", message), self._framework.source
            )

    def _return_quota(self, workload: Object) -> None:
        self._world.change(WORKLOAD, key_of(workload), self._send_back)

    def _send_back(self, workload: Object) -> None:
        reason = self._configuration().reason("PendingEvaluation")
        give_back(workload, reason, self._world.now)

    def _requeue(self, key: Key, workload: Object) -> None:
        """Sends a Workload back in line when what kept it out is over."""
        row = condition(workload, "Requeued")
        if row is None or row["status"] == "True" or not workload["spec"].get("active", True):
            return
        queue, local = queue_of(self._world, workload), local_queue_of(self._world, workload)
        stopped = any(o and o["spec"].get("stopPolicy", "None") != "None" for o in (queue, local))
        due = end_of_backoff(workload)
        if due is not None and due > self._world.now:
            self._world.loop.wake(self, key, due)
        elif not stopped:
            why, now = RETURN_WORDS.get(row["reason"], REACTIVATED), self._world.now
            self._world.change(WORKLOAD, key_of(workload), lambda obj: come_back(obj, why, now))

    def _still_runs(self, key: Key) -> bool:
        job = self._world.store.get(self._kind, *key)
        return bool(job and self._framework.active(job))

    def _pods_ready(self, job: Object, workload: Object) -> None:
        count = sum(pods["count"] for pods in workload["spec"]["podSets"])
        ready = is_reserved(workload) and self._framework.ready(job, count)
        row = condition(workload, "PodsReady")
        why = _readiness(workload, row, ready=ready)
        if row is not None and row["reason"] == why[0]:
            return
        now = self._world.now
        self._world.change(
            WORKLOAD, key_of(workload), lambda obj: say(obj, "PodsReady", now, why, status=ready)
        )

    def _limit_time(self, key: Key, workload: Object) -> None:
        limit = workload["spec"].get("maximumExecutionTimeSeconds")
        row = condition(workload, "Admitted")
        if limit is None or row is None or row["status"] != "True":
            return
        used = workload["status"].get("accumulatedPastExecutionTimeSeconds", 0)
        end = moment_of(row["lastTransitionTime"]) + seconds(limit - used)
        if self._world.now < end:
            self._world.loop.wake(self, key, end)
            return
        now = self._world.now
        why = ("MaximumExecutionTimeExceeded", "exceeding the maximum execution time")

        def edit(obj: Object) -> None:
            say(obj, "DeactivationTarget", now, why)
            obj["spec"]["active"] = False

        self._world.change(WORKLOAD, key_of(workload), edit)

    def _limit_start(self, key: Key) -> None:
        """Sends a Workload away whose pods take too long, for longer each time."""
        rule, job = self._configuration().pods_ready, self._world.store.get(self._kind, *key)
        workload = self._workload(job) if job else None
        latest = latest_start(workload, rule) if workload else None
        if workload is None or latest is None:
            return
        if self._world.now < latest:
            self._world.loop.wake(self, key, latest)
            return
        message = f"Exceeded the PodsReady timeout {'/'.join(key_of(workload))}"
        now = self._world.now
        kept = self._world.change(
            WORKLOAD, key_of(workload), lambda obj: give_up_start(obj, rule, message, now)
        )
        if kept is not None and is_evicted(kept):
            why = ("EvictedDueToPodsReadyTimeout", message)
            self._world.record(WORKLOAD, kept, why, self._framework.source)

    def _finish(self, job: Object, workload: Object) -> None:
        if is_finished(workload):
            self._world.deletion.drop_finalizer(WORKLOAD, key_of(workload), FINALIZER)
            return
        well, message = self._framework.ended(job) or (True, "")
        reason = "Succeeded" if well else "Failed"
        now = self._world.now
        self._world.change(
            WORKLOAD, key_of(workload), lambda obj: say(obj, "Finished", now, (reason, message))
        )

    def _let_go(self, key: Key) -> None:
        """Lets Workloads go whose Job is gone."""
        for workload in list(self._world.store.all(WORKLOAD, key[0])):
            owners = workload["metadata"].get("ownerReferences", ())
            gone = not any(o["uid"] in self._world.store.uids for o in owners)
            if gone and workload["metadata"].get("deletionTimestamp"):
                self._world.deletion.drop_finalizer(WORKLOAD, key_of(workload), FINALIZER)


def _readiness(workload: Object, row: dict[str, Any] | None, *, ready: bool) -> tuple[str, str]:
    """What the condition PodsReady says next; pods that were ready once recover."""
    before = row["reason"] if row else ""
    if ready:
        has_recovered = before in {"WaitForRecovery", "Recovered"}
        return "Recovered" if has_recovered else "Started", _ARE_READY
    was_ready = before in {"Started", "Recovered", "WaitForRecovery"}
    return _RECOVERING if was_ready and is_reserved(workload) else _NOT_READY
