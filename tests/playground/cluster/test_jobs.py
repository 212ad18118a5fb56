from typing import Any

from playground.cluster.control.training import Training
from playground.cluster.story import training_job
from tests.playground.cluster.served import JOBS, PODS, Object, Served, conditions, refusal

REACHED = ("True", "CompletionsReached", "Reached expected number of succeeded pods")
BACKOFF = ("True", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
IGNORE_DISRUPTION = {
    "rules": [
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    ]
}


def submit(served: Served, **spec: Any) -> Object:
    return served.post(JOBS, training_job("lane", 1, **spec))


def failing(served: Served, code: int = 3) -> None:
    served.cluster.behaviours["lane"] = Training(fails_after=5, exit_code=code)


def test_job_runs_to_completion(served: Served) -> None:
    submit(served)
    assert served.job()["status"]["active"] == 1
    assert served.job()["status"]["ready"] == 0
    served.pass_time(4)
    assert served.job()["status"]["ready"] == 1
    served.pass_time(200)
    status = served.job()["status"]
    assert status["succeeded"] == 1
    assert "active" not in status
    assert conditions(served.job()) == {"SuccessCriteriaMet": REACHED, "Complete": REACHED}
    assert status["completionTime"] > status["startTime"]


def test_time_jumped_over_leaves_right_timestamps(served: Served) -> None:
    submit(served)
    served.pass_time(86_400)
    status = served.job()["status"]
    began, ended = status["startTime"], status["completionTime"]
    assert began[:10] == ended[:10] or began[8:10] != ended[8:10]
    finished = served.pods()[0]["status"]["containerStatuses"][0]["state"]["terminated"]
    assert finished["finishedAt"] == ended


def test_pods_carry_names_labels_owner_and_finalizer(served: Served) -> None:
    job = submit(served)
    (pod,) = served.pods()
    metadata = pod["metadata"]
    assert metadata["name"].startswith("lane-")
    assert metadata["labels"]["batch.kubernetes.io/controller-uid"] == job["metadata"]["uid"]
    assert metadata["finalizers"] == ["batch.kubernetes.io/job-tracking"]
    assert metadata["ownerReferences"][0]["controller"] is True


def test_failing_pods_are_tried_again_until_the_limit(served: Served) -> None:
    failing(served)
    submit(served, backoffLimit=1)
    served.pass_time(9)
    assert served.job()["status"]["failed"] == 1
    assert len(served.pods()) == 1
    served.pass_time(11)
    assert len(served.pods()) == 2
    served.pass_time(20)
    assert conditions(served.job()) == {"FailureTarget": BACKOFF, "Failed": BACKOFF}
    assert served.job()["status"]["failed"] == 2


def test_deadline_ends_a_job(served: Served) -> None:
    submit(served, activeDeadlineSeconds=60)
    served.pass_time(70)
    why = ("True", "DeadlineExceeded", "Job was active longer than specified deadline")
    assert conditions(served.job()) == {"FailureTarget": why, "Failed": why}
    assert [pod["status"]["phase"] for pod in served.pods()] == []


def test_failure_policy_ignores_disrupted_pods(served: Served) -> None:
    submit(served, backoffLimit=0, podFailurePolicy=IGNORE_DISRUPTION)
    served.pass_time(10)
    first = served.pods()[0]["metadata"]["name"]
    served.post(f"{PODS}/{first}/eviction", {"metadata": {"name": first}})
    served.pass_time(5)
    assert "failed" not in served.job()["status"]
    assert [pod["metadata"]["name"] for pod in served.pods()] != [first]


def test_failure_policy_fails_job_on_exit_code(served: Served) -> None:
    failing(served, 42)
    codes = {"containerName": "main", "operator": "In", "values": [42]}
    submit(served, podFailurePolicy={"rules": [{"action": "FailJob", "onExitCodes": codes}]})
    pod = served.pods()[0]["metadata"]["name"]
    served.pass_time(30)
    assert conditions(served.job())["Failed"] == (
        "True",
        "PodFailurePolicy",
        (
            f"Container main for pod team-a/{pod} failed with exit code 42 matching FailJob rule "
            "at index 0"
        ),
    )


def test_replacement_waits_for_the_end_of_a_pod(served: Served) -> None:
    submit(served, podReplacementPolicy="Failed")
    served.pass_time(10)
    first = served.pods()[0]["metadata"]["name"]
    served.admin.delete(f"{PODS}/{first}")
    assert (served.job()["status"]["terminating"], len(served.pods())) == (1, 1)
    served.pass_time(30)
    assert [pod["metadata"]["name"] for pod in served.pods()] != [first]


def test_suspended_job_ends_pods_and_forgets_its_start(served: Served) -> None:
    submit(served)
    served.pass_time(10)
    served.patch(f"{JOBS}/lane", {"spec": {"suspend": True}})
    served.pass_time(5)
    status = served.job()["status"]
    assert (served.pods(), status.get("active"), status.get("startTime")) == ([], None, None)
    assert "failed" not in status
    assert conditions(served.job()) == {"Suspended": ("True", "JobSuspended", "Job suspended")}


def test_resumed_job_starts_anew(served: Served) -> None:
    submit(served, suspend=True)
    assert served.pods() == []
    served.pass_time(60)
    served.patch(f"{JOBS}/lane", {"spec": {"suspend": False}})
    assert len(served.pods()) == 1
    assert conditions(served.job()) == {"Suspended": ("False", "JobResumed", "Job resumed")}


def test_parallelism_limits_running_pods(served: Served) -> None:
    submit(served, completions=3, parallelism=2)
    assert len(served.pods()) == 2
    served.pass_time(190)
    assert served.job()["status"]["succeeded"] == 2
    assert len(served.pods()) == 3
    served.pass_time(200)
    assert conditions(served.job())["Complete"] == REACHED


def test_indexed_job_counts_its_indexes(served: Served) -> None:
    submit(served, completionMode="Indexed", completions=3, parallelism=3)
    names = sorted(pod["metadata"]["name"][:6] for pod in served.pods())
    assert names == ["lane-0", "lane-1", "lane-2"]
    served.pass_time(200)
    assert served.job()["status"]["completedIndexes"] == "0-2"


def test_success_policy_ends_the_workers_too(served: Served) -> None:
    served.cluster.behaviours["lane"] = Training(
        log=None, epochs=1, seconds_per_epoch=60, never_ends=False
    )
    rules = [{"succeededIndexes": "0", "succeededCount": 1}]
    submit(
        served,
        completionMode="Indexed",
        completions=2,
        parallelism=2,
        successPolicy={"rules": rules},
    )
    served.pass_time(100)
    why = ("True", "SuccessPolicy", "Matched rules at index 0")
    assert conditions(served.job()) == {"SuccessCriteriaMet": why, "Complete": why}


def test_finished_job_goes_when_its_time_is_over(served: Served) -> None:
    submit(served, ttlSecondsAfterFinished=600)
    served.pass_time(200)
    assert served.job()["status"]["succeeded"] == 1
    served.pass_time(600)
    assert served.cluster.get("jobs", "lane", "team-a") is None
    assert served.pods() == []


def test_job_without_containers_is_invalid(served: Served) -> None:
    body = training_job("lane", 1)
    body["spec"]["template"]["spec"]["containers"] = []
    answer = served.admin.post(JOBS, json=body)
    assert refusal(answer) == (
        422,
        "Invalid",
        'Job.batch "lane" is invalid: spec.template.spec.containers: Required value',
    )


def test_next_event_names_start_and_end(served: Served) -> None:
    assert served.cluster.next_event() is None
    submit(served)
    now = served.clock.now()
    start = served.cluster.next_event()
    assert start is not None
    assert 2 < (start - now).total_seconds() <= 3
    served.pass_time(5)
    end = served.cluster.next_event()
    assert end is not None
    assert 180 < (end - now).total_seconds() < 190
    served.pass_time(200)
    assert served.cluster.next_event() is None


def test_settling_needs_no_more_than_the_clock(served: Served) -> None:
    submit(served)
    served.pass_time(3.5)
    served.until(lambda: served.job()["status"]["ready"] == 1)


def test_world_moves_with_real_time_too(served: Served) -> None:
    served.clock.runs = True
    served.cluster.inside.kubelet.creation_seconds = 0.2
    submit(served)
    served.until(lambda: served.job()["status"].get("ready") == 1)
