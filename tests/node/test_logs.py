"""Logs of programs that say much, as a kubelet keeps them."""

import asyncio
import re
from pathlib import Path

import pytest

from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story
from tests.cluster.bots import Plane
from tests.cluster.site import JOBS
from tests.node.owners import images
from tests.node.telling import opened_story
from tests.node.test_kinds import PLAIN, TORCH, WRITES

_BATCH, _SECONDS = 30_000, 12
# 3 MB/s: its node begins a new file every few seconds, and a kubelet serves the newest alone. The
# last lines come after a quiet time longer than its look at sizes (10 s), so no file begins there.
_FAST = (
    f"import time; [(time.sleep(15 if s == {_SECONDS - 1} else 1), print(chr(10).join("
    f"'line %07d' % ({_BATCH} * s + n) + 'x' * 84 for n in range({_BATCH})), flush=True))"
    f" for s in range({_SECONDS})]; print('loss 0.5', flush=True)"
)
# 50 MB that overwrite themselves, then the end of a program that failed. Two pipes lead to a log,
# so lines of stdout and stderr have an order only where some time lies between them.
_BARS = (
    "import sys, time; [sys.stdout.write(chr(13) + '%3d%%|' % (n // 7000) + '#' * 60)"
    " for n in range(750000)]; print(); print('loss 1.879', flush=True); time.sleep(2);"
    " raise RuntimeError('no such bar')"
)
# A container's log has pieces of 16 KiB, which end within characters of several bytes.
_UMLAUTS = "print('a' + 'ä' * 20000); print('b' + '語' * 7000 + 'c'); print('loss 0.25')"


@pytest.mark.usefixtures("team")
def test_a_fast_log_is_followed_and_kept(plane: Plane, tmp_path: Path) -> None:
    async def play() -> None:
        async with opened_story(plane, tmp_path) as story:
            alice = story.person("Alice")
            command = f'{PLAIN} --gpus 1 -- python3 -c "{_FAST}"'
            card = await submits(story, alice, "#team-a", "fast", command)
            await is_admitted(story, card)
            await card.shows("fast · Running")
            await alice.types("#team-a", "/train logs fast --follow")
            await alice.is_told("Following the log of fast in your direct messages")
            followed = await alice.is_written_to("Log of fast")
            await followed.shows(re.compile(r"line \d{7}"))
            await ends_well(alice, "#team-a", card, "fast")
            await card.shows("loss 0.5")
            await followed.shows("The run has ended.", "loss 0.5")
            await alice.types("#team-a", "/train logs fast --file")
            await alice.is_told("is in the file fast.log")
            await alice.is_written_to("Log of fast", "fast.log")
            lines = await _file(story, "fast.log")
            await story.ends()
        assert lines[-1] == "loss 0.5"
        # A kubelet on a busy machine looks late, and may begin a file within one of the last lines.
        whole = lines if lines[0].startswith("line ") else lines[1:]
        numbers = [int(line[5:12]) for line in whole[:-1]]
        last = _BATCH * _SECONDS
        assert numbers == [*range(last - len(numbers), last)]
        assert numbers

    asyncio.run(play())


@pytest.mark.usefixtures("team")
def test_bars_hide_no_error(plane: Plane, tmp_path: Path) -> None:
    async def play() -> None:
        async with opened_story(plane, tmp_path) as story:
            alice = story.person("Alice")
            command = f'{PLAIN} --gpus 1 -- python3 -c "{_BARS}"'
            card = await submits(story, alice, "#team-a", "bars", command)
            await is_admitted(story, card)
            for attempt in (1, 2):
                await story.reply(card, f"Attempt {attempt} of 3 failed.", "no such bar")
            await card.shows("bars · Failed", "Last line: RuntimeError: no such bar", "loss 1.879")
            words = "bars failed after"
            await alice.is_mentioned("#team-a", words, thread=card, broadcast=True)
            await alice.types("#team-a", "/train logs bars --previous")
            await alice.is_told("before its last restart", "RuntimeError: no such bar")
            await story.ends()

    asyncio.run(play())


