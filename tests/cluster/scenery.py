"""The cluster that the stories know (playground.cluster.story), on a control plane."""

from playground.cluster.story import TEAMS
from tests.cluster.api import Object
from tests.cluster.site import Site

RUNTIMES = "clustertrainingruntimes.trainer.kubeflow.org"
_PRIORITIES = {"interactive": 1000, "high": 100, "low": -100}


def furnish(site: Site) -> None:
    """Adds what every story of playground/scenarios begins with."""
    site.add_node("gpu-1")
    site.add_node("gpu-2")
    site.add_flavor()
    for name, value in _PRIORITIES.items():
        body = {"metadata": {"name": name}, "value": value, "description": f"{name} priority"}
        site.add("workloadpriorityclasses.kueue.x-k8s.io", body)
    for team, gpus in TEAMS.items():
        site.add_team(gpus, team)
        for name in (f"{team}-data", "imagenet"):
            site.add_claim(team, name)


def template(container: str) -> Object:
    """A pod of one container with a GPU."""
    requests = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}
    resources = {"requests": requests, "limits": {"nvidia.com/gpu": "1"}}
    body = {"name": container, "image": "ghcr.io/acme/lane:3.1", "resources": resources}
    return {"spec": {"containers": [body]}}


def runtime(name: str) -> Object:
    """A runtime of one node that runs what a TrainJob says."""
    step = {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}
    job = {"metadata": step, "spec": {"template": template("node")}}
    sets = {"spec": {"replicatedJobs": [{"name": "node", "template": job}]}}
    spec = {"mlPolicy": {"numNodes": 1}, "template": sets}
    return {"metadata": {"name": name}, "spec": spec}
