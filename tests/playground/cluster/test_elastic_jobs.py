from dataclasses import replace
from typing import Any

from playground.cluster.control.training import Training
from playground.cluster.story import training_job
from tests.playground.cluster.queued import gpus_of
from tests.playground.cluster.served import JOBS, Object, Served, conditions

ELASTIC = "kueue.x-k8s.io/elastic-job"


def submit(served: Served, nodes: int, *, elastic: bool = True) -> None:
    served.cluster.behaviours["lane"] = Training(never_ends=True)
    counts: dict[str, Any] = {"completions": nodes, "parallelism": nodes}
    body = training_job("lane", 1, "team-a", completionMode="Indexed", **counts)
    if elastic:
        body["metadata"]["annotations"] = {ELASTIC: "true"}
    served.post(JOBS, body)
    served.pass_time(5)


def scale(served: Served, nodes: int) -> None:
    change = {"spec": {"completions": nodes, "parallelism": nodes}}
    assert served.patch(f"{JOBS}/lane", change).status_code == 200
    served.pass_time(5)


def gated(served: Served) -> int:
    return sum(bool(pod["spec"].get("schedulingGates")) for pod in served.pods())


def live(served: Served) -> list[Object]:
    found = served.cluster.list("workloads", "team-a")
    return [w for w in found if "Finished" not in conditions(w)]


def test_elastic_job_grows_while_it_runs(served: Served) -> None:
    submit(served, 2)
    before = {pod["metadata"]["name"] for pod in served.pods()}
    scale(served, 4)
    after = {pod["metadata"]["name"] for pod in served.pods()}
    assert before < after
    assert (served.job()["status"]["ready"], gated(served)) == (4, 0)
    (workload,) = live(served)
    assert workload["spec"]["podSets"][0]["count"] == 4
    assert gpus_of(served, "team-a") == ("4", "0")
    old = next(w for w in served.cluster.list("workloads", "team-a") if w not in live(served))
    assert conditions(old)["Finished"][1] == "WorkloadSliceReplaced"


def test_grown_pods_wait_for_their_quota(served: Served) -> None:
    submit(served, 2)
    scale(served, 14)
    status = served.job()["status"]
    assert (status["active"], status["ready"], gated(served)) == (14, 2, 12)
    running, waiting = live(served)
    assert conditions(running)["Admitted"][0] == "True"
    assert conditions(waiting)["QuotaReserved"][0] == "False"
    notes = waiting["metadata"]["annotations"]
    place = f"team-a/{running['metadata']['name']}"
    assert notes["kueue.x-k8s.io/workload-slice-replacement-for"] == place
    served.cluster.set_quota("team-a", "6")
    served.pass_time(10)
    assert (served.job()["status"]["ready"], gated(served)) == (14, 0)


def test_elastic_job_shrinks_and_gives_back(served: Served) -> None:
    submit(served, 4)
    scale(served, 1)
    served.pass_time(40)
    assert served.job()["status"]["ready"] == 1
    assert gpus_of(served, "team-a") == ("1", "0")
    assert len(live(served)) == 1


def test_wish_to_grow_can_be_taken_back(served: Served) -> None:
    submit(served, 2)
    scale(served, 14)
    scale(served, 2)
    served.pass_time(40)
    assert (served.job()["status"]["ready"], gated(served)) == (2, 0)
    assert gpus_of(served, "team-a") == ("2", "0")


def test_plain_job_that_grows_is_queued_anew(served: Served) -> None:
    submit(served, 2, elastic=False)
    before = {pod["metadata"]["name"] for pod in served.pods()}
    scale(served, 4)
    served.pass_time(60)
    names = {pod["metadata"]["name"] for pod in served.pods()}
    assert not before & names
    assert served.job()["status"]["ready"] == 4
    assert gpus_of(served, "team-a") == ("4", "0")


def test_elastic_jobs_can_be_switched_off(served: Served) -> None:
    inside = served.cluster.inside
    inside.kueue = replace(inside.kueue, elastic=False)
    submit(served, 2)
    assert served.job()["spec"]["template"]["spec"].get("schedulingGates") is None
    before = {pod["metadata"]["name"] for pod in served.pods()}
    scale(served, 3)
    served.pass_time(60)
    assert not before & {pod["metadata"]["name"] for pod in served.pods()}
    assert served.job()["status"]["ready"] == 3
