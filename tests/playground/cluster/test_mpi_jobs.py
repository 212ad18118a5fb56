from typing import Any

from playground.cluster.control.training import Training
from tests.playground.cluster.served import PODS, Object, Served, conditions, refusal

MPI = "/apis/kubeflow.org/v2beta1/namespaces/team-a/mpijobs"


def mpi_job(name: str = "lane", workers: int = 2, queue: str = "", **policy: Any) -> Object:
    launcher = {
        "name": "launcher",
        "image": "ghcr.io/acme/lane:3.1",
        "command": ["mpirun", "-np", str(workers), "python", "train.py", "--epochs", "1"],
        "resources": {"limits": {"cpu": "1", "memory": "2Gi"}},
    }
    worker = {
        "name": "worker",
        "image": "ghcr.io/acme/lane:3.1",
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
    }
    return {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {
            "name": name,
            "labels": {"kueue.x-k8s.io/queue-name": queue} if queue else {},
        },
        "spec": {
            "slotsPerWorker": 1,
            "launcherCreationPolicy": "WaitForWorkersReady",
            "runPolicy": {"cleanPodPolicy": "Running", "backoffLimit": 0, **policy},
            "mpiReplicaSpecs": {
                "Launcher": {"replicas": 1, "template": {"spec": {"containers": [launcher]}}},
                "Worker": {"replicas": workers, "template": {"spec": {"containers": [worker]}}},
            },
        },
    }


def submit(served: Served, **settings: Any) -> Object:
    served.cluster.install("mpi-operator")
    return served.post(MPI, mpi_job(**settings))


def shown(served: Served) -> Object:
    return served.get(f"{MPI}/lane")


def pods(served: Served) -> list[str]:
    names: list[str] = served.names(PODS)
    return sorted(name for name in names if name.startswith("lane-"))


def test_unknown_kind_where_no_operator_is(served: Served) -> None:
    assert served.admin.post(MPI, json=mpi_job()).status_code == 404
    groups = [group["name"] for group in served.get("/apis")["groups"]]
    assert "kubeflow.org" not in groups


def test_operator_of_another_version_is_seen(served: Served) -> None:
    served.cluster.install("training-operator")
    rows = served.get("/apis/kubeflow.org/v1")["resources"]
    assert {row["kind"] for row in rows} == {"MPIJob", "PyTorchJob"}
    assert served.admin.post(MPI, json=mpi_job()).status_code == 404
    served.cluster.install("mpi-operator")
    assert served.admin.post(MPI, json=mpi_job()).status_code == 201


def test_launcher_waits_for_its_workers(served: Served) -> None:
    submit(served)
    assert pods(served) == ["lane-worker-0", "lane-worker-1"]
    assert conditions(shown(served)) == {
        "Created": ("True", "MPIJobCreated", "MPIJob team-a/lane is created.")
    }
    served.pass_time(4)
    assert len(pods(served)) == 3
    served.pass_time(4)
    assert conditions(shown(served))["Running"] == (
        "True",
        "MPIJobRunning",
        "MPIJob team-a/lane is running.",
    )
    assert shown(served)["status"]["replicaStatuses"] == {
        "Launcher": {"active": 1},
        "Worker": {"active": 2},
    }


def test_finished_job_cleans_its_workers(served: Served) -> None:
    submit(served)
    served.pass_time(120)
    rows = conditions(shown(served))
    assert rows["Succeeded"] == (
        "True",
        "MPIJobSucceeded",
        "MPIJob team-a/lane successfully completed.",
    )
    assert rows["Running"][0] == "False"
    assert shown(served)["status"]["completionTime"]
    (left,) = pods(served)
    assert left.startswith("lane-launcher-")


def test_hosts_and_keys_are_handed_over(served: Served) -> None:
    submit(served)
    space = "/api/v1/namespaces/team-a"
    assert served.get(f"{space}/configmaps/lane-config")["data"]["hostfile"] == (
        "lane-worker-0.lane.team-a.svc slots=1\nlane-worker-1.lane.team-a.svc slots=1\n"
    )
    assert served.get(f"{space}/secrets/lane-ssh")["type"] == "kubernetes.io/ssh-auth"
    assert served.get(f"{space}/services/lane")["spec"]["clusterIP"] == "None"
    worker = served.get(f"{PODS}/lane-worker-0")
    assert worker["spec"]["containers"][0]["command"] == ["/usr/sbin/sshd", "-De"]
    assert (worker["spec"]["hostname"], worker["spec"]["subdomain"]) == ("lane-worker-0", "lane")


