"""What Kubernetes and Kueue add to objects by themselves, read from their sources."""

from tests.playground.cluster.queued import is_suspended, submit, submit_with_priority
from tests.playground.cluster.served import KUEUE, PODS, Object, Served, conditions

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
NAME = "batch.kubernetes.io/job-name"
TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 -- a path
FINALIZER = "kueue.x-k8s.io/resource-in-use"
NOT_READY = ("False", "WaitForStart", "Not all pods are ready or succeeded")


def pod(name: str, **spec: object) -> Object:
    container = {"name": "main", "image": "ghcr.io/acme/lane:3.1"}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


def queue(served: Served) -> Object | None:
    return served.cluster.get("clusterqueues", "team-a")


def test_a_waiting_workload_has_no_ready_pods(served: Served) -> None:
    served.cluster.set_quota("team-a", "0")
    served.cluster.set_quota("team-b", "0")
    submit(served, "lane", 1)
    assert conditions(served.workload("lane"))["PodsReady"] == NOT_READY


def test_pods_that_were_ready_once_recover(served: Served) -> None:
    submit(served, "lane", 1)
    served.pass_time(10)
    assert conditions(served.workload("lane"))["PodsReady"][:2] == ("True", "Started")
    for each in served.pods("lane"):
        served.admin.delete(f"{PODS}/{each['metadata']['name']}")
    served.pass_time(1)
    recovering = conditions(served.workload("lane"))["PodsReady"]
    served.pass_time(60)
    assert recovering[:2] == ("False", "WaitForRecovery")
    assert conditions(served.workload("lane"))["PodsReady"][:2] == ("True", "Recovered")


def test_a_workload_repeats_one_label_of_its_job(served: Served) -> None:
    submit_with_priority(served, "lane", 4, "low")
    sent = served.workload("lane")["spec"]["podSets"][0]["template"]["metadata"]["labels"]
    assert sent == {NAME: "lane"}
    before = served.job("lane")["spec"]["selector"]["matchLabels"]
    submit_with_priority(served, "next", 4, "high")
    submit_with_priority(served, "base", 8, "high", "team-b")
    served.pass_time(60)
    assert is_suspended(served, "lane")
    labels = served.job("lane")["spec"]["template"]["metadata"]["labels"]
    assert labels == {NAME: "lane", "job-name": "lane", "controller-uid": uid(before), **before}


def uid(labels: dict[str, str]) -> str:
    return labels["batch.kubernetes.io/controller-uid"]


def test_pods_have_the_zone_of_their_node(served: Served) -> None:
    where = {"metadata": {"labels": {ZONE: "eu-1a", REGION: "eu-1", "rack": "r1"}}}
    for node in ("gpu-1", "gpu-2"):
        served.cluster.patch("nodes", node, where)
    served.post(PODS, pod("lane"))
    served.pass_time(1)
    assert served.get(f"{PODS}/lane")["metadata"]["labels"] == {ZONE: "eu-1a", REGION: "eu-1"}


def test_pods_mount_the_token_of_their_account(served: Served) -> None:
    made = served.post(PODS, pod("lane"))["spec"]
    (volume,) = made["volumes"]
    assert volume["name"].startswith("kube-api-access-")
    sources = [next(iter(each)) for each in volume["projected"]["sources"]]
    assert sources == ["serviceAccountToken", "configMap", "downwardAPI"]
    mount = {"name": volume["name"], "readOnly": True, "mountPath": TOKEN_PATH}
    assert made["containers"][0]["volumeMounts"] == [mount]


def test_pods_without_a_token_mount_none(served: Served) -> None:
    made = served.post(PODS, pod("lane", automountServiceAccountToken=False))["spec"]
    assert "volumes" not in made
    account = {"automountServiceAccountToken": False}
    served.cluster.patch("serviceaccounts", "trainer", account, "team-a")
    assert "volumes" not in served.post(PODS, pod("other", serviceAccountName="trainer"))["spec"]


def test_a_queue_in_use_stays_though_deleted(served: Served) -> None:
    submit(served, "lane", 1)
    assert (queue(served) or {})["metadata"]["finalizers"] == [FINALIZER]
    served.admin.delete(f"{KUEUE}/clusterqueues/team-a")
    served.pass_time(1)
    assert conditions(queue(served) or {})["Active"] == (
        "False",
        "Terminating",
        "Can't admit new workloads; clusterQueue is terminating",
    )
    served.admin.delete("/apis/batch/v1/namespaces/team-a/jobs/lane",
                                        params={"propagationPolicy": "Background"})  # fmt: skip
    served.pass_time(60)
    assert queue(served) is None


def test_a_flavor_in_use_stays_though_deleted(served: Served) -> None:
    served.admin.delete(f"{KUEUE}/resourceflavors/h100")
    served.pass_time(1)
    flavor = served.cluster.get("resourceflavors", "h100") or {}
    assert flavor["metadata"]["finalizers"] == [FINALIZER]
    for team in ("team-a", "team-b"):
        served.admin.delete(f"{KUEUE}/clusterqueues/{team}")
    served.pass_time(1)
    assert served.cluster.get("resourceflavors", "h100") is None
