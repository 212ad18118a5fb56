from playground.cluster.control.training import Training
from playground.cluster.story import training_job
from tests.playground.cluster.queued import (
    gpus_of,
    is_suspended,
    queue_status,
    reserved,
    submit,
    submit_with_priority,
)
from tests.playground.cluster.served import JOBS, Served, conditions

TEAM_B = JOBS.replace("team-a", "team-b")
NEEDS_FOUR = (
    "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in "
    "flavor h100, 4 more needed"
)


def test_queued_job_is_suspended_at_creation(served: Served) -> None:
    served.cluster.set_quota("team-a", "0")
    served.cluster.set_quota("team-b", "0")
    submit(served, "lane", 1)
    assert is_suspended(served, "lane")
    assert served.pods("lane") == []


def test_job_without_queue_label_is_left_alone(served: Served) -> None:
    served.post(JOBS, training_job("lane", 1))
    assert not is_suspended(served, "lane")
    assert served.cluster.list("workloads") == []


def test_workload_belongs_to_its_job(served: Served) -> None:
    submit(served, "lane", 2)
    job, workload = served.job("lane"), served.workload("lane")
    owner = workload["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["uid"], owner["controller"]) == (
        "Job",
        job["metadata"]["uid"],
        True,
    )
    label = workload["metadata"]["labels"]["kueue.x-k8s.io/job-uid"]
    assert label == job["metadata"]["uid"]
    assert (workload["spec"]["queueName"], workload["spec"]["active"]) == ("team-a", True)


def test_fitting_job_is_admitted_and_runs(served: Served) -> None:
    submit(served, "lane", 4)
    told = conditions(served.workload("lane"))
    assert told["QuotaReserved"] == (
        "True",
        "QuotaReserved",
        "Quota reserved in ClusterQueue team-a",
    )
    assert told["Admitted"] == ("True", "Admitted", "The workload is admitted")
    assert told["PodsReady"][:2] == ("False", "WaitForStart")
    served.pass_time(5)
    assert conditions(served.workload("lane"))["PodsReady"][:2] == ("True", "Started")
    assert gpus_of(served, "team-a", "flavorsUsage") == ("4", "0")
    selector = served.pods("lane")[0]["spec"]["nodeSelector"]
    assert selector == {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}


def test_finished_job_gives_its_quota_back(served: Served) -> None:
    served.post(JOBS, training_job("lane", 4, "team-a"))
    served.pass_time(300)
    assert conditions(served.workload("lane"))["Finished"] == (
        "True",
        "Succeeded",
        "Reached expected number of succeeded pods",
    )
    assert gpus_of(served, "team-a") == ("0", "0")


def test_failed_job_finishes_its_workload_as_failed(served: Served) -> None:
    served.cluster.behaviours["lane"] = Training(fails_after=5)
    served.post(JOBS, training_job("lane", 4, "team-a", backoffLimit=0))
    served.pass_time(30)
    assert conditions(served.workload("lane"))["Finished"] == (
        "True",
        "Failed",
        "Job has reached the specified backoff limit",
    )


def test_idle_quota_of_others_is_borrowed(served: Served) -> None:
    submit(served, "lane", 12)
    assert not is_suspended(served, "lane")
    assert gpus_of(served, "team-a") == ("12", "8")


def test_borrowing_limit_makes_a_job_wait(served: Served) -> None:
    served.cluster.set_quota("team-a", "2", field="borrowingLimit")
    submit(served, "lane", 12)
    assert reserved(served, "lane") == (
        "False",
        "Pending",
        (
            "couldn't assign flavors to pod set main: insufficient quota for nvidia.com/gpu in "
            "flavor h100, previously considered podsets requests (0) + current podset request "
            "(12) > maximum capacity (6)"
        ),
    )


def test_lending_limit_keeps_quota_at_home(served: Served) -> None:
    served.cluster.set_quota("team-b", "2", field="lendingLimit")
    submit(served, "lane", 8)
    assert "> maximum capacity (6)" in reserved(served, "lane")[2]
    submit(served, "small", 6)
    assert gpus_of(served, "team-a") == ("6", "2")


