from dataclasses import replace
from typing import Any

from playground.cluster.control.training import Training
from playground.cluster.kueue.configuration import USUAL_FRAMEWORKS
from tests.playground.cluster.served import PODS, Object, Served, conditions

TORCH = "/apis/kubeflow.org/v1/namespaces/team-a/pytorchjobs"


def torch_job(replicas: int = 2, queue: str = "", **spec: Any) -> Object:
    container = {
        "name": "pytorch",
        "image": "ghcr.io/acme/el2:1",
        "command": ["torchrun", "train.py", "--epochs", "1"],
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
    }
    template = {"spec": {"containers": [container]}}
    worker = {"replicas": replicas, "restartPolicy": "OnFailure", "template": template}
    labels = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    policy = {"rdzvBackend": "c10d", "minReplicas": 1, "maxReplicas": 3, "maxRestarts": 100}
    return {
        "metadata": {"name": "el2", "labels": labels},
        "spec": {
            "elasticPolicy": policy,
            "runPolicy": {"cleanPodPolicy": "Running"},
            "pytorchReplicaSpecs": {"Worker": worker},
            **spec,
        },
    }


def submit(served: Served, body: Object) -> None:
    served.cluster.install("training-operator")
    served.post(TORCH, body)


def shown(served: Served) -> Object:
    return served.get(f"{TORCH}/el2")


def workers(served: Served) -> list[str]:
    return [name for name in served.names(PODS) if name.startswith("el2-")]


def test_elastic_job_runs_and_ends(served: Served) -> None:
    submit(served, torch_job())
    assert workers(served) == ["el2-worker-0", "el2-worker-1"]
    served.pass_time(5)
    assert conditions(shown(served))["Running"] == (
        "True",
        "PyTorchJobRunning",
        "PyTorchJob team-a/el2 is running.",
    )
    env = served.get(f"{PODS}/el2-worker-1")["spec"]["containers"][0]["env"]
    told = {row["name"]: row["value"] for row in env}
    assert told["PET_NNODES"] == "1:3"
    assert told["PET_RDZV_ENDPOINT"] == "el2-worker-0:23456"
    served.pass_time(90)
    assert (
        conditions(shown(served))["Succeeded"][2] == "PyTorchJob team-a/el2 successfully completed."
    )


def test_elastic_job_scales_with_its_replicas(served: Served) -> None:
    submit(served, torch_job())
    served.pass_time(5)
    change = {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 3}}}}
    assert served.patch(f"{TORCH}/el2", change).status_code == 200
    assert len(workers(served)) == 3
    change["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = 1
    served.patch(f"{TORCH}/el2", change)
    served.pass_time(40)
    assert workers(served) == ["el2-worker-0"]


def test_failed_worker_fails_a_job_that_never_restarts(served: Served) -> None:
    served.cluster.behaviours["el2"] = Training(fails_after=5)
    body = torch_job()
    body["spec"]["pytorchReplicaSpecs"]["Worker"]["restartPolicy"] = "Never"
    submit(served, body)
    served.pass_time(20)
    rows = conditions(shown(served))
    assert rows["Failed"][2] == "PyTorchJob el2 is failed because 2 Worker replica(s) failed."
    assert rows["Running"][0] == "False"


def test_kueue_leaves_these_jobs_alone(served: Served) -> None:
    submit(served, torch_job(queue="team-a"))
    served.pass_time(5)
    assert conditions(shown(served))["Running"][0] == "True"
    assert served.cluster.list("workloads", "team-a") == []


def test_kueue_manages_these_jobs_when_told(served: Served) -> None:
    inside = served.cluster.inside
    frameworks = USUAL_FRAMEWORKS | {"pytorchjobs.kubeflow.org"}
    inside.kueue = replace(inside.kueue, frameworks=frameworks)
    submit(served, torch_job(queue="team-a", replicas=13))
    assert shown(served)["spec"]["runPolicy"]["suspend"] is True
    assert workers(served) == []
    assert conditions(shown(served))["Suspended"][0] == "True"
    served.cluster.set_quota("team-a", "16")
    served.pass_time(10)
    assert len(workers(served)) == 13
    assert conditions(shown(served))["Suspended"][0] == "False"
