"""KubeRay's RayJobs: a Ray cluster for each attempt, and a Job that submits the program to it."""

from collections.abc import Iterable

from playground.cluster.control.job_counts import statuses_of
from playground.cluster.control.loop import moment_of, seconds
from playground.cluster.control.world import World
from playground.cluster.objects.deletion import DeleteOptions
from playground.cluster.objects.jobs import finished
from playground.cluster.objects.kinds import JOB, POD, RAY_CLUSTER, RAY_JOB, Object
from playground.cluster.objects.operations import stamp
from playground.cluster.objects.store import Change, Key, key_of
from playground.cluster.operators.ray_clusters import READY, head_address
from playground.cluster.operators.ray_job_rules import ray_job_fault
from playground.cluster.operators.replicas import create, write

SOURCE = "rayjob-controller"
_ENDED = frozenset({"Complete", "Failed", "ValidationFailed"})
_OF_ATTEMPT = ("rayClusterName", "rayClusterStatus", "dashboardURL", "jobId", "message", "reason",
               "jobStatus", "rayJobInfo")  # fmt: skip


class RayJobs:
    """Runs RayJobs of ray.io/v1 in K8sJobMode."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._steps = {
            "": self._initialize,
            "Initializing": self._submit,
            "Running": self._follow,
            "Suspending": self._clean,
            "Retrying": self._clean,
            "Suspended": self._resume,
        }

    def wants(self, change: Change) -> Iterable[Key]:
        """RayJobs that changed, and those whose RayCluster or submitter did."""
        if change.kind == RAY_JOB.qualified and change.type != "DELETED":
            yield change.key
        elif change.kind in {RAY_CLUSTER.qualified, JOB.qualified}:
            for owner in change.obj["metadata"].get("ownerReferences", ()):
                if owner["kind"] == RAY_JOB.kind:
                    yield change.key[0], owner["name"]

    def reconcile(self, key: Key) -> None:
        """Brings a RayJob one look further."""
        job = self._world.store.edit(RAY_JOB, *key)
        if job is None or job["metadata"].get("deletionTimestamp"):
            self._world.loop.wake(self, key, None)
            return
        status = job.setdefault("status", {})
        before = status.get("jobDeploymentStatus", "")
        fault = ray_job_fault(job)
        if before in _ENDED:
            self._shut_down(job)
        elif fault:
            self._say(job, "ValidationFailed", "ValidationFailed", fault)
        elif before in {"Initializing", "Running"} and job["spec"].get("suspend"):
            status["jobDeploymentStatus"] = "Suspending"
        elif not (before in {"Initializing", "Running"} and self._is_late(key, job)):
            self._steps[before](job)
        self._count(job, before)
        write(self._world, RAY_JOB, job, lambda _obj: None)
        if status.get("jobDeploymentStatus", "") != before:
            self._world.loop.mark(self, key)

    def _initialize(self, job: Object) -> None:
        name, suffix = job["metadata"]["name"], self._world.operations.suffix()
        job["status"] |= {
            "jobDeploymentStatus": "Initializing",
            "jobId": f"{name}-{suffix}",
            "rayClusterName": f"{name}-{suffix}",
            "startTime": stamp(self._world.now),
        }

    def _submit(self, job: Object) -> None:
        """Makes the cluster, and the Job that submits once all of it is there."""
        status = job["status"]
        labels = {**(job["metadata"].get("labels") or {}), **_origin(job)}
        body = {
            "metadata": {"name": status["rayClusterName"], "labels": labels},
            "spec": job["spec"]["rayClusterSpec"],
        }
        cluster = create(self._world, RAY_JOB, job, RAY_CLUSTER, body)
        status["rayClusterStatus"] = dict((cluster or {}).get("status") or {})
        if cluster is None or status["rayClusterStatus"].get("state") != READY:
            return
        status["dashboardURL"] = head_address(cluster)
        if create(self._world, RAY_JOB, job, JOB, _submitter(job)) is not None:
            status["jobDeploymentStatus"] = "Running"

    def _follow(self, job: Object) -> None:
        """What Ray says of the program; here that is what becomes of the submitter."""
        status, found = job["status"], self._world.store.get(JOB, *key_of(job))
        if found is None:
            return
        cluster = self._world.store.get(RAY_CLUSTER, key_of(job)[0], status["rayClusterName"])
        status["rayClusterStatus"] = dict((cluster or {}).get("status") or {})
        end = finished(found)
        if end is None:
            status["jobStatus"] = "RUNNING" if found["status"].get("ready") else "PENDING"
        elif end == "Complete":
            status["jobStatus"] = "SUCCEEDED"
            self._say(job, "Complete", "", "Job finished successfully.")
        else:
            status["jobStatus"] = "FAILED"
            words = f"Job entrypoint command failed with exit code {self._code(found)}, last"
            self._say(job, "Failed", "AppFailed", f"{words} available logs (truncated to 20,000"
                      " chars):\n...")  # fmt: skip

    def _code(self, submitter: Object) -> int:
        pods = [pod for _, pod in self._world.store.owned_by(submitter["metadata"]["uid"], POD)]
        ends = [row["state"].get("terminated") for pod in pods for row in statuses_of(pod)]
        return next((int(end["exitCode"]) for end in ends if end), 1)

    def _clean(self, job: Object) -> None:
        """Takes down what an attempt had; the next one begins once all of it is gone."""
        if self._take_down(job, submitter=True):
            return
        status = job["status"]
        is_retry = status["jobDeploymentStatus"] == "Retrying"
        for name in _OF_ATTEMPT:
            status.pop(name, None)
        status["jobDeploymentStatus"] = "" if is_retry else "Suspended"

    def _resume(self, job: Object) -> None:
        if not job["spec"].get("suspend"):
            job["status"]["jobDeploymentStatus"] = ""

    def _shut_down(self, job: Object) -> None:
        if job["spec"].get("shutdownAfterJobFinishes"):
            self._take_down(job, submitter=False)

    def _take_down(self, job: Object, *, submitter: bool) -> bool:
        """Deletes the cluster, and the submitter if told so; whether any of it is still there."""
        owned = list(self._world.store.owned_by(job["metadata"]["uid"]))
        kinds = {RAY_CLUSTER.qualified: RAY_CLUSTER} | ({JOB.qualified: JOB} if submitter else {})
        left = [(kinds[kind], each) for kind, each in owned if kind in kinds]
        for kind, each in left:
            if not each["metadata"].get("deletionTimestamp"):
                self._world.deletion.delete(kind, key_of(each), DeleteOptions("Background"))
        return bool(left)

    def _is_late(self, key: Key, job: Object) -> bool:
        limit = job["spec"].get("activeDeadlineSeconds")
        if limit is None:
            return False
        end = moment_of(job["status"]["startTime"]) + seconds(limit)
        if self._world.now < end:
            self._world.loop.wake(self, key, end)
            return False
        self._say(job, "Failed", "DeadlineExceeded", "The RayJob has passed the"
                  f" activeDeadlineSeconds. ActiveDeadlineSeconds: {limit}")  # fmt: skip
        return True

    def _count(self, job: Object, before: str) -> None:
        """Counts attempts, and has another one made after a failure, unless it came too late."""
        status, limit = job["status"], job["spec"].get("backoffLimit", 0)
        now = status.get("jobDeploymentStatus", "")
        failed = status.get("failed", 0) + (now == "Failed" != before)
        succeeded = status.get("succeeded", 0) + (now == "Complete" != before)
        status |= {"failed": failed, "succeeded": succeeded}
        is_new = now in _ENDED and now != before
        if is_new and now == "Failed" and failed <= limit and status["reason"] == "AppFailed":
            status["jobDeploymentStatus"] = "Retrying"
        elif is_new:
            status["endTime"] = stamp(self._world.now)

    def _say(self, job: Object, deployment: str, reason: str, words: str) -> None:
        job["status"] |= {"jobDeploymentStatus": deployment, "message": words}
        if reason:
            job["status"]["reason"] = reason
        if deployment == "ValidationFailed":
            why = ("InvalidRayJobSpec", words)
            self._world.record(RAY_JOB, job, why, SOURCE, warning=True)


def _submitter(job: Object) -> Object:
    """The Job that hands the program to Ray, and repeats what it says."""
    spec, status = job["spec"], job["status"]
    address = f"http://{status['dashboardURL']}"
    text = (
        f"if ! ray job status --address {address} {status['jobId']} >/dev/null 2>&1 ; then"
        f" ray job submit --address {address} --no-wait --submission-id {status['jobId']} --"
        f" {spec['entrypoint']} ; fi ; ray job logs --address {address} --follow {status['jobId']}"
    )
    template = spec["submitterPodTemplate"]
    first, *others = template["spec"]["containers"]
    command = {"command": ["/bin/bash", "-ce", "--"], "args": [text]}
    first = first if first.get("command") else {**first, **command}
    pod = {**template["spec"], "containers": [first, *others]}
    limit = (spec.get("submitterConfig") or {}).get("backoffLimit", 2)
    body = {"backoffLimit": limit, "template": {**template, "spec": pod}}
    labels = {**_origin(job), "app.kubernetes.io/created-by": "kuberay-operator"}
    return {"metadata": {"name": job["metadata"]["name"], "labels": labels}, "spec": body}


def _origin(job: Object) -> dict[str, str]:
    return {
        "ray.io/originated-from-cr-name": job["metadata"]["name"],
        "ray.io/originated-from-crd": RAY_JOB.kind,
    }
