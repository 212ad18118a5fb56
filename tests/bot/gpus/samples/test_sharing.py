"""GPUs that KAI shares among pods: a reservation of its own holds each for them."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from bot.gpus.amounts import Amounts
from bot.gpus.samples.sampling import sample_all
from tests.bot.gpus.notebook import MINUTE
from tests.bot.gpus.rig import ACTIVE, Sampled, offered
from tests.prometheus import Scraped

GROUP, PLACE = "runai-gpu-group", "kai-resource-reservation"
HOURS = timedelta(hours=3)


def pod(name: str, gpus: int = 0, **annotations: str) -> dict[str, Any]:
    """One of a shared GPU, on a node."""
    whole = {"nvidia.com/gpu": f"{gpus}"}
    resources = {"requests": whole, "limits": whole} if gpus else {}
    container = {"name": "main", "image": "ghcr.io/acme/lane:3.1", "resources": resources}
    told = {each.replace("_", "-"): value for each, value in annotations.items()}
    return {
        "metadata": {"name": name, "labels": {GROUP: "g1"}, "annotations": told},
        "spec": {"nodeName": "gpu-1", "containers": [container]},
    }


def share(sampled: Sampled) -> None:
    """Half of a GPU, and a quarter of it, in two teams' namespaces."""
    sampled.world.create("namespaces", {"metadata": {"name": PLACE}})
    sampled.world.create("pods", pod("reservation-x", 1), PLACE)
    sampled.world.create("pods", pod("half", gpu_fraction="0.5"), "team-a")
    sampled.world.create("pods", pod("quarter", gpu_fraction="0.25"), "team-b")


def scrape(sampled: Sampled) -> Scraped:
    """What exporters say of it: they know the reservation alone."""
    scraped, now = Scraped(), sampled.clock.now()
    times, names = (now - HOURS, now + HOURS), {"namespace": PLACE, "pod": "reservation-x"}
    scraped.add(ACTIVE, {**names, "gpu": "0", "UUID": "a"}, times, 0.6)
    requested = {"container": "main", "node": "gpu-1", "resource": "nvidia_com_gpu"}
    scraped.add("kube_pod_container_resource_requests", {**names, **requested}, times, 1)
    scraped.add("kube_pod_status_phase", {**names, "phase": "Running"}, times, 1)
    offered(scraped, times)
    return scraped


def test_shared_gpus_are_of_those_who_share(sampled: Sampled, tmp_path: Path) -> None:
    share(sampled)
    sampled.pass_time(seconds=60)
    with sampled.measured(tmp_path, scrape(sampled)):
        begun = sampled.clock.now()
        sampled.sample(4)
        assert sampled.held(1) == {"team-a/half": Amounts(500), "team-b/quarter": Amounts(250)}
        found = sampled.held(2, begun + 2 * MINUTE)
        assert found == {
            "team-a/half": Amounts(1_000, 1_000, 600),
            "team-b/quarter": Amounts(500, 500, 300),
        }


def test_minutes_that_nobody_saw_are_theirs(sampled: Sampled, tmp_path: Path) -> None:
    share(sampled)
    sampled.pass_time(seconds=60)
    with sampled.measured(tmp_path, scrape(sampled)):
        sampled.sample(2)
        away = sampled.clock.now()
        sampled.outside.clock.moment = away + 10 * MINUTE
        for _ in range(3):
            sampled.do(lambda session: sample_all(sampled.settings(), session, sampled.clock.now()))
            sampled.run()
            sampled.outside.clock.moment += MINUTE
    found = sampled.held(8, away + 9 * MINUTE)
    assert found == {
        "team-a/half": Amounts(4_000, 4_000, 2_400),
        "team-b/quarter": Amounts(2_000, 2_000, 1_200),
    }
