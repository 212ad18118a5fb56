"""How the pods of a run know their number and find each other by name."""

from collections.abc import Sequence
from functools import partial

from bot.cluster import labels
from bot.cluster.resources import SERVICES
from bot.cluster.types.objects import Pod
from bot.training.kinds.kind import Dependent, Manifest
from bot.training.tables import Run


def domain(run: Run) -> str:
    """The subdomain of its pods, and so its Service's name, which has to begin with a letter."""
    return f"hosts-{run.job_name}"


def host(run: Run, index: int) -> str:
    """The name by which its pods reach the one with that number."""
    return f"{run.job_name}-{index}.{domain(run)}"


def name_service(run: Run) -> Dependent:
    """The headless Service that gives its pods their names."""
    return Dependent(SERVICES, domain(run), partial(_headless, run))


def first_pods(pods: Sequence[Pod]) -> list[Pod]:
    """Those that had number 0, one after the other."""
    return [pod for pod in pods if pod.labels.get(labels.INDEX) == "0"]


def _headless(run: Run) -> Manifest:
    # Names are there before anything answers: those who wait for each other need them.
    return {
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {labels.RUN: run.id},
        }
    }
