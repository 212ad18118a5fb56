"""What goes wrong in containers and on nodes, and what people are told of it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from playground.story.steps import ends_well, is_admitted, submits
from tests.cluster.api import Object, wait_for
from tests.cluster.bots import Plane
from tests.node.node import Node
from tests.node.telling import opened_story
from tests.node.test_kinds import PLAIN, SMALL

# A kubelet tries an image again and again: the run waits, and is stopped in the end.
_NO_SUCH = "localhost:1/team/lane:3.1"


@pytest.mark.usefixtures("team")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            f"{PLAIN} -- python3 -u -c \"print('loss 0.5'); print('no such dataset'); exit(3)\"",
            (
                "lane · Failed after",
                "Its program ended with exit code 3.",
                "Last line: no such dataset",
            ),
        ),
        (
            f'{PLAIN} -- python3 -c "x = bytearray(2**30); print(len(x))"',
            (
                "lane · Failed after",
                "Its program used more memory than its limit of 332Mi and was killed (OOMKilled).",
            ),
        ),
        (
            f"{PLAIN} -- trian.py --epochs 3",
            ("lane · Failed after", "Its program could not be started:", "trian.py"),
        ),
    ],
    ids=["error", "memory", "command"],
)
def test_a_card_says_why_a_program_failed(
    options: str, told: tuple[str, ...], plane: Plane, tmp_path: Path
) -> None:
    async def play() -> None:
        async with opened_story(plane, tmp_path) as story:
            alice = story.person("Alice")
            card = await submits(story, alice, "#team-a", "lane", options)
            await is_admitted(story, card)
            for attempt in (1, 2):
                await story.reply(card, f"Attempt {attempt} of 3 failed.")
            await card.shows(*told)
            words = "lane failed after"
            await alice.is_mentioned("#team-a", words, thread=card, broadcast=True)
            await story.ends()

    asyncio.run(play())


@pytest.mark.usefixtures("team")
def test_an_image_that_is_missing_is_told(plane: Plane, tmp_path: Path) -> None:
    async def play() -> None:
        async with opened_story(plane, tmp_path) as story:
            alice = story.person("Alice")
            options = f"--image {_NO_SUCH} {SMALL}"
            card = await submits(story, alice, "#team-a", "lane", f"{options} -- python3 train.py")
            await is_admitted(story, card)
            await card.shows("lane · Creating", "Its image cannot be pulled:", _NO_SUCH)
            await alice.types("#team-a", "/train stop lane")
            await alice.is_told("Stopping lane")
            await card.shows("lane · Stopped")
            await alice.is_mentioned("#team-a", "lane was stopped by alice", thread=card)
            await story.ends()

    asyncio.run(play())


@pytest.mark.usefixtures("team")
def test_a_run_outlives_its_killed_pod(plane: Plane, tmp_path: Path) -> None:
    async def play() -> None:
        async with opened_story(plane, tmp_path) as story:
            alice = story.person("Alice")
            # Of a deleted pod the log may be gone before it is read, so this one does not end well.
            program = "trap 'exit 143' TERM; echo began; sleep 12 & wait; echo loss 0.125"
            command = f'{PLAIN} --gpus 1 -- sh -c "{program}"'
            card = await submits(story, alice, "#team-a", "lane", command)
            await is_admitted(story, card)
            await card.shows("lane · Running")
            (pod,) = _pods(plane)
            plane.api.delete("pods", pod["metadata"]["name"], "team-a")
            await ends_well(alice, "#team-a", card, "lane")
            await card.shows("loss 0.125")
            await story.ends()

    asyncio.run(play())


@pytest.mark.usefixtures("team")
def test_a_run_moves_when_its_node_is_drained(
    plane: Plane, nodes: list[Node], tmp_path: Path
) -> None:
    async def play() -> None:
        async with opened_story(plane, tmp_path) as story:
            alice = story.person("Alice")
            # A shell that is the first process goes on unless it says otherwise, here to its end.
            program = "trap 'exit 143' TERM; echo began; sleep 20 & wait; echo loss 0.125"
            command = f'{PLAIN} --gpus 1 -- sh -c "{program}"'
            card = await submits(story, alice, "#team-a", "lane", command)
            await is_admitted(story, card)
            await card.shows("lane · Running")
            (pod,) = _pods(plane)
            drained = pod["spec"]["nodeName"]
            plane.api.patch("nodes", drained, {"spec": {"unschedulable": True}})
            try:
                _evict(plane, pod)
                await story.reply(card, "Its pod was evicted from its node")
                other = ({node.name for node in nodes} - {drained}).pop()
                await ends_well(alice, "#team-a", card, "lane")
                await card.shows("loss 0.125")
                ended = [each for each in _pods(plane) if each["status"]["phase"] == "Succeeded"]
                assert [each["spec"]["nodeName"] for each in ended] == [other]
            finally:
                plane.api.patch("nodes", drained, {"spec": {"unschedulable": None}})
            await story.ends()

    asyncio.run(play())


@pytest.mark.usefixtures("team")
def test_a_run_is_stopped_in_the_middle(plane: Plane, tmp_path: Path) -> None:
    async def play() -> None:
        async with opened_story(plane, tmp_path) as story:
            alice = story.person("Alice")
            command = f'{PLAIN} --gpus 1 -- sh -c "echo loss 0.5; exec sleep 600"'
            card = await submits(story, alice, "#team-a", "lane", command)
            await is_admitted(story, card)
            await card.shows("lane · Running", "loss 0.5")
            await alice.types("#team-a", "/train stop lane")
            await alice.is_told("Stopping lane")
            await card.shows("lane · Stopped")
            await alice.is_mentioned("#team-a", "lane was stopped by alice", thread=card)
            wait_for(lambda: not _pods(plane), "the end of its pod")
            await story.ends()

    asyncio.run(play())


def _pods(plane: Plane) -> list[Object]:
    return plane.api.list("pods", "team-a")


def _evict(plane: Plane, pod: Object) -> None:
    """As `kubectl drain` does."""
    name = pod["metadata"]["name"]
    body: dict[str, Any] = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": "team-a"},
    }
    plane.api.ask("POST", f"/api/v1/namespaces/team-a/pods/{name}/eviction", json=body)