@pytest.mark.usefixtures("team")
def test_long_lines_keep_their_characters(plane: Plane, tmp_path: Path) -> None:
    async def play() -> None:
        async with opened_story(plane, tmp_path) as story:
            alice = story.person("Alice")
            command = f'{PLAIN} --gpus 1 -- python3 -c "{_UMLAUTS}"'
            card = await submits(story, alice, "#team-a", "long", command)
            await is_admitted(story, card)
            await ends_well(alice, "#team-a", card, "long")
            await card.shows("loss 0.25")
            await alice.types("#team-a", "/train logs long --file")
            await alice.is_told("is in the file long.log")
            await alice.is_written_to("Log of long", "long.log")
            first, second, last = await _file(story, "long.log")
            await story.ends()
        assert re.fullmatch("aä{5000,}.*", first), first[-100:]
        assert re.fullmatch("b語{6999,7000}c?.*", second), second[-100:]
        assert last == "loss 0.25"

    asyncio.run(play())


@pytest.mark.usefixtures("team")
def test_each_node_has_a_log(plane: Plane, tmp_path: Path) -> None:
    async def play() -> None:
        async with opened_story(plane, tmp_path) as story:
            story.allowed_writes |= WRITES
            alice = story.person("Alice")
            options = f"--kind elastic --nodes 2 --launcher none --gpus 1 {TORCH}"
            command = f"{options} -- sh -c 'echo I am node $JOB_COMPLETION_INDEX; exec sleep 600'"
            card = await submits(story, alice, "#team-a", "wide", command)
            await is_admitted(story, card)
            await story.until(lambda: _speaking(plane) == 2, lambda: "its pods say nothing")
            for node in (0, 1):
                await alice.types("#team-a", f"/train logs wide --pod {node}")
                await alice.is_told("Log of wide", f"I am node {node}")
            await alice.types("#team-a", "/train stop wide")
            await alice.is_told("Stopping wide")
            await card.shows("wide · Stopped")
            await alice.is_mentioned("#team-a", "wide was stopped by alice", thread=card)
            await story.ends()

    asyncio.run(play())


@pytest.mark.usefixtures("team")
def test_the_named_container_speaks_for_its_pod(plane: Plane, tmp_path: Path) -> None:
    """A Job that was started without the bot, whose first container is a sidecar."""
    plain = {"image": f"{images()}/plain:1"}
    containers = [
        {**plain, "name": name, "command": ["sh", "-c", f"echo I am the {name}; sleep 60"]}
        for name in ("proxy", "trainer")
    ]
    marks = {"kubectl.kubernetes.io/default-container": "trainer"}
    template = {
        "metadata": {"annotations": marks},
        "spec": {"restartPolicy": "Never", "containers": containers},
    }
    metadata = {"name": "theirs", "labels": {"kueue.x-k8s.io/queue-name": "team-a"}}
    plane.api.create(JOBS, {"metadata": metadata, "spec": {"template": template}}, "team-a")

    async def play() -> None:
        async with opened_story(plane, tmp_path) as story:
            alice = story.person("Alice")
            await story.until(
                lambda: _speaking(plane, container="trainer") == 1, lambda: "its pod says nothing"
            )
            await alice.types("#team-a", "/train logs theirs")
            await alice.is_told("theirs", "I am the trainer")
            await story.ends()

    asyncio.run(play())


def _speaking(plane: Plane, **container: str) -> int:
    """How many pods run and have printed something; a pod runs a moment before it does."""
    running = [e for e in plane.api.list("pods", "team-a") if e["status"]["phase"] == "Running"]
    logs = (f"/api/v1/namespaces/team-a/pods/{e['metadata']['name']}/log" for e in running)
    return sum(bool(plane.api.text(each, **container)) for each in logs)


async def _file(story: Story, name: str) -> list[str]:
    """The lines of a file that the bot has shared."""
    files = story.world.slack.files
    await story.until(
        lambda: any(each.name == name for each in files.values()), lambda: f"there is no {name}"
    )
    (found,) = [each for each in files.values() if each.name == name]
    return found.content.decode().splitlines()
