"""GPU types on KAI Scheduler are node pools, each with its own Queue of the team."""

from playground.cluster.cluster import Cluster
from playground.cluster.kai_story import ABOVE, queue
from playground.cluster.story import NODE_RESOURCES, add_node
from playground.cluster.two_types import PRODUCT
from playground.settings import Setup
from playground.slack.workspace import Workspace
from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story

_POOL = {"kai.scheduler/node-pool": "a100"}


def _arrange(cluster: Cluster, workspace: Workspace) -> None:
    del workspace
    add_node(cluster, "gpu-a100", NODE_RESOURCES, PRODUCT | _POOL)
    gpus = {"quota": 2, "limit": 2, "overQuotaWeight": 1}
    above = queue(f"{ABOVE}-a100", {"quota": -1, "limit": -1, "overQuotaWeight": 1}, parent="")
    for body in (above, queue("team-a-a100", gpus, above["metadata"]["name"])):
        body["metadata"]["labels"] = dict(_POOL)
        cluster.create("queues", body)


SETUP = Setup(clusters={"default": "kai"}, arrange=_arrange)
_LANE = "--image ghcr.io/acme/lane:3.1 --gpus 2"


async def play(story: Story) -> None:
    """The run names the pool's Queue; what no pool has is refused."""
    alice = story.person("Alice")
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=60)
    await alice.types("#team-a", f"/train submit lost {_LANE} --gpu-type b200 -- python c.py")
    await alice.is_told(
        "Queue team-a has no GPU type b200.",
        "It has: default (16 GPUs free), a100 (2 GPUs free).",
    )
    lane = await submits(story, alice, "#team-a", "lane", f"{_LANE} --gpu-type a100 -- python a.py")
    await is_admitted(story, lane)
    await lane.shows("Running for", "2 of a100")
    await alice.types("#team-a", "/train export lane")
    await alice.is_told('"queue": "team-a-a100"', '"gpu-a100"')
    await ends_well(alice, "#team-a", lane, "lane")
