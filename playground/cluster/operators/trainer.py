"""Kubeflow Trainer: TrainJobs, which run as JobSets made from a training runtime."""

from collections.abc import Iterable
from typing import Any

from playground.cluster.control.loop import moment_of, seconds
from playground.cluster.control.world import World
from playground.cluster.objects.conditions import condition, is_true, set_condition
from playground.cluster.objects.kinds import (
    CLUSTER_RUNTIME,
    JOB_SET,
    RUNTIME,
    TRAIN_JOB,
    Object,
)
from playground.cluster.objects.ownership import overlay
from playground.cluster.objects.store import Change, Key, Store, key_of
from playground.cluster.operators.replicas import create, write

SOURCE = "trainjob-controller"
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
PORT = 29500
_RESTS = ("Suspended", "TrainJob is suspended")
_RESUMES = ("Resumed", "TrainJob is resumed")
_LATE = ("DeadlineExceeded", "TrainJob exceeded its active deadline")


class TrainJobs:
    """Runs TrainJobs of trainer.kubeflow.org/v1alpha1."""

    def __init__(self, world: World) -> None:
        self._world = world

    def wants(self, change: Change) -> Iterable[Key]:
        """TrainJobs that changed, and those whose JobSet did."""
        if change.kind in {TRAIN_JOB.qualified, JOB_SET.qualified}:
            yield change.key

    def reconcile(self, key: Key) -> None:
        """Brings a TrainJob one look further."""
        job = self._world.store.edit(TRAIN_JOB, *key)
        if job is None or job["metadata"].get("deletionTimestamp"):
            self._world.loop.wake(self, key, None)
            return
        job.setdefault("status", {})
        if not is_ended(job):
            self._follow(job)
            self._suspended(job)
        found = self._world.store.get(JOB_SET, *key)
        if found is not None:
            self._copy(job, found)
        self._limit(key, job)
        write(self._world, TRAIN_JOB, job, lambda _obj: None)

    def _follow(self, job: Object) -> None:
        """Makes the JobSet, and makes it anew while both rest."""
        runtime = runtime_of(self._world.store, job)
        if runtime is None:
            return
        wanted = job_set_for(job, runtime)
        found = create(self._world, TRAIN_JOB, job, JOB_SET, wanted)
        rests = bool(job["spec"].get("suspend"))
        if found is None or (not rests and not found["spec"].get("suspend")):
            return
        if found["spec"] != wanted["spec"]:

            def edit(obj: Object) -> None:
                obj["spec"] = wanted["spec"]
                obj["metadata"]["generation"] += 1

            self._world.change(JOB_SET, key_of(found), edit)

    def _suspended(self, job: Object) -> None:
        rests = bool(job["spec"].get("suspend"))
        if rests or is_true(job, "Suspended"):
            why = _RESTS if rests else _RESUMES
            set_condition(job, "Suspended", status=rests, why=why, now=self._world.now)

    def _copy(self, job: Object, found: Object) -> None:
        for theirs, ours in (("Completed", "Complete"), ("Failed", "Failed")):
            row = condition(found, theirs)
            if row is not None and row["status"] == "True":
                why = (row["reason"], row["message"])
                set_condition(job, ours, status=True, why=why, now=self._world.now)
        rows = (found.get("status") or {}).get("replicatedJobsStatus") or []
        if rows:
            job["status"]["jobsStatus"] = rows

    def _limit(self, key: Key, job: Object) -> None:
        limit = job["spec"].get("activeDeadlineSeconds")
        if not limit or is_ended(job) or job["spec"].get("suspend"):
            self._world.loop.wake(self, key, None)
            return
        row = condition(job, "Suspended") or {}
        since = row.get("lastTransitionTime") or job["metadata"]["creationTimestamp"]
        end = moment_of(since) + seconds(limit)
        if self._world.now < end:
            self._world.loop.wake(self, key, end)
            return
        set_condition(job, "Failed", status=True, why=_LATE, now=self._world.now)
        if self._world.store.get(JOB_SET, *key) is not None:
            self._world.deletion.delete(JOB_SET, key)


def is_ended(job: Object) -> bool:
    """Whether a TrainJob has ended."""
    return is_true(job, "Complete") or is_true(job, "Failed")


def runtime_of(store: Store, job: Object) -> Object | None:
    """The runtime a TrainJob names, if there is one."""
    wanted = job["spec"]["runtimeRef"]
    if wanted.get("kind", CLUSTER_RUNTIME.kind) == CLUSTER_RUNTIME.kind:
        return store.get(CLUSTER_RUNTIME, "", wanted["name"])
    return store.get(RUNTIME, job["metadata"]["namespace"], wanted["name"])


def job_set_for(job: Object, runtime: Object) -> Object:
    """The JobSet that a TrainJob runs as."""
    name = job["metadata"]["name"]
    spec = dict(runtime["spec"]["template"]["spec"])
    patches = _patches(job)
    spec["replicatedJobs"] = [
        _replicated(job, runtime, overlay(row, patches.get(row["name"], {})))
        for row in spec["replicatedJobs"]
    ]
    spec["suspend"] = bool(job["spec"].get("suspend"))
    spec.setdefault("network", {"publishNotReadyAddresses": True})
    return {"metadata": {"name": name, "namespace": job["metadata"]["namespace"]}, "spec": spec}


def _patches(job: Object) -> dict[str, Any]:
    """What runtime patches lay over each replicated Job, the later ones last."""
    merged: dict[str, Any] = {}
    for patch in job["spec"].get("runtimePatches") or ():
        template = (patch.get("trainingRuntimeSpec") or {}).get("template") or {}
        for row in (template.get("spec") or {}).get("replicatedJobs") or ():
            merged[row["name"]] = overlay(merged.get(row["name"], {}), row)
    return merged


def _replicated(job: Object, runtime: Object, row: dict[str, Any]) -> dict[str, Any]:
    labels = (row["template"].get("metadata") or {}).get("labels") or {}
    if labels.get(STEP) != "trainer":
        return row
    trainer = job["spec"].get("trainer") or {}
    usual = (runtime["spec"].get("mlPolicy") or {}).get("numNodes", 1)
    nodes = trainer.get("numNodes", usual)
    template = row["template"]
    spec = {**template["spec"], "parallelism": nodes, "completions": nodes}
    pods = spec["template"]
    containers = [
        _container(job, trainer, each, nodes) if each["name"] == "node" else each
        for each in pods["spec"]["containers"]
    ]
    spec["template"] = {**pods, "spec": {**pods["spec"], "containers": containers}}
    return {**row, "replicas": 1, "template": {**template, "spec": spec}}


def _container(job: Object, trainer: Any, container: Any, nodes: int) -> Any:
    name = job["metadata"]["name"]
    given = {key: trainer[key] for key in ("image", "command", "args") if trainer.get(key)}
    if trainer.get("resourcesPerNode"):
        given["resources"] = trainer["resourcesPerNode"]
    path = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
    env = [
        *(container.get("env") or ()),
        *(trainer.get("env") or ()),
        {"name": "PET_NNODES", "value": str(nodes)},
        {"name": "PET_NPROC_PER_NODE", "value": str(trainer.get("numProcPerNode", "auto"))},
        {"name": "PET_NODE_RANK", "valueFrom": {"fieldRef": {"fieldPath": path}}},
        {"name": "PET_MASTER_ADDR", "value": f"{name}-node-0-0.{name}"},
        {"name": "PET_MASTER_PORT", "value": str(PORT)},
    ]
    return {**container, **given, "env": env, "ports": [{"containerPort": PORT}]}
