from typing import Any

from playground.cluster.control.training import Training
from tests.playground.cluster.served import PODS, Object, Served, conditions, refusal

DEPLOYMENTS = "/apis/apps/v1/namespaces/team-a/deployments"
SETS = "/apis/apps/v1/namespaces/team-a/replicasets"
LABELS = {"job": "mpi1", "role": "worker"}


def deployment(replicas: int = 2, image: str = "worker:1", **spec: Any) -> Object:
    container = {
        "name": "worker",
        "image": image,
        "ports": [{"containerPort": 22122}],
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
    }
    pod = {"containers": [container], **spec}
    template = {"metadata": {"labels": LABELS}, "spec": pod}
    wanted = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template}
    return {"metadata": {"name": "mpi1-worker"}, "spec": wanted}


def submit(served: Served, **spec: Any) -> None:
    served.cluster.behaviours["worker"] = Training(never_ends=True)
    served.post(DEPLOYMENTS, deployment(**spec))


def shown(served: Served) -> Object:
    return served.get(f"{DEPLOYMENTS}/mpi1-worker")


def workers(served: Served) -> list[Object]:
    found: list[Object] = served.get(PODS, labelSelector="role=worker")["items"]
    return found


def test_deployment_runs_its_pods(served: Served) -> None:
    submit(served)
    assert shown(served)["status"]["unavailableReplicas"] == 2
    served.pass_time(5)
    status = shown(served)["status"]
    assert (status["replicas"], status["readyReplicas"], status["updatedReplicas"]) == (2, 2, 2)
    assert status["observedGeneration"] == shown(served)["metadata"]["generation"]
    rows = conditions(shown(served))
    assert rows["Available"][1] == "MinimumReplicasAvailable"
    assert rows["Progressing"][1] == "NewReplicaSetAvailable"
    (name,) = served.names(SETS)
    assert {pod["metadata"]["ownerReferences"][0]["name"] for pod in workers(served)} == {name}


def test_deployment_scales_by_its_subresource(served: Served) -> None:
    submit(served)
    served.pass_time(5)
    served.patch(f"{DEPLOYMENTS}/mpi1-worker/scale", {"spec": {"replicas": 3}})
    assert len(workers(served)) == 3
    served.patch(f"{DEPLOYMENTS}/mpi1-worker/scale", {"spec": {"replicas": 0}})
    served.pass_time(40)
    assert workers(served) == []


def test_new_template_replaces_the_pods(served: Served) -> None:
    submit(served)
    served.pass_time(5)
    container = {"name": "worker", "image": "worker:2"}
    change = {"spec": {"template": {"spec": {"containers": [container]}}}}
    kind = "application/strategic-merge-patch+json"
    assert served.patch(f"{DEPLOYMENTS}/mpi1-worker", change, kind).status_code == 200
    served.pass_time(60)
    assert {pod["spec"]["containers"][0]["image"] for pod in workers(served)} == {"worker:2"}
    assert len(served.names(SETS)) == 2


def test_ended_worker_is_replaced(served: Served) -> None:
    submit(served)
    served.pass_time(5)
    first = workers(served)[0]["metadata"]["name"]
    served.admin.delete(f"{PODS}/{first}")
    served.pass_time(40)
    names = [pod["metadata"]["name"] for pod in workers(served)]
    assert len(names) == 2
    assert first not in names


def test_deleted_deployment_takes_its_pods_along(served: Served) -> None:
    submit(served)
    served.pass_time(5)
    served.admin.delete(f"{DEPLOYMENTS}/mpi1-worker")
    served.pass_time(40)
    assert (workers(served), served.names(SETS)) == ([], [])


def test_stuck_rollout_is_said_to_be_late(served: Served) -> None:
    served.cluster.miss_image("worker:1")
    submit(served)
    served.pass_time(700)
    row = conditions(shown(served))["Progressing"]
    assert row[:2] == ("False", "ProgressDeadlineExceeded")


def test_pods_of_a_host_network_keep_apart(served: Served) -> None:
    rule = {"labelSelector": {"matchLabels": LABELS}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}
    submit(served, replicas=3, hostNetwork=True, affinity=affinity)
    served.pass_time(5)
    placed = [pod for pod in workers(served) if "nodeName" in pod["spec"]]
    assert {pod["spec"]["nodeName"] for pod in placed} == {"gpu-1", "gpu-2"}
    for pod in placed:
        assert pod["status"]["podIP"] == pod["status"]["hostIP"]
    waiting = next(pod for pod in workers(served) if "nodeName" not in pod["spec"])
    assert conditions(waiting)["PodScheduled"][2].startswith(
        "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules. "
    )


def test_selector_has_to_match_the_labels(served: Served) -> None:
    body = deployment()
    body["spec"]["template"]["metadata"]["labels"] = {"role": "other"}
    assert refusal(served.admin.post(DEPLOYMENTS, json=body)) == (
        422,
        "Invalid",
        (
            'Deployment.apps "mpi1-worker" is invalid: spec.template.metadata.labels: Invalid '
            'value: {"role":"other"}: `selector` does not match template `labels`'
        ),
    )


def test_selector_of_a_deployment_stays(served: Served) -> None:
    submit(served)
    change = {"spec": {"selector": {"matchLabels": {"role": "worker", "job": None}}}}
    assert refusal(served.patch(f"{DEPLOYMENTS}/mpi1-worker", change))[2].endswith(
        "field is immutable"
    )
