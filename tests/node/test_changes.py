"""Runs whose nodes are taken away or change while they run, and go on."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from playground.story.steps import ends_well, is_admitted, submits
from tests.cluster.api import wait_for
from tests.cluster.bots import Plane
from tests.cluster.site import Site
from tests.node.telling import opened_story
from tests.node.test_kinds import PLAIN, TORCH, WRITES

# Every epoch all processes meet; those that come later learn from the others how many there were.
_EPOCHS = (
    "import time, torch; from torch import distributed; distributed.init_process_group('gloo');"
    " size = distributed.get_world_size(); done = open('/tmp/done', 'a+'); done.seek(0);"
    " first = torch.tensor(len(done.read()));"
    " distributed.all_reduce(first, distributed.ReduceOp.MAX);"
    " [(distributed.all_reduce(torch.ones(1)), done.write('.'), done.flush(),"
    " print('epoch', epoch, 'loss', size + 0.5, flush=True), time.sleep(1))"
    " for epoch in range(int(first) + 1, 1000)]"
)


@pytest.fixture
def urgent(plane: Plane) -> Iterator[str]:
    """A priority above that of others."""
    site = Site(plane.api)
    body = {"metadata": {"name": "urgent"}, "value": 1000, "description": "above others"}
    yield site.add("workloadpriorityclasses.kueue.x-k8s.io", body)
    site.close()


@pytest.mark.usefixtures("team")
def test_a_preempted_run_goes_on(plane: Plane, urgent: str, tmp_path: Path) -> None:
    async def play() -> None:
        async with opened_story(plane, tmp_path) as story:
            alice = story.person("Alice")
            long = f'{PLAIN} --gpus 4 -- sh -c "echo began; sleep 20; echo loss 0.125"'
            first = await submits(story, alice, "#team-a", "first", long)
            await is_admitted(story, first)
            second = await submits(story, alice, "#team-a", "second", long)
            await is_admitted(story, second)
            await second.shows("second · Running")
            quick = f"{PLAIN} --gpus 4 --priority {urgent} -- python3 -c \"print('loss 0.5')\""
            card = await submits(story, alice, "#team-a", "quick", quick)
            await is_admitted(story, card)
            await story.reply(second, "second was preempted.")
            await ends_well(alice, "#team-a", card, "quick")
            await is_admitted(story, second)
            await ends_well(alice, "#team-a", second, "second")
            await second.shows("loss 0.125")
            await ends_well(alice, "#team-a", first, "first")
            await story.ends()

    asyncio.run(play())


@pytest.mark.usefixtures("team")
def test_an_elastic_run_takes_other_numbers(plane: Plane, tmp_path: Path) -> None:
    async def play() -> None:
        async with opened_story(plane, tmp_path) as story:
            story.allowed_writes |= WRITES
            alice = story.person("Alice")
            command = f'--kind elastic --nodes 1:3 --gpus 1 {TORCH} -- python3 -c "{_EPOCHS}"'
            card = await submits(story, alice, "#team-a", "wide", command)
            await is_admitted(story, card)
            await card.shows("wide · Running", "loss 3.5")
            await alice.types("#team-a", "/train scale wide 1")
            await alice.is_told("Scaling wide to 1 node")
            await card.shows("loss 1.5")
            await alice.types("#team-a", "/train scale wide 3")
            await alice.is_told("Scaling wide to 3 nodes")
            await card.shows("loss 3.5")
            await alice.types("#team-a", "/train scale wide 2")
            await alice.is_told("Scaling wide to 2 nodes")
            await card.shows("loss 2.5")
            await alice.types("#team-a", "/train stop wide")
            await alice.is_told("Stopping wide")
            await card.shows("wide · Stopped")
            await alice.is_mentioned("#team-a", "wide was stopped by alice", thread=card)
            wait_for(lambda: not plane.api.list("pods", "team-a"), "the end of its pods")
            await story.ends()

    asyncio.run(play())
