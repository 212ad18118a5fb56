"""The Job controller."""

from collections.abc import Iterable
from datetime import datetime

from playground.cluster.control.job_counts import (
    Verdict,
    has_failed,
    is_active,
    is_ended,
    is_indexed,
    is_ready,
    is_terminating,
    judge,
    restarts_used_up,
    success_rule,
)
from playground.cluster.control.job_pods import JobPods
from playground.cluster.control.loop import moment_of, seconds
from playground.cluster.control.world import World
from playground.cluster.objects.conditions import condition, is_true, set_condition
from playground.cluster.objects.deletion import TRACKING, DeleteOptions
from playground.cluster.objects.indexes import read_indexes, show_indexes
from playground.cluster.objects.jobs import finished
from playground.cluster.objects.kinds import JOB, POD, Object
from playground.cluster.objects.operations import stamp
from playground.cluster.objects.store import Change, Key, key_of

SOURCE = "job-controller"
Why = tuple[str, str]
_REACHED = ("CompletionsReached", "Reached expected number of succeeded pods")
_BACKOFF = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
SUCCESS, FAILURE = "SuccessCriteriaMet", "FailureTarget"
_INDEXES = ("FailedIndexes", "Job has failed indexes")
_TOO_MANY_INDEXES = (
    "MaxFailedIndexesExceeded",
    "Job has exceeded the specified maximal number of failed indexes",
)
_DEADLINE = ("DeadlineExceeded", "Job was active longer than specified deadline")


