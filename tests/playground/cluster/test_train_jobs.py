from typing import Any

from playground.cluster.control.training import Training
from tests.playground.cluster.served import PODS, Object, Served, conditions, refusal

TRAIN = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/team-a/trainjobs"
SETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/team-a/jobsets"


def train_job(nodes: int = 2, queue: str = "", runtime: str = "torch-distributed") -> Object:
    trainer: dict[str, Any] = {
        "numNodes": nodes,
        "image": "ghcr.io/acme/tj1:1",
        "command": ["torchrun", "train.py", "--epochs", "1"],
        "resourcesPerNode": {"limits": {"nvidia.com/gpu": "1"}},
    }
    return {
        "metadata": {
            "name": "tj1",
            "labels": {"kueue.x-k8s.io/queue-name": queue} if queue else {},
        },
        "spec": {"runtimeRef": {"name": runtime}, "trainer": trainer},
    }


def submit(served: Served, **settings: Any) -> None:
    served.cluster.install("trainer")
    served.post(TRAIN, train_job(**settings))


def shown(served: Served) -> Object:
    return served.get(f"{TRAIN}/tj1")


def pods(served: Served) -> list[Object]:
    return [p for p in served.get(PODS)["items"] if p["metadata"]["name"].startswith("tj1-")]


def test_train_job_runs_and_completes(served: Served) -> None:
    submit(served)
    served.pass_time(5)
    (row,) = shown(served)["status"]["jobsStatus"]
    assert (row["name"], row["active"], row["ready"]) == ("node", 1, 1)
    assert conditions(shown(served)) == {}
    env = pods(served)[0]["spec"]["containers"][0]["env"]
    told = {item["name"]: item.get("value") for item in env}
    assert (told["PET_NNODES"], told["PET_MASTER_ADDR"]) == ("2", "tj1-node-0-0.tj1")
    served.pass_time(120)
    assert conditions(shown(served))["Complete"] == (
        "True",
        "AllJobsCompleted",
        "jobset completed successfully",
    )


def test_failed_node_fails_a_train_job(served: Served) -> None:
    served.cluster.behaviours["tj1"] = Training(fails_after=5)
    submit(served)
    served.pass_time(7200)
    assert conditions(shown(served))["Failed"] == (
        "True",
        "FailedJobs",
        "jobset failed due to one or more job failures (first failed job: tj1-node-0)",
    )


def test_runtime_that_is_missing_is_named(served: Served) -> None:
    served.cluster.install("trainer")
    code, reason, words = refusal(served.admin.post(TRAIN, json=train_job(runtime="nothing")))
    assert (code, reason) == (403, "Forbidden")
    assert words.endswith(
        'ClusterTrainingRuntime.trainer.kubeflow.org "nothing" not found: specified '
        "clusterTrainingRuntime must be created before the TrainJob is created"
    )


def test_suspended_train_job_rests(served: Served) -> None:
    submit(served)
    served.pass_time(5)
    served.patch(f"{TRAIN}/tj1", {"spec": {"suspend": True}})
    served.pass_time(40)
    assert pods(served) == []
    assert conditions(shown(served))["Suspended"][:2] == ("True", "Suspended")
    served.patch(f"{TRAIN}/tj1", {"spec": {"suspend": False}})
    served.pass_time(5)
    assert len(pods(served)) == 2
    assert conditions(shown(served))["Suspended"][:2] == ("False", "Resumed")


def test_deadline_ends_a_train_job(served: Served) -> None:
    served.cluster.behaviours["tj1"] = Training(never_ends=True)
    served.cluster.install("trainer")
    body = train_job()
    body["spec"]["activeDeadlineSeconds"] = 60
    served.post(TRAIN, body)
    served.pass_time(120)
    assert conditions(shown(served))["Failed"][1] == "DeadlineExceeded"
    assert pods(served) == []


def test_queued_train_job_waits_and_runs(served: Served) -> None:
    submit(served, nodes=13, queue="team-a")
    assert shown(served)["spec"]["suspend"] is True
    (workload,) = served.cluster.list("workloads", "team-a")
    assert [(row["name"], row["count"]) for row in workload["spec"]["podSets"]] == [("node", 13)]
    assert pods(served) == []
    served.cluster.set_quota("team-a", "16")
    served.pass_time(10)
    assert {p["spec"]["nodeSelector"]["nvidia.com/gpu.product"] for p in pods(served)} == {
        "NVIDIA-H100-80GB-HBM3"
    }
    served.pass_time(120)
    (workload,) = served.cluster.list("workloads", "team-a")
    assert conditions(workload)["Finished"][1] == "Succeeded"


def test_launcher_of_a_job_set_waits_for_workers(served: Served) -> None:
    served.cluster.install("jobset")
    served.cluster.behaviours["worker"] = Training(never_ends=True)

    def row(name: str, image: str, **more: Any) -> Object:
        pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": image}]}
        return {"name": name, "template": {"spec": {"template": {"spec": pod}}}, **more}

    rows = [
        row("worker", "worker:1"),
        row("launcher", "lane:1", dependsOn=[{"name": "worker", "status": "Ready"}]),
    ]
    policy = {"operator": "All", "targetReplicatedJobs": ["launcher"]}
    spec = {"replicatedJobs": rows, "successPolicy": policy}
    served.post(SETS, {"metadata": {"name": "js1"}, "spec": spec})
    jobs = "/apis/batch/v1/namespaces/team-a/jobs"
    assert served.names(jobs) == ["js1-worker-0"]
    served.pass_time(5)
    assert served.names(jobs) == ["js1-launcher-0", "js1-worker-0"]
    served.pass_time(120)
    assert served.get(f"{SETS}/js1")["status"]["terminalState"] == "Completed"
    assert served.names(jobs) == ["js1-launcher-0"]
