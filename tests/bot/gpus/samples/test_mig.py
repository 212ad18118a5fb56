"""Slices of MIG as parts of the GPUs that they are of."""

from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from bot.config import Fractions
from bot.gpus.amounts import Amounts
from bot.gpus.nodes import Counting
from playground.cluster.story import add_node
from tests.bot.gpus.rig import ALLOCATABLE, PHASE, REQUESTS, Sampled
from tests.prometheus import Scraped

HOURS = timedelta(hours=3)
# A GPU of four slices whose smallest one is called as a slice of a seventh of an H100 with 96 GB.
NODE, SLICE = "rtx-1", "nvidia.com/mig-1g.24gb"
PRODUCT = "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition"


@pytest.mark.parametrize(
    ("product", "name", "thousandths"),
    [
        ("NVIDIA-A30", "nvidia.com/mig-1g.6gb", 250),
        ("NVIDIA-A30", "nvidia.com/mig-1g.6gb.me", 250),
        ("NVIDIA-A30", "nvidia_com_mig_2g_12gb", 500),
        ("NVIDIA-A30", "nvidia.com/mig-4g.24gb", 1000),
        (PRODUCT, "nvidia.com/mig-1g.24gb", 250),
        (PRODUCT, "nvidia.com/mig-2g.48gb", 500),
        (PRODUCT, "nvidia.com/mig-4g.96gb.gfx", 1000),
        ("NVIDIA-RTX-PRO-5000-Blackwell", "nvidia.com/mig-1g.24gb", 500),
        ("NVIDIA-A100-SXM4-80GB", "nvidia.com/mig-4g.40gb", 571),
        ("NVIDIA-H100-80GB-HBM3", "nvidia.com/mig-7g.80gb", 1000),
        ("NVIDIA-H200", "nvidia.com/mig-1g.18gb", 142),
        ("NVIDIA-B200", "nvidia.com/mig-3g.90gb", 428),
        ("NVIDIA-A300", "nvidia.com/mig-1g.24gb", 142),
        # Where nothing tells the product, the profiles of an A30 are nobody else's.
        ("", "nvidia.com/mig-1g.6gb", 250),
        ("", "nvidia_com_mig_4g_24gb", 1000),
        ("", "nvidia.com/mig-1g.24gb", 142),
        ("", "nvidia.com/mig-3g.40gb", 428),
    ],
)
def test_slices_are_parts_of_their_product(product: str, name: str, thousandths: int) -> None:
    counting = Counting("nvidia.com/gpu", Fractions(), {"gpu-1": product} if product else {})
    assert counting.held({name: Decimal(1)}, "gpu-1") == thousandths


def test_slices_of_a_node_count_as_its_gpus(sampled: Sampled) -> None:
    sampled.pass_time(seconds=60)
    sampled.sample(2)
    before = there(sampled)
    furnish(sampled)
    sampled.pass_time(seconds=60)
    sampled.sample(3)
    assert sampled.held(1) == {"team-a/sliced": Amounts(500)}
    assert there(sampled) - before == 1000


def test_missed_slices_are_filled_as_such(sampled: Sampled, tmp_path: Path) -> None:
    furnish(sampled)
    sampled.pass_time(seconds=60)
    sampled.sample(3)
    begun = sampled.clock.now()
    sampled.pass_time(minutes=90)
    sampled.restart()
    with sampled.measured(tmp_path, scraped((begun - HOURS, begun + HOURS))):
        sampled.sample(4)
    at = begun + timedelta(minutes=30)
    held = {"team-a/sliced": Amounts(500), "team-a/later": Amounts(500)}
    assert sampled.held(1, at) == held
    assert [each.amounts.allocated for each in sampled.used(1, at).nodes] == [1000]


def furnish(sampled: Sampled) -> None:
    """A GPU in four slices, two of which a pod holds."""
    add_node(sampled.world, NODE, {SLICE: "4"}, {"nvidia.com/gpu.product": PRODUCT})
    sampled.world.create("pods", holder(), "team-a")


def holder() -> dict[str, Any]:
    resources = {"requests": {SLICE: "2"}, "limits": {SLICE: "2"}}
    container = {"name": "main", "image": "ghcr.io/acme/lane:3.1", "resources": resources}
    return {
        "metadata": {"name": "sliced"},
        "spec": {"nodeName": NODE, "containers": [container]},
    }


def there(sampled: Sampled) -> int:
    """The GPUs of all nodes in the last minute, in thousandths."""
    return sum(each.amounts.allocated for each in sampled.used(1).nodes)


def scraped(times: tuple[datetime, datetime]) -> Scraped:
    """What kube-state-metrics says of the node, and of another pod there."""
    found = Scraped()
    resource = {"node": NODE, "resource": "nvidia_com_mig_1g_24gb", "unit": "integer"}
    found.add(ALLOCATABLE, resource, times, 4)
    for pod in ("sliced", "later"):
        names = {"namespace": "team-a", "pod": pod, "uid": f"uid-{pod}"}
        found.add(REQUESTS, {**names, **resource, "container": "main"}, times, 2)
        found.add(PHASE, {**names, "phase": "Running"}, times, 1)
    return found
