"""The fairness story on KAI Scheduler, where interactive work is never preempted."""

from playground.cluster.cluster import Cluster
from playground.cluster.kai_story import queue
from playground.cluster.story import NODE_RESOURCES, PRODUCT, add_namespace, add_node
from playground.settings import Setup
from playground.slack.workspace import Workspace
from playground.story.fairness import NODES, QUOTAS, Stage
from playground.story.fairness_steps import (
    SETTINGS,
    add_channels,
    goes_through_stages,
    submit,
)
from playground.story.person import Card
from playground.story.steps import is_admitted
from playground.story.story import Story

INTERACTIVE = "build"


def _arrange(cluster: Cluster, workspace: Workspace) -> None:
    """KAI divides what is over by weight; with the quotas as weights, as the guide divides it."""
    add_channels(workspace)
    for node in cluster.list("nodes"):
        cluster.remove_node(node["metadata"]["name"])
    for name in NODES:
        add_node(cluster, name, NODE_RESOURCES, PRODUCT)
    for team, gpus in QUOTAS.items():
        body = queue(team, gpu={"quota": gpus, "limit": -1, "overQuotaWeight": gpus})
        if cluster.get("queues", team) is None:
            add_namespace(cluster, team)
            cluster.create("queues", body)
        else:
            cluster.patch("queues", team, {"spec": body["spec"]})


SETUP = Setup(clusters={"default": "kai"}, settings=SETTINGS, arrange=_arrange)


async def play(story: Story) -> None:
    """The same runs as on Kueue, and the same figures for every team after each stage."""
    await goes_through_stages(story, INTERACTIVE, _borrowers_give_back)


async def _borrowers_give_back(story: Story, stage: Stage, cards: dict[str, Card]) -> None:
    for work in stage.submits:
        await is_admitted(story, await submit(story, work, cards, INTERACTIVE))
    for name in stage.waits:
        await story.reply(
            cards[name],
            "was preempted. KAI reclaimed its GPUs for other work by deleting its pods.",
        )
        await cards[name].shows("Preempted, waiting again")
