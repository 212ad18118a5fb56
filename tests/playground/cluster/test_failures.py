from typing import Any

from playground.cluster.control.training import Training
from playground.cluster.story import training_job
from tests.playground.cluster.served import JOBS, PODS, Object, Served, conditions, pod, refusal

IGNORE = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}


def endless(served: Served, **spec: Any) -> Object:
    served.cluster.behaviours["lane"] = Training(never_ends=True)
    served.post(JOBS, training_job("lane", 1, **spec))
    served.pass_time(10)
    found: Object = served.pods()[0]
    return found


def told(served: Served, name: str) -> set[str]:
    fields = f"involvedObject.name={name}"
    rows = served.get("/api/v1/namespaces/team-a/events", fieldSelector=fields)["items"]
    return {row["message"] for row in rows}


def node(served: Served, name: str = "gpu-1") -> Object:
    return served.get(f"/api/v1/nodes/{name}")


def test_lost_node_is_tainted_after_a_while(served: Served) -> None:
    served.cluster.nature.lose_node("gpu-1")
    served.pass_time(40)
    assert conditions(node(served))["Ready"][0] == "True"
    served.pass_time(20)
    why = ("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
    assert conditions(node(served))["Ready"] == why
    taints = {(row["key"], row["effect"]) for row in node(served)["spec"]["taints"]}
    key = "node.kubernetes.io/unreachable"
    assert taints == {(key, "NoExecute"), (key, "NoSchedule")}


def test_pods_leave_a_node_that_is_lost(served: Served) -> None:
    first = endless(served, backoffLimit=6)["metadata"]["name"]
    served.cluster.nature.lose_node("gpu-1")
    served.pass_time(100)
    assert conditions(served.get(f"{PODS}/{first}"))["Ready"][1] == "NodeNotReady"
    assert "deletionTimestamp" not in served.get(f"{PODS}/{first}")["metadata"]
    served.pass_time(300)
    lost = served.get(f"{PODS}/{first}")
    assert conditions(lost)["DisruptionTarget"][1:] == (
        "DeletionByTaintManager",
        "Taint manager: deleting due to NoExecute taint",
    )
    assert f"Marking for deletion Pod team-a/{first}" in told(served, first)
    other = next(p for p in served.pods() if p["metadata"]["name"] != first)
    assert other["spec"]["nodeName"] == "gpu-2"
    served.pass_time(3600)
    assert served.get(f"{PODS}/{first}")["metadata"]["deletionTimestamp"]


def test_found_node_lets_its_old_pods_go(served: Served) -> None:
    first = endless(served)["metadata"]["name"]
    served.cluster.nature.lose_node("gpu-1")
    served.pass_time(400)
    served.cluster.nature.find_node("gpu-1")
    served.pass_time(40)
    assert first not in [p["metadata"]["name"] for p in served.pods()]
    assert conditions(node(served))["Ready"][0] == "True"
    assert node(served)["spec"]["taints"] == []


def test_short_silence_of_a_node_harms_nobody(served: Served) -> None:
    first = endless(served)["metadata"]["name"]
    served.cluster.nature.lose_node("gpu-1")
    served.pass_time(20)
    served.cluster.nature.find_node("gpu-1")
    served.pass_time(400)
    assert [p["metadata"]["name"] for p in served.pods()] == [first]


def test_pods_of_a_removed_node_are_collected(served: Served) -> None:
    first = endless(served, podFailurePolicy=IGNORE, backoffLimit=0)["metadata"]["name"]
    served.cluster.remove_node("gpu-1")
    served.pass_time(60)
    (replaced,) = served.pods()
    assert replaced["metadata"]["name"] != first
    assert replaced["spec"]["nodeName"] == "gpu-2"
    assert "failed" not in served.job()["status"]


def test_evicted_pod_says_what_its_node_lacked(served: Served) -> None:
    first = endless(served, backoffLimit=0)["metadata"]["name"]
    served.cluster.nature.evict("team-a", first, "ephemeral-storage")
    found = served.get(f"{PODS}/{first}")
    words = (
        "The node was low on resource: ephemeral-storage. Threshold quantity: 100Mi, available: "
        "52Mi. "
    )
    status = found["status"]
    assert (status["phase"], status["reason"], status["message"]) == ("Failed", "Evicted", words)
    assert conditions(found)["DisruptionTarget"][1] == "TerminationByKubelet"
    assert words in told(served, first)
    assert conditions(served.job())["Failed"][1] == "BackoffLimitExceeded"


def test_preempted_pod_names_who_pushed_it_out(served: Served) -> None:
    first = endless(served, podFailurePolicy=IGNORE, backoffLimit=0)["metadata"]["name"]
    served.cluster.nature.preempt("team-a", first, by="0b1c")
    assert "Preempted by pod 0b1c on node gpu-1" in told(served, first)
    served.pass_time(40)
    assert [p["metadata"]["name"] for p in served.pods()] != [first]
    assert "failed" not in served.job()["status"]


def test_pods_take_the_priority_of_their_class(served: Served) -> None:
    served.cluster.create("priorityclasses", {"metadata": {"name": "urgent"}, "value": 700})
    assert served.post(PODS, pod("one", priorityClassName="urgent"))["spec"]["priority"] == 700
    answer = served.admin.post(PODS, json=pod("two", priorityClassName="nothing"))
    assert refusal(answer) == (
        403,
        "Forbidden",
        'pods "two" is forbidden: no PriorityClass with name nothing was found',
    )


def test_gated_pod_is_not_scheduled(served: Served) -> None:
    served.post(PODS, pod("one", schedulingGates=[{"name": "kueue.x-k8s.io/elastic-job"}]))
    assert conditions(served.get(f"{PODS}/one"))["PodScheduled"] == (
        "False",
        "SchedulingGated",
        "Scheduling is blocked due to non-empty scheduling gates",
    )


QUOTAS = "/api/v1/namespaces/team-a/resourcequotas"


def limit(served: Served, **hard: str) -> None:
    served.post(QUOTAS, {"metadata": {"name": "small"}, "spec": {"hard": hard}})


def test_a_resource_quota_keeps_pods_from_jobs(served: Served) -> None:
    limit(served, **{"requests.nvidia.com/gpu": "1", "requests.memory": "1Ti"})
    served.post(JOBS, training_job("lane", 2))
    served.pass_time(10)
    assert served.pods() == []
    said = next(words for words in told(served, "lane") if words.startswith("Error creating"))
    assert said.partition(" is forbidden: ")[2] == (
        "exceeded quota: small, requested: requests.nvidia.com/gpu=2, used:"
        " requests.nvidia.com/gpu=0, limited: requests.nvidia.com/gpu=1"
    )
    served.admin.delete(f"{QUOTAS}/small")
    served.pass_time(20)
    assert len(served.pods()) == 1


def test_a_resource_quota_limits_what_is_made(served: Served) -> None:
    limit(served, **{"count/jobs.batch": "1", "limits.cpu": "4"})
    served.post(JOBS, training_job("lane", 1))
    refused = refusal(served.admin.post(JOBS, json=training_job("other", 1)))
    words = (
        'jobs.batch "other" is forbidden: exceeded quota: small, requested: count/jobs.batch=1,'
        " used: count/jobs.batch=1, limited: count/jobs.batch=1"
    )
    assert refused == (403, "Forbidden", words)
    words = 'pods "bare" is forbidden: failed quota: small: must specify limits.cpu for: main'
    assert refusal(served.admin.post(PODS, json=pod("bare"))) == (403, "Forbidden", words)