def test_failed_launcher_fails_the_job(served: Served) -> None:
    served.cluster.behaviours["lane"] = Training(fails_after=5, exit_code=3)
    body = mpi_job()
    body["spec"]["mpiReplicaSpecs"]["Launcher"]["restartPolicy"] = "Never"
    served.cluster.install("mpi-operator")
    served.post(MPI, body)
    served.pass_time(30)
    rows = conditions(shown(served))
    assert rows["Failed"][1] == "BackoffLimitExceeded/"
    assert rows["Failed"][2].startswith("Job has reached the specified backoff limit")
    assert shown(served)["status"]["replicaStatuses"]["Launcher"] == {"failed": 1}


def test_suspended_job_has_no_pods(served: Served) -> None:
    submit(served)
    served.pass_time(10)
    served.patch(f"{MPI}/lane", {"spec": {"runPolicy": {"suspend": True}}})
    served.pass_time(40)
    assert pods(served) == []
    rows = conditions(shown(served))
    assert rows["Suspended"] == ("True", "MPIJobSuspended", "MPIJob suspended")
    assert rows["Running"] == ("False", "MPIJobSuspended", "MPIJob team-a/lane is suspended.")
    served.patch(f"{MPI}/lane", {"spec": {"runPolicy": {"suspend": False}}})
    served.pass_time(10)
    assert conditions(shown(served))["Running"][0] == "True"
    assert conditions(shown(served))["Suspended"] == ("False", "MPIJobResumed", "MPIJob resumed")


def test_job_without_launcher_is_refused(served: Served) -> None:
    served.cluster.install("mpi-operator")
    body = mpi_job()
    del body["spec"]["mpiReplicaSpecs"]
    assert refusal(served.admin.post(MPI, json=body))[2].endswith(
        "spec.mpiReplicaSpecs: Required value"
    )


def test_queued_job_waits_for_its_quota(served: Served) -> None:
    submit(served, queue="team-a", workers=13)
    assert shown(served)["spec"]["runPolicy"]["suspend"] is True
    (workload,) = served.cluster.list("workloads", "team-a")
    assert workload["metadata"]["name"].startswith("mpijob-lane-")
    sets = [(row["name"], row["count"]) for row in workload["spec"]["podSets"]]
    assert sets == [("launcher", 1), ("worker", 13)]
    assert pods(served) == []
    assert conditions(workload)["QuotaReserved"][0] == "False"


def test_queued_job_runs_when_admitted(served: Served) -> None:
    submit(served, queue="team-a")
    served.pass_time(10)
    assert conditions(shown(served))["Running"][0] == "True"
    (workload,) = served.cluster.list("workloads", "team-a")
    assert conditions(workload)["PodsReady"][0] == "True"
    selector = served.get(f"{PODS}/lane-worker-0")["spec"]["nodeSelector"]
    assert selector == {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
    served.pass_time(120)
    (workload,) = served.cluster.list("workloads", "team-a")
    assert conditions(workload)["Finished"][1] == "Succeeded"


def test_queue_on_hold_stops_a_queued_job(served: Served) -> None:
    submit(served, queue="team-a")
    served.pass_time(10)
    served.cluster.patch("clusterqueues", "team-a", {"spec": {"stopPolicy": "HoldAndDrain"}})
    served.pass_time(60)
    assert pods(served) == []
    assert shown(served)["spec"]["runPolicy"]["suspend"] is True
    template = shown(served)["spec"]["mpiReplicaSpecs"]["Worker"]["template"]
    assert "nodeSelector" not in template["spec"]


def test_deleted_job_takes_everything_along(served: Served) -> None:
    submit(served)
    served.pass_time(10)
    served.admin.delete(f"{MPI}/lane")
    served.pass_time(60)
    assert pods(served) == []
    assert "lane-ssh" not in served.names("/api/v1/namespaces/team-a/secrets")
    assert served.cluster.get("jobs", "lane-launcher", "team-a") is None
