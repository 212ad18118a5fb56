"""RayJobs as KubeRay runs them: a cluster for each attempt, and a Job that submits."""

from typing import Any

from playground.cluster.control.training import Training
from tests.playground.cluster.served import PODS, Object, Served

RAY = "/apis/ray.io/v1/namespaces/team-a/rayjobs"
CLUSTERS = "/apis/ray.io/v1/namespaces/team-a/rayclusters"
IMAGE = "ghcr.io/acme/rj1:1"


def pod(**resources: str) -> Object:
    container: Object = {"name": "main", "image": IMAGE}
    if resources:
        container["resources"] = {"limits": {"nvidia.com/gpu": resources["gpus"]}}
    return {"spec": {"restartPolicy": "Never", "containers": [container]}}


def ray_job(queue: str = "", **more: Any) -> Object:
    group = {
        "groupName": "workers",
        "replicas": 2,
        "minReplicas": 2,
        "maxReplicas": 2,
        "rayStartParams": {},
        "template": pod(gpus="1"),
    }
    head = {"rayStartParams": {}, "template": pod()}
    return {
        "metadata": {
            "name": "rj1",
            "labels": {"kueue.x-k8s.io/queue-name": queue} if queue else {},
        },
        "spec": {
            "entrypoint": "python tune.py --epochs 1",
            "shutdownAfterJobFinishes": True,
            "submitterPodTemplate": pod(),
            "submitterConfig": {"backoffLimit": 0},
            "rayClusterSpec": {"headGroupSpec": head, "workerGroupSpecs": [group]},
            **more,
        },
    }


def submit(served: Served, **more: Any) -> None:
    served.cluster.install("kuberay")
    served.post(RAY, ray_job(**more))


def status(served: Served) -> Object:
    found: Object = served.get(f"{RAY}/rj1")["status"]
    return found


def state(served: Served) -> tuple[str, str]:
    shown = status(served)
    return shown.get("jobDeploymentStatus", ""), shown.get("jobStatus", "")


def pods(served: Served) -> list[str]:
    """The parts of the cluster and the submitter that have pods."""
    found = [p["metadata"] for p in served.get(PODS)["items"]]
    return sorted(m["labels"].get("ray.io/node-type", "submitter") for m in found)


def test_a_ray_job_runs_and_leaves_its_submitter(served: Served) -> None:
    submit(served)
    served.pass_time(10)
    assert pods(served) == ["head", "submitter", "worker", "worker"]
    assert state(served) == ("Running", "RUNNING")
    (cluster,) = served.get(CLUSTERS)["items"]
    assert cluster["metadata"]["name"] == status(served)["rayClusterName"]
    assert cluster["status"]["state"] == "ready"
    served.pass_time(120)
    assert state(served) == ("Complete", "SUCCEEDED")
    assert pods(served) == ["submitter"]
    assert served.get(CLUSTERS)["items"] == []


def test_a_failed_program_gets_another_cluster(served: Served) -> None:
    served.cluster.behaviours["rj1"] = Training(fails_after=20, exit_code=3)
    submit(served, backoffLimit=1)
    served.pass_time(10)
    first = status(served)["rayClusterName"]
    served.pass_time(40)
    assert status(served)["failed"] == 1
    assert status(served)["rayClusterName"] != first
    served.pass_time(120)
    shown = status(served)
    assert (shown["failed"], state(served)) == (2, ("Failed", "FAILED"))
    assert shown["reason"] == "AppFailed"
    assert shown["message"].startswith("Job entrypoint command failed with exit code 3, last")


def test_a_suspended_ray_job_has_no_pods(served: Served) -> None:
    submit(served)
    served.pass_time(10)
    served.patch(f"{RAY}/rj1", {"spec": {"suspend": True}})
    served.pass_time(60)
    assert (state(served), pods(served)) == (("Suspended", ""), [])
    served.patch(f"{RAY}/rj1", {"spec": {"suspend": False}})
    served.pass_time(10)
    assert pods(served) == ["head", "submitter", "worker", "worker"]


def test_a_deadline_ends_a_ray_job_for_good(served: Served) -> None:
    served.cluster.behaviours["rj1"] = Training(never_ends=True)
    submit(served, activeDeadlineSeconds=60, backoffLimit=2)
    served.pass_time(120)
    shown = status(served)
    assert (shown["reason"], shown["failed"], state(served)[0]) == ("DeadlineExceeded", 1, "Failed")
    assert "head" not in pods(served)


def test_what_kuberay_refuses_is_in_the_status(served: Served) -> None:
    submit(served, suspend=True, shutdownAfterJobFinishes=False)
    assert status(served)["message"] == (
        "The RayJob spec is invalid: a RayJob with shutdownAfterJobFinishes set to false is not"
        " allowed to be suspended"
    )
    assert state(served)[0] == "ValidationFailed"


def test_a_queued_ray_job_is_one_workload(served: Served) -> None:
    submit(served, queue="team-a")
    assert served.get(f"{RAY}/rj1")["spec"]["suspend"] is False
    (workload,) = served.cluster.list("workloads", "team-a")
    sets = [(row["name"], row["count"]) for row in workload["spec"]["podSets"]]
    assert sets == [("head", 1), ("workers", 2), ("submitter", 1)]
    served.pass_time(130)
    (workload,) = served.cluster.list("workloads", "team-a")
    ends = {row["type"]: row["status"] for row in workload["status"]["conditions"]}
    assert ends["Finished"] == "True"
