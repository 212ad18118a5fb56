"""Alice finds the slow node of four, and after its repair a slow pair."""

from playground.cluster.cluster import Cluster
from playground.cluster.story import NODE_RESOURCES, PRODUCT, add_node
from playground.settings import Setup
from playground.slack.workspace import Workspace
from playground.story.person import Card, Person
from playground.story.steps import ends_well, is_admitted
from playground.story.story import Story

TYPE = {"node.kubernetes.io/instance-type": "Standard_ND96asr_v4"}
NODES = ("gpu-1", "gpu-2", "gpu-3", "gpu-4")
REFERENCE = {"type": "Standard_ND96asr_v4", "efa": 0, "maximum": 42.5}


def arrange(cluster: Cluster, _workspace: Workspace) -> None:
    """Four nodes of one type."""
    for name in NODES:
        if cluster.get("nodes", name) is not None:
            cluster.remove_node(name)
        add_node(cluster, name, NODE_RESOURCES, PRODUCT | TYPE)


SETUP = Setup(settings={"training": {"network_test": {"references": [REFERENCE]}}}, arrange=arrange)


async def play(story: Story) -> None:
    """The results name the node and then the pair, with their share of the reference."""
    alice = story.person("Alice")
    beside = ("secrets", "services")
    story.allowed_writes |= {f"{verb} {each}" for verb in ("create", "delete") for each in beside}
    await alice.types("#team-a", "/gpu nccl --gpus 1 --all-pairs")
    await alice.is_told("Pairs are measured among 3 to 64 nodes, not 2.")
    story.trains(
        "nccl-tests", provider="ib", bandwidth=42.3, slow_pairs={"0-2": 5.1, "1-2": 5.2, "2-3": 0.0}
    )
    first = await _is_measured(story, alice, "nccl")
    await first.shows("slow nodes gpu-3: at most 5.20 GB/s (12 % of the reference)", "pairs 6")
    story.trains("nccl-tests", provider="ib", bandwidth=42.3, slow_pairs={"1-3": 21.25})
    second = await _is_measured(story, alice, "repaired")
    await second.shows("slow pairs gpu-2 and gpu-4: 21.25 GB/s (50 % of the reference)")
    story.trains("nccl-tests", provider="ib", bandwidth=42.3, slow_pairs={})
    third = await _is_measured(story, alice, "rewired")
    await third.shows(
        "network ib", "pairs all 6 within reach", "42.30 GB/s (100 % of the reference)"
    )
    await alice.types("#team-a", "/gpu network")
    await alice.is_told(
        "Network tests in the clusters of team-a", "pairs: all 6 within reach, the slowest"
    )


async def _is_measured(story: Story, alice: Person, name: str) -> Card:
    await alice.types("#team-a", f"/gpu nccl --nodes 4 --gpus 1 --all-pairs --name {name}")
    await alice.is_told(
        f"Submitted run {name} with 4 nodes, each with 1 GPU",
        "it measures their 6 pairs in 3 rounds: about 2 minutes",
    )
    card = await story.card("#team-a", name)
    await is_admitted(story, card)
    await card.shows("Kind: nccl, as all-pairs", "Nodes: gpu-1, gpu-2, gpu-3, gpu-4")
    await ends_well(alice, "#team-a", card, name)
    return card