def test_full_queue_makes_the_next_job_wait(served: Served) -> None:
    served.cluster.set_quota("team-a", "0", field="borrowingLimit")
    submit(served, "first", 4)
    submit(served, "second", 4)
    assert reserved(served, "second") == ("False", "Pending", NEEDS_FOUR)
    assert "Admitted" not in conditions(served.workload("second"))
    status = queue_status(served)
    assert (status["pendingWorkloads"], status["admittedWorkloads"]) == (1, 1)
    local = served.cluster.get("localqueues", "team-a", "team-a")
    assert local is not None
    assert (local["status"]["pendingWorkloads"], local["status"]["reservingWorkloads"]) == (1, 1)


def test_raised_quota_starts_the_waiting_job(served: Served) -> None:
    served.cluster.set_quota("team-a", "0", field="borrowingLimit")
    submit(served, "first", 4)
    submit(served, "second", 4)
    served.cluster.set_quota("team-a", "8")
    assert not is_suspended(served, "second")
    assert gpus_of(served, "team-a") == ("8", "0")


def test_raised_borrowing_limit_starts_the_waiting_job(served: Served) -> None:
    served.cluster.set_quota("team-a", "0", field="borrowingLimit")
    submit(served, "lane", 8)
    assert is_suspended(served, "lane")
    served.cluster.set_quota("team-a", "4", field="borrowingLimit")
    assert not is_suspended(served, "lane")


def test_lowered_quota_evicts_nobody(served: Served) -> None:
    submit(served, "lane", 4)
    served.cluster.set_quota("team-a", "2")
    served.pass_time(60)
    assert not is_suspended(served, "lane")
    assert gpus_of(served, "team-a") == ("4", "2")
    assert "Evicted" not in conditions(served.workload("lane"))


def test_owner_reclaims_borrowed_quota(served: Served) -> None:
    submit(served, "borrower", 6, completions=2, parallelism=2)
    served.pass_time(10)
    submit(served, "owner", 8, "team-b")
    preemptor = served.workload("owner", "team-b")
    message = (
        f"Preempted to accommodate a workload (UID: {preemptor['metadata']['uid']}, JobUID: "
        f"{served.job('owner', 'team-b')['metadata']['uid']}) due to reclamation within the cohort"
        "; preemptor path: /gpus/team-b; preemptee path: /gpus/team-a"
    )
    victim = served.workload("borrower")
    assert conditions(victim)["Evicted"] == ("True", "Preempted", message)
    assert conditions(victim)["Preempted"] == ("True", "InCohortReclamation", message)
    assert is_suspended(served, "borrower")
    assert conditions(served.pods("borrower")[0])["DisruptionTarget"][0] == "True"
    served.pass_time(10)
    assert served.pods("borrower") == []
    assert not is_suspended(served, "owner", "team-b")
    again = conditions(served.workload("borrower"))
    assert again["Requeued"][:2] == ("True", "Preempted")
    assert again["QuotaReserved"][:2] == ("False", "Pending")
    assert again["Admitted"] == ("False", "NoReservation", "The workload has no reservation")
    assert "failed" not in served.job("borrower")["status"]


def test_preempted_job_runs_again_when_room_returns(served: Served) -> None:
    submit(served, "borrower", 12)
    served.pass_time(10)
    served.post(TEAM_B, training_job("owner", 8, "team-b"))
    served.pass_time(20)
    assert is_suspended(served, "borrower")
    served.pass_time(300)
    assert not is_suspended(served, "borrower")
    told = conditions(served.workload("borrower"))
    assert (told["Evicted"][0], told["Preempted"][0]) == ("False", "False")


def test_borrower_never_reclaims_from_others(served: Served) -> None:
    submit(served, "owner", 8, "team-b")
    submit(served, "borrower", 8)
    assert reserved(served, "borrower")[2].endswith("flavor h100, 4 more needed")
    assert not is_suspended(served, "owner", "team-b")


def test_higher_priority_pushes_out_lower_in_its_queue(served: Served) -> None:
    served.cluster.set_quota("team-a", "0", field="borrowingLimit")
    submit(served, "usual", 4)
    served.pass_time(10)
    submit_with_priority(served, "urgent", 4, "high")
    assert served.workload("urgent")["spec"]["priority"] == 100
    assert conditions(served.workload("usual"))["Preempted"][1] == "InClusterQueue"
    served.pass_time(10)
    assert not is_suspended(served, "urgent")
    assert is_suspended(served, "usual")
