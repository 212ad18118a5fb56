from playground.cluster.control.training import Training
from playground.cluster.story import training_job
from playground.story import fairness
from playground.story.fairness import GPU_TENTHS, TENTHS, Stage, Work
from tests.playground.cluster.served import Object, Served

PRIORITY = "kueue.x-k8s.io/priority-class"


def work(served: Served, item: Work) -> None:
    served.cluster.behaviours.setdefault("gcr.io/run-ai-demo/quickstart", Training(never_ends=True))
    served.cluster.behaviours.setdefault("jupyter/base-notebook", Training(never_ends=True))
    job = training_job(item.name, 0, item.team, item.image)
    resources = job["spec"]["template"]["spec"]["containers"][0]["resources"]
    for part in resources.values():
        part.pop("nvidia.com/gpu", None)
        part[GPU_TENTHS] = str(int(item.gpus * TENTHS))
    if item.interactive:
        job["metadata"]["labels"][PRIORITY] = fairness.INTERACTIVE
    served.cluster.create("jobs", job, item.team)
    served.pass_time(3)


def play(served: Served, stage: Stage) -> None:
    for item in stage.submits:
        work(served, item)
    for name in stage.stops:
        served.cluster.delete("jobs", name, f"team-{name[0]}")
        served.pass_time(45)
    served.pass_time(45)


def allocated(served: Served) -> dict[str, float]:
    return {team: usage(served, team)[0] for team in fairness.QUOTAS}


def usage(served: Served, team: str) -> tuple[float, float]:
    row = queue(served, team)["status"]["flavorsReservation"][0]["resources"][0]
    return int(row["total"]) / TENTHS, int(row["borrowed"]) / TENTHS


def queue(served: Served, team: str) -> Object:
    found = served.cluster.get("clusterqueues", team)
    assert found is not None
    return found


def shares(served: Served) -> dict[str, int]:
    return {
        team: queue(served, team)["status"]["fairSharing"]["weightedShare"]
        for team in fairness.QUOTAS
    }


def waiting(served: Served) -> set[str]:
    return {
        job["metadata"]["name"]
        for team in fairness.QUOTAS
        for job in served.cluster.list("jobs", team)
        if job["spec"]["suspend"]
    }
