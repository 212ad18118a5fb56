"""Kueue and TrainJobs: pod sets come from a runtime, and flavors go in as a runtime patch."""

from collections.abc import Iterable
from typing import Any

from playground.cluster.kueue.frameworks import Framework, Info
from playground.cluster.objects.conditions import condition
from playground.cluster.objects.kinds import TRAIN_JOB, Object
from playground.cluster.objects.store import Store
from playground.cluster.operators.trainer import job_set_for, runtime_of

MANAGER = "kueue.x-k8s.io/manager"


def train_jobs(store: Store) -> Framework:
    """TrainJobs as Kueue sees them, with the runtimes of this cluster."""

    def rows(job: Object) -> list[dict[str, Any]]:
        runtime = runtime_of(store, job)
        if runtime is None:
            return []
        found: list[dict[str, Any]] = job_set_for(_plain(job), runtime)["spec"]["replicatedJobs"]
        return found

    def counted(job: Object) -> list[tuple[str, int]]:
        return [
            (row["name"], row.get("replicas", 1) * row["template"]["spec"].get("parallelism", 1))
            for row in rows(job)
        ]

    return Framework(
        TRAIN_JOB,
        "trainer.kubeflow.org/trainjob-kueue-controller",
        lambda job: bool(job["spec"].get("suspend")),
        _suspend,
        counted,
        lambda job: [row["template"]["spec"]["template"] for row in rows(job)],
        _ended,
        lambda job: any(row.get("active") for row in _status(job)),
        _ready,
        _merge,
        _restore,
    )


def _plain(job: Object) -> Object:
    """A TrainJob without what Kueue has put in."""
    patches = job["spec"].get("runtimePatches") or ()
    kept = [patch for patch in patches if patch.get("manager") != MANAGER]
    return {**job, "spec": {**job["spec"], "runtimePatches": kept}}


def _suspend(job: Object, suspended: bool) -> None:  # noqa: FBT001 -- the field's own value
    job["spec"]["suspend"] = suspended


def _status(job: Object) -> list[dict[str, Any]]:
    return (job.get("status") or {}).get("jobsStatus") or []


def _ready(job: Object, _count: int) -> bool:
    rows = _status(job)
    return bool(rows) and all(row.get("ready", 0) + row.get("succeeded", 0) > 0 for row in rows)


def _ended(job: Object) -> tuple[bool, str] | None:
    for kind in ("Complete", "Failed"):
        row = condition(job, kind)
        if row is not None and row["status"] == "True":
            return kind == "Complete", row["message"]
    return None


def _merge(job: Object, infos: Iterable[Info]) -> None:
    rows = [
        {
            "name": info.name,
            "template": {
                "spec": {
                    "template": {
                        "metadata": {"labels": info.labels, "annotations": info.annotations},
                        "spec": {"nodeSelector": info.nodes, "tolerations": info.tolerations},
                    }
                }
            },
        }
        for info in infos
    ]
    spec = {"template": {"spec": {"replicatedJobs": rows}}}
    _restore(job)
    job["spec"]["runtimePatches"].append({"manager": MANAGER, "trainingRuntimeSpec": spec})


def _restore(job: Object) -> None:
    job["spec"]["runtimePatches"] = _plain(job)["spec"]["runtimePatches"]
