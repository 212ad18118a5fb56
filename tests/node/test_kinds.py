"""Every kind of run, executed: what people see of it is compared."""

import asyncio
from pathlib import Path

import pytest

from playground.scenes import ends_well, is_admitted, submits
from tests.cluster.control_plane import ControlPlane
from tests.node.telling import opened_story

SMALL = "--cpu 200m --memory 300Mi --shm 32Mi"
PLAIN, TORCH = f"--image localhost/plain:1 {SMALL}", f"--image localhost/torch:1 {SMALL}"
WRITES = {
    f"{verb} {resource}"
    for verb in ("create", "delete", "patch")
    for resource in ("mpijobs", "pytorchjobs", "trainjobs", "secrets", "services", "configmaps")
}
RANK = (
    "import os, socket;"
    " print('rank', os.environ.get('OMPI_COMM_WORLD_RANK', os.environ.get('RANK')),"
    " 'of', os.environ.get('OMPI_COMM_WORLD_SIZE', os.environ.get('WORLD_SIZE')),"
    " 'on', socket.gethostname(), flush=True)"
)


@pytest.mark.usefixtures("team")
def test_a_job_ends_with_its_results(plane: ControlPlane, tmp_path: Path) -> None:
    async def play() -> None:
        async with opened_story(plane, tmp_path) as story:
            alice = story.person("Alice")
            program = "print('epoch 1 loss 0.5'); print('epoch 2 loss 0.25 accuracy 0.9')"
            command = f'{PLAIN} --gpus 1 -- python3 -c "{program}"'
            card = await submits(story, alice, "#team-a", "lane", command)
            await is_admitted(story, card)
            await ends_well(alice, "#team-a", card, "lane")
            await card.shows("loss 0.25", "accuracy 0.9")
            await story.ends()

    asyncio.run(play())


@pytest.mark.usefixtures("team")
@pytest.mark.parametrize(
    "options",
    [
        "--kind sync --nodes 2 --gpus 1",
        "--kind mpi --nodes 2 --gpus 1",
        "--kind elastic --nodes 2 --gpus 1",
        "--kind elastic --nodes 1:3 --gpus 1",
    ],
)
def test_all_nodes_of_a_kind_take_part(options: str, plane: ControlPlane, tmp_path: Path) -> None:
    async def play() -> None:
        async with opened_story(plane, tmp_path) as story:
            story.allowed_writes |= WRITES
            alice = story.person("Alice")
            command = f'{options} {TORCH} -- python3 -c "{RANK}"'
            card = await submits(story, alice, "#team-a", "wide", command)
            await is_admitted(story, card)
            await ends_well(alice, "#team-a", card, "wide")
            await story.ends()

    asyncio.run(play())
