"""The cluster that the stories know (playground.cluster.story), on a control plane."""

from playground.cluster.story import TEAMS
from tests.cluster.site import Site

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