class Jobs:
    """Runs Jobs: creates pods, counts how they end, suspends, resumes, completes."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._pods = JobPods(world)

    def wants(self, change: Change) -> Iterable[Key]:
        """Jobs that changed, and the Jobs of pods that changed."""
        if change.kind == JOB.qualified:
            yield change.key
        elif change.kind == POD.qualified:
            for owner in change.obj["metadata"].get("ownerReferences", ()):
                if owner["kind"] == "Job":
                    yield change.key[0], owner["name"]

    def reconcile(self, key: Key) -> None:
        """Brings a Job and its pods one look further."""
        job = self._world.store.edit(JOB, *key)
        if job is None:
            self._world.loop.wake(self, key, None)
            return
        pods = [pod for _, pod in self._world.store.owned_by(job["metadata"]["uid"], POD)]
        if finished(job) or job["metadata"].get("deletionTimestamp"):
            self._release(job, pods)
            return
        if not job["spec"]["suspend"]:
            job["status"].setdefault("startTime", stamp(self._world.now))
        verdict = self._count(job, pods)
        target = self._target(job, pods, verdict)
        if target is None:
            self._run(job, pods)
            target = self._completed(job)
        if target is not None:
            self._finish(job, target, pods)
        self._write(job)

    def _count(self, job: Object, pods: list[Object]) -> Verdict:
        """Adds pods that ended to the status; those counted before carry no finalizer."""
        ended = [
            pod
            for pod in pods
            if TRACKING in pod["metadata"].get("finalizers", ())
            and (is_ended(pod) or has_failed(job, pod))
        ]
        return self._add(job, ended)

    def _add(self, job: Object, ended: list[Object]) -> Verdict:
        verdict = judge(job, ended)
        status = job["status"]
        status["failed"] = status.get("failed", 0) + len(verdict.failed)
        if is_indexed(job):
            completions = job["spec"]["completions"]
            done = read_indexes(status.get("completedIndexes", ""), completions) | verdict.indexes
            status["completedIndexes"] = show_indexes(done)
            status["succeeded"] = len(done)
            if job["spec"].get("backoffLimitPerIndex") is not None:
                failed = read_indexes(status.get("failedIndexes") or "", completions)
                status["failedIndexes"] = show_indexes((failed | verdict.failed_indexes) - done)
        else:
            status["succeeded"] = status.get("succeeded", 0) + verdict.succeeded
        self._pods.note(job, verdict)
        for pod in ended:
            self._world.deletion.drop_finalizer(POD, key_of(pod), TRACKING)
        return verdict

    def _target(self, job: Object, pods: list[Object], verdict: Verdict) -> str | None:
        """How the Job is ending, if it is; the reason is in the condition of that name."""
        for kind in (SUCCESS, FAILURE):
            if condition(job, kind) is not None:
                return kind
        why = failure(job, pods, verdict, self._world.now)
        if why is not None:
            self._condition(job, FAILURE, why)
            return FAILURE
        rule = success_rule(job, read_indexes(job["status"].get("completedIndexes", "")))
        if rule is None:
            return None
        self._condition(job, SUCCESS, ("SuccessPolicy", f"Matched rules at index {rule}"))
        return SUCCESS

    def _completed(self, job: Object) -> str | None:
        pods = [pod for _, pod in self._world.store.owned_by(job["metadata"]["uid"], POD)]
        completions = job["spec"].get("completions")
        succeeded: int = job["status"].get("succeeded", 0)
        enough = succeeded > 0 if completions is None else succeeded >= int(completions)
        if not enough or any(map(is_active, pods)):
            return None
        self._condition(job, SUCCESS, _REACHED)
        return SUCCESS

    def _finish(self, job: Object, target: str, pods: list[Object]) -> None:
        """Tells what still runs to end; the last pod to do so ends the Job."""
        live = self._fresh(pods)
        if target == FAILURE:
            tracked = [p for p in live if TRACKING in p["metadata"].get("finalizers", ())]
            self._add(job, tracked)
        for pod in live:
            self._world.deletion.drop_finalizer(POD, key_of(pod), TRACKING)
        self._pods.end(job, filter(is_active, self._fresh(live)))
        if any(not is_ended(pod) for pod in self._fresh(live)):
            return
        met = condition(job, target) or {}
        why = (met["reason"], met["message"])
        if target == SUCCESS:
            self._condition(job, "Complete", why)
            job["status"]["completionTime"] = stamp(self._world.now)
            self._world.record(JOB, job, ("Completed", "Job completed"), SOURCE)
        else:
            self._condition(job, "Failed", why)
            self._world.record(JOB, job, why, SOURCE, warning=True)

    def _run(self, job: Object, pods: list[Object]) -> None:
        if job["spec"]["suspend"]:
            self._suspend(job, pods)
            return
        if is_true(job, "Suspended"):
            job["status"]["startTime"] = stamp(self._world.now)
            self._condition(job, "Suspended", ("JobResumed", "Job resumed"), status=False)
            self._world.record(JOB, job, ("Resumed", "Job resumed"), SOURCE)
        wakes = [self._pods.match(job, self._fresh(pods))]
        limit = job["spec"].get("activeDeadlineSeconds")
        if limit is not None:
            wakes.append(moment_of(job["status"]["startTime"]) + seconds(limit))
        again = min((moment for moment in wakes if moment is not None), default=None)
        self._world.loop.wake(self, key_of(job), again)

    def _suspend(self, job: Object, pods: list[Object]) -> None:
        self._pods.release(job, [pod for pod in self._fresh(pods) if is_active(pod)])
        if not is_true(job, "Suspended"):
            job["status"].pop("startTime", None)
            self._condition(job, "Suspended", ("JobSuspended", "Job suspended"))
            self._world.record(JOB, job, ("Suspended", "Job suspended"), SOURCE)
        self._world.loop.wake(self, key_of(job), None)

    def _condition(self, job: Object, kind: str, why: Why, *, status: bool = True) -> None:
        set_condition(job, kind, status=status, why=why, now=self._world.now)
        row = condition(job, kind) or {}
        row["lastProbeTime"] = stamp(self._world.now)

    def _write(self, job: Object) -> None:
        pods = [pod for _, pod in self._world.store.owned_by(job["metadata"]["uid"], POD)]
        status = job["status"]
        status |= {
            "active": sum(map(is_active, pods)),
            "ready": sum(is_ready(pod) for pod in pods if is_active(pod)),
            "terminating": sum(map(is_terminating, pods)),
            "uncountedTerminatedPods": {},
        }
        for name in ("active", "succeeded", "failed", "completedIndexes"):
            if not status.get(name):
                status.pop(name, None)
        current = self._world.store.edit(JOB, *key_of(job))
        if current is not None:
            self._world.store.put(JOB, {**current, "status": status})

    def _release(self, job: Object, pods: list[Object]) -> None:
        """Lets the pods of an ended Job go, and the Job itself when its time to live is over."""
        self._pods.forget(job)
        for pod in pods:
            self._world.deletion.drop_finalizer(POD, key_of(pod), TRACKING)
        lifetime = job["spec"].get("ttlSecondsAfterFinished")
        kind = finished(job)
        if kind is None or lifetime is None or job["metadata"].get("deletionTimestamp"):
            self._world.loop.wake(self, key_of(job), None)
            return
        row = condition(job, kind) or {}
        end = moment_of(row["lastTransitionTime"]) + seconds(lifetime)
        if self._world.now < end:
            self._world.loop.wake(self, key_of(job), end)
        else:
            self._world.deletion.delete(JOB, key_of(job), DeleteOptions("Background"))

    def _fresh(self, pods: Iterable[Object]) -> list[Object]:
        found = (self._world.store.get(POD, *key_of(pod)) for pod in pods)
        return [pod for pod in found if pod is not None]


class Tracking:
    """Lets pods go that wait for a Job which is no more."""

    def __init__(self, world: World) -> None:
        self._world = world

    def wants(self, change: Change) -> Iterable[Key]:
        """Pods told to end whose Job may be gone."""
        if change.kind == POD.qualified and change.type == "MODIFIED":
            metadata = change.obj["metadata"]
            if metadata.get("deletionTimestamp") and TRACKING in metadata.get("finalizers", ()):
                yield change.key

    def reconcile(self, key: Key) -> None:
        """Drops the finalizer where nobody is left to count the pod."""
        pod = self._world.store.get(POD, *key)
        owners = pod["metadata"].get("ownerReferences", ()) if pod else ()
        alive = any(owner["uid"] in self._world.store.uids for owner in owners)
        if pod is not None and not alive:
            self._world.deletion.drop_finalizer(POD, key, TRACKING)


def failure(job: Object, pods: list[Object], verdict: Verdict, now: datetime) -> Why | None:
    """Why a Job has failed, if it has."""
    spec, status = job["spec"], job["status"]
    if verdict.fatal:
        return "PodFailurePolicy", verdict.fatal
    if status.get("failed", 0) > spec["backoffLimit"] or restarts_used_up(job, pods):
        return _BACKOFF
    limit = spec.get("activeDeadlineSeconds")
    started = status.get("startTime") if not spec["suspend"] else None
    if limit is not None and started and now >= moment_of(started) + seconds(limit):
        return _DEADLINE
    failed = len(read_indexes(status.get("failedIndexes") or ""))
    if spec.get("maxFailedIndexes") is not None and failed > spec["maxFailedIndexes"]:
        return _TOO_MANY_INDEXES
    if failed and failed + status.get("succeeded", 0) >= spec["completions"]:
        return _INDEXES
    return None
