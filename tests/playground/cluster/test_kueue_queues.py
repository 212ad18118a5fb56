from playground.cluster.control.training import Training
from playground.cluster.story import training_job
from tests.playground.cluster.queued import (
    gpus_of,
    is_suspended,
    reserved,
    submit,
    submit_with_priority,
)
from tests.playground.cluster.served import JOBS, KUEUE, Served, conditions


def test_priority_goes_before_time_in_the_queue(served: Served) -> None:
    served.cluster.set_quota("team-a", "0", field="borrowingLimit")
    submit_with_priority(served, "running", 4, "interactive")
    for name, priority in (("early", "low"), ("late", "high")):
        submit_with_priority(served, name, 4, priority)
        served.pass_time(2)
    path = "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/team-a/pendingworkloads"
    rows = served.get(path)["items"]
    assert [row["metadata"]["name"][:-6] for row in rows] == ["job-late", "job-early"]
    assert [(row["positionInClusterQueue"], row["priority"]) for row in rows] == [
        (0, 100),
        (1, -100),
    ]


def test_positions_are_told_for_a_local_queue(served: Served) -> None:
    served.cluster.set_quota("team-a", "0", field="borrowingLimit")
    for name in ("one", "two", "three"):
        submit(served, name, 4)
        served.pass_time(2)
    base = "/apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/team-a/localqueues/team-a"
    rows = served.get(f"{base}/pendingworkloads", offset="1", limit="5")["items"]
    assert [(row["metadata"]["name"][:-6], row["positionInLocalQueue"]) for row in rows] == [
        ("job-three", 1)
    ]


def test_best_effort_lets_a_small_job_pass(served: Served) -> None:
    served.cluster.set_quota("team-a", "0", field="borrowingLimit")
    submit(served, "first", 2)
    submit(served, "large", 4)
    submit(served, "small", 2)
    assert is_suspended(served, "large")
    assert not is_suspended(served, "small")


def test_strict_order_holds_a_small_job_back(served: Served) -> None:
    served.cluster.set_quota("team-a", "0", field="borrowingLimit")
    served.cluster.patch("clusterqueues", "team-a", {"spec": {"queueingStrategy": "StrictFIFO"}})
    submit(served, "first", 2)
    submit(served, "large", 4)
    served.pass_time(2)
    submit(served, "small", 2)
    assert is_suspended(served, "small")


def test_undeclared_resource_blocks_admission(served: Served) -> None:
    job = training_job("lane", 1, "team-a")
    limits = job["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
    limits["vpc.amazonaws.com/efa"] = "4"
    served.post(JOBS, job)
    assert reserved(served, "lane") == (
        "False",
        "Pending",
        (
            "couldn't assign flavors to pod set main: resource vpc.amazonaws.com/efa unavailable "
            "in ClusterQueue"
        ),
    )


def test_missing_local_queue_is_a_reason(served: Served) -> None:
    served.post(JOBS, training_job("lane", 1, "nowhere"))
    assert reserved(served, "lane") == (
        "False",
        "Inadmissible",
        "LocalQueue nowhere doesn't exist",
    )


def test_deactivated_workload_stops_and_resumes(served: Served) -> None:
    submit(served, "lane", 4)
    served.pass_time(10)
    path = f"{KUEUE}/namespaces/team-a/workloads/{served.workload('lane')['metadata']['name']}"
    served.patch(path, {"spec": {"active": False}})
    assert conditions(served.workload("lane"))["Evicted"] == (
        "True",
        "Deactivated",
        "The workload is deactivated",
    )
    served.pass_time(10)
    assert (is_suspended(served, "lane"), gpus_of(served, "team-a")) == (True, ("0", "0"))
    served.patch(path, {"spec": {"active": True}})
    assert not is_suspended(served, "lane")


def test_resuming_a_waiting_job_by_hand_is_undone(served: Served) -> None:
    served.cluster.set_quota("team-a", "0", field="borrowingLimit")
    submit(served, "lane", 8)
    served.patch(f"{JOBS}/lane", {"spec": {"suspend": False}})
    assert is_suspended(served, "lane")
    served.pass_time(10)
    assert served.pods("lane") == []


def test_held_queue_admits_nobody_new(served: Served) -> None:
    submit(served, "first", 2)
    served.cluster.patch("clusterqueues", "team-a", {"spec": {"stopPolicy": "Hold"}})
    submit(served, "second", 2)
    assert not is_suspended(served, "first")
    inactive = "ClusterQueue team-a is inactive"
    assert reserved(served, "second") == ("False", "Inadmissible", inactive)
    served.cluster.patch("clusterqueues", "team-a", {"spec": {"stopPolicy": "None"}})
    assert not is_suspended(served, "second")


def test_drained_queue_sends_everybody_away(served: Served) -> None:
    submit(served, "first", 2)
    served.pass_time(10)
    served.cluster.patch("clusterqueues", "team-a", {"spec": {"stopPolicy": "HoldAndDrain"}})
    served.pass_time(10)
    assert conditions(served.workload("first"))["Evicted"][1] == "ClusterQueueStopped"
    assert (is_suspended(served, "first"), served.pods("first")) == (True, [])
    served.cluster.patch("clusterqueues", "team-a", {"spec": {"stopPolicy": "None"}})
    assert not is_suspended(served, "first")


def test_time_limit_label_deactivates_the_workload(served: Served) -> None:
    served.cluster.behaviours["long"] = Training(never_ends=True)
    job = training_job("lane", 4, "team-a", image="long")
    job["metadata"]["labels"]["kueue.x-k8s.io/max-exec-time-seconds"] = "600"
    served.post(JOBS, job)
    served.pass_time(700)
    evicted = conditions(served.workload("lane"))["Evicted"]
    assert evicted[1] == "DeactivatedDueToMaximumExecutionTimeExceeded"
    assert is_suspended(served, "lane")


def test_deleted_job_takes_its_workload_along(served: Served) -> None:
    submit(served, "lane", 4)
    served.pass_time(10)
    served.cluster.delete("jobs", "lane", "team-a")
    served.pass_time(10)
    assert served.cluster.list("workloads") == []
    assert gpus_of(served, "team-a") == ("0", "0")


def test_without_kueue_queued_jobs_just_run(served: Served) -> None:
    served.cluster.switch_kueue(on=False)
    submit(served, "lane", 4)
    assert not is_suspended(served, "lane")
    assert served.cluster.list("workloads") == []


def test_without_kueue_suspended_jobs_stay_so(served: Served) -> None:
    served.cluster.switch_kueue(on=False)
    submit(served, "lane", 4, suspend=True)
    served.pass_time(3600)
    assert is_suspended(served, "lane")
    assert served.cluster.list("workloads") == []
