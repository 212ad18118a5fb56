"""The mpi-operator: a launcher Job and workers that it reaches by SSH."""

from collections.abc import Iterable
from typing import Any

from playground.cluster.control.job_counts import is_ready
from playground.cluster.control.world import World
from playground.cluster.objects.conditions import condition
from playground.cluster.objects.errors import listed
from playground.cluster.objects.jobs import finished
from playground.cluster.objects.kinds import (
    CONFIG_MAP,
    JOB,
    MPI_JOB,
    POD,
    SECRET,
    SERVICE,
    Object,
)
from playground.cluster.objects.operations import stamp
from playground.cluster.objects.store import Change, Key, key_of
from playground.cluster.operators.job_rules import mpi_causes
from playground.cluster.operators.mpi_pods import (
    headless_service,
    host_list,
    launcher_job,
    ssh_keys,
    worker_pod,
)
from playground.cluster.operators.replicas import (
    JOB_NAME,
    clean,
    create,
    in_phase,
    is_over,
    is_suspended,
    pods_of,
    policy_of,
    say,
    write,
)

SOURCE = "mpi-job-controller"
_SUSPENDED = ("MPIJobSuspended", "MPIJob suspended")
_RESUMED = ("MPIJobResumed", "MPIJob resumed")


class MpiJobs:
    """Runs MPIJobs of kubeflow.org/v2beta1."""

    def __init__(self, world: World) -> None:
        self._world = world

    def wants(self, change: Change) -> Iterable[Key]:
        """MPIJobs that changed, and those whose launcher or workers did."""
        if change.kind == MPI_JOB.qualified and change.type != "DELETED":
            yield change.key
        elif change.kind in {JOB.qualified, POD.qualified}:
            for owner in change.obj["metadata"].get("ownerReferences", ()):
                if owner["kind"] == MPI_JOB.kind:
                    yield change.key[0], owner["name"]
            name = (change.obj["metadata"].get("labels") or {}).get(JOB_NAME)
            if change.kind == POD.qualified and name:
                yield change.key[0], name

    def reconcile(self, key: Key) -> None:
        """Brings an MPIJob one look further."""
        job = self._world.store.edit(MPI_JOB, *key)
        if job is None or job["metadata"].get("deletionTimestamp"):
            return
        causes = mpi_causes(job)
        if causes:
            words = f"Found validation errors: {listed(causes)}"
            self._world.record(MPI_JOB, job, ("ValidationError", words), SOURCE, warning=True)
            return
        status = job.setdefault("status", {})
        if not status.get("conditions"):
            self._tell(job, "Created", ("MPIJobCreated", f"MPIJob {'/'.join(key)} is created."))
        if is_over(job) and status.get("completionTime"):
            clean(self._world, job, policy_of(job).get("cleanPodPolicy", "None"))
            write(self._world, MPI_JOB, job, _no_workers)
            return
        if not is_suspended(job):
            status.setdefault("startTime", stamp(self._world.now))
        workers = self._run(job)
        launcher = self._launcher(job)
        if is_suspended(job):
            clean(self._world, job, "Running" if _keeps_ended(job) else "All")
        write(self._world, MPI_JOB, job, lambda obj: self._count(obj, launcher, workers))

    def _run(self, job: Object) -> list[Object]:
        """Creates what is missing; the workers."""
        launcher = self._launcher(job)
        workers: list[Object] = []
        if launcher is None or not finished(launcher):
            for made, body in ((SERVICE, headless_service(job)), (SECRET, ssh_keys(job))):
                create(self._world, MPI_JOB, job, made, body)
            create(self._world, MPI_JOB, job, CONFIG_MAP, host_list(job))
            if not is_suspended(job):
                spec = job["spec"]["mpiReplicaSpecs"].get("Worker") or {}
                bodies = [worker_pod(job, number) for number in range(spec.get("replicas", 0))]
                made_pods = [create(self._world, MPI_JOB, job, POD, body) for body in bodies]
                workers = [pod for pod in made_pods if pod is not None]
            at_once = job["spec"].get("launcherCreationPolicy", "AtStartup") == "AtStartup"
            if launcher is None and (at_once or all(map(is_ready, workers))):
                create(self._world, MPI_JOB, job, JOB, launcher_job(job))
        self._align(job)
        return workers

    def _align(self, job: Object) -> None:
        """Suspends the launcher with its MPIJob, and resumes it with the template of now."""
        launcher, rests = self._launcher(job), is_suspended(job)
        if launcher is None or finished(launcher) or launcher["spec"]["suspend"] == rests:
            return
        template = launcher_job(job)["spec"]["template"]

        def edit(obj: Object) -> None:
            obj["spec"]["suspend"] = rests
            obj["metadata"]["generation"] += 1
            if not rests:
                own = obj["spec"]["template"]["metadata"]["labels"]
                spec, wanted = obj["spec"]["template"]["spec"], template["spec"]
                own |= template["metadata"]["labels"]
                for name in ("nodeSelector", "tolerations", "schedulingGates"):
                    if wanted.get(name):
                        spec[name] = wanted[name]
                    else:
                        spec.pop(name, None)

        self._world.change(JOB, key_of(launcher), edit)

    def _launcher(self, job: Object) -> Object | None:
        space, name = key_of(job)
        return self._world.store.get(JOB, space, f"{name}-launcher")

    def _count(self, job: Object, launcher: Object | None, workers: list[Object]) -> None:
        """Says how far an MPIJob is."""
        place, status = "/".join(key_of(job)), job["status"]
        rests = is_suspended(job)
        if rests:
            self._tell(job, "Suspended", _SUSPENDED)
        elif condition(job, "Suspended") and self._tell(job, "Suspended", _RESUMED, status=False):
            status["startTime"] = stamp(self._world.now)
        launched = self._count_launcher(job, launcher) if launcher else 0
        fresh = [pod for pod in pods_of(self._world, job) if pod in workers] or workers
        running = in_phase(fresh, "Running")
        rows = {"active": running, "succeeded": in_phase(fresh, "Succeeded")}
        rows["failed"] = in_phase(fresh, "Failed")
        replicas = status.setdefault("replicaStatuses", {})
        replicas["Worker"] = {name: value for name, value in rows.items() if value}
        evicted = sum(pod["status"].get("reason") == "Evicted" for pod in fresh)
        if evicted:
            words = f"{evicted}/{len(fresh)} workers are evicted"
            self._tell(job, "Failed", ("MPIJobEvicted", words), warning=True)
        if rests:
            words = f"MPIJob {place} is suspended."
            self._tell(job, "Running", ("MPIJobSuspended", words), status=False, event=False)
        elif launched and running == len(fresh) and not is_over(job):
            self._tell(job, "Running", ("MPIJobRunning", f"MPIJob {place} is running."))

    def _count_launcher(self, job: Object, launcher: Object) -> int:
        pods = pods_of(self._world, launcher)
        running, place = in_phase(pods, "Running"), "/".join(key_of(job))
        row: dict[str, Any] = {"failed": launcher["status"].get("failed", 0)}
        kind = finished(launcher)
        if kind == "Complete":
            row["succeeded"] = 1
            job["status"].setdefault("completionTime", launcher["status"]["completionTime"])
            words = f"MPIJob {place} successfully completed."
            self._tell(job, "Succeeded", ("MPIJobSucceeded", words))
        elif kind == "Failed":
            found = condition(launcher, "Failed") or {}
            reason, words = found["reason"], found["message"]
            last = max(pods, key=lambda pod: str(pod["metadata"]["creationTimestamp"]), default={})
            if reason == "BackoffLimitExceeded" and last:
                reason += f"/{last['status'].get('reason', '')}"
                words += f": {last['status'].get('message', '')}"
            job["status"].setdefault("completionTime", stamp(self._world.now))
            self._tell(job, "Failed", (reason, words), warning=True)
        else:
            row["active"] = running
        statuses = job["status"].setdefault("replicaStatuses", {})
        statuses["Launcher"] = {name: value for name, value in row.items() if value}
        return running

    def _tell(
        self,
        job: Object,
        kind: str,
        why: tuple[str, str],
        *,
        status: bool = True,
        warning: bool = False,
        event: bool = True,
    ) -> bool:
        new = say(self._world, job, kind, why, status=status)
        if new and event:
            self._world.record(MPI_JOB, job, why, SOURCE, warning=warning)
        return new


def _no_workers(job: Object) -> None:
    job["status"].setdefault("replicaStatuses", {})["Worker"] = {}


def _keeps_ended(job: Object) -> bool:
    return bool(policy_of(job).get("cleanPodPolicy") == "Running")
