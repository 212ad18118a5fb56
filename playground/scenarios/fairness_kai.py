"""The fairness story on KAI Scheduler, where interactive work is never preempted."""

from playground.cluster.cluster import Cluster
from playground.cluster.kai_story import queue
from playground.cluster.story import NODE_RESOURCES, PRODUCT, add_namespace, add_node
from playground.settings import Setup
from playground.slack.workspace import Workspace
from playground.story.fairness import FLAVOR, NODES, QUOTAS, STAGES, Stage, works
from playground.story.fairness_steps import (
    SETTINGS,
    add_channels,
    all_start,
    stands,
    submit,
    the_rest_share,
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
    for image in {work.image for work in works().values()}:
        story.trains(image, seconds_per_epoch=86_400)
    cards: dict[str, Card] = {}
    borrowing, reclaiming, queueing, sharing = STAGES
    await all_start(story, borrowing, cards, INTERACTIVE)
    await stands(story, borrowing)
    await _borrowers_give_back(story, reclaiming, cards)
    await stands(story, reclaiming)
    await _others_wait(story, queueing, cards)
    await stands(story, queueing)
    await the_rest_share(story, sharing, cards)
    await stands(story, sharing)


async def _borrowers_give_back(story: Story, stage: Stage, cards: dict[str, Card]) -> None:
    for work in stage.submits:
        await is_admitted(story, await submit(story, work, cards, INTERACTIVE))
    for name in stage.waits:
        await story.reply(
            cards[name],
            "was preempted. KAI reclaimed its GPUs for other work by deleting its pods.",
        )
        await cards[name].shows("Preempted, waiting again")


async def _others_wait(story: Story, stage: Stage, cards: dict[str, Card]) -> None:
    for work in stage.submits:
        card = await submit(story, work, cards, INTERACTIVE)
        await card.shows("Pending", f"It is waiting for {work.gpus} GPUs of {FLAVOR}")
