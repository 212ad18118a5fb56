"""Alice measures the network between two nodes, and sees that EFA is no longer used."""

from dataclasses import replace

from playground.cluster.cluster import Cluster
from playground.cluster.story import NODE_RESOURCES, PRODUCT, add_node
from playground.settings import Setup
from playground.slack.workspace import Workspace
from playground.story.person import Card, Person
from playground.story.steps import ends_well, is_admitted
from playground.story.story import Story

EXCLUDED = ("vpc.amazonaws.com/", "hugepages-")
TYPE = {"node.kubernetes.io/instance-type": "p4d.24xlarge"}
REFERENCES = [
    {"type": "p4d.24xlarge", "efa": 4, "maximum": 42.04, "average": 8.24},
    {"type": "p4d.24xlarge", "efa": 0, "maximum": 2.38, "average": 0.97},
]
ADAPTERS = {"vpc.amazonaws.com/efa": "4", "hugepages-2Mi": "10Gi"}


def arrange(cluster: Cluster, _workspace: Workspace) -> None:
    """Gives both nodes EFA, which no quota counts."""
    cluster.inside.kueue = replace(cluster.inside.kueue, excluded_prefixes=EXCLUDED)
    for name in ("gpu-1", "gpu-2"):
        cluster.remove_node(name)
        add_node(cluster, name, NODE_RESOURCES | ADAPTERS, PRODUCT | TYPE)


SETUP = Setup(
    settings={
        "clusters": {"default": {"excluded_resources": list(EXCLUDED)}},
        "training": {"network_test": {"references": REFERENCES}},
    },
    arrange=arrange,
)


async def play(story: Story) -> None:
    """The second test is compared with the first, and says what is wrong."""
    alice = story.person("Alice")
    beside = ("secrets", "services")
    story.allowed_writes |= {f"{verb} {each}" for verb in ("create", "delete") for each in beside}
    await _wrong_words_are_explained(alice)
    await alice.types("#team-a", "/gpu nccl --gpus 6")
    first = await _is_measured(story, alice, "nccl")
    await first.shows(
        "average bus bandwidth 10.13 GB/s",
        "maximum bus bandwidth 41.74 GB/s",
        "network efa",
        "41.74 GB/s, 99 % of the reference for p4d.24xlarge with 4 EFA adapters (42.04 GB/s)",
        "It is the first test with this many GPUs on gpu-1, gpu-2.",
    )
    story.trains("nccl-tests", provider="socket")
    await alice.types("#team-a", "/gpu nccl --gpus 6 --name later")
    second = await _is_measured(story, alice, "later")
    await second.shows(
        "network socket",
        "EFA was not used, though gpu-1, gpu-2 have it: NCCL chose socket.",
        "The last test on these nodes, nccl",
        "averaged 10.13 GB/s: this is 91 % less.",
    )
    await alice.types("#team-a", "/gpu network")
    await alice.is_told(
        "Network tests in the clusters of team-a",
        "gpu-1, gpu-2",
        "41.74 GB/s",
        "Bus bandwidth between gpu-1, gpu-2",
    )


async def _wrong_words_are_explained(alice: Person) -> None:
    await alice.types("#team-a", "/gpu nccl --nodes 3")
    await alice.is_told("A test on 3 nodes needs as many nodes with GPUs, but the cluster has 2.")
    await alice.types("#team-a", "/gpu ncll")
    await alice.is_told("nccl")


async def _is_measured(story: Story, alice: Person, name: str) -> Card:
    await alice.is_told(f"Submitted run {name} with 2 nodes, each with 6 GPUs")
    card = await story.card("#team-a", name)
    await is_admitted(story, card)
    await card.shows("Running for", "Kind: nccl", "Nodes: gpu-1, gpu-2")
    await ends_well(alice, "#team-a", card, name)
    return card
