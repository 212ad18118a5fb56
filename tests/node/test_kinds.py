"""Every kind of run, executed: what people see of it is compared."""

import asyncio
from functools import partial
from pathlib import Path

import httpx
import pytest

from playground.story.steps import ends_well, is_admitted, submits
from tests.cluster.api import wait_for
from tests.cluster.bots import Plane
from tests.cluster.control_plane import ControlPlane
from tests.cluster.rights import deploy
from tests.node.owners import images
from tests.node.telling import opened_story

_TEAM = "team-a"
SMALL = "--cpu 200m --memory 300Mi --shm 32Mi"
PLAIN, TORCH = (f"--image {images()}/{each}:1 {SMALL}" for each in ("plain", "torch"))
WRITES = {
    f"{verb} {resource}"
    for verb in ("create", "delete", "patch")
    for resource in (
        "jobs",
        "mpijobs",
        "pytorchjobs",
        "trainjobs",
        "secrets",
        "services",
        "configmaps",
    )
}
# The first of the processes tells how many there are.
MPI_PROGRAM = (
    "import os; rank, size = (os.environ['OMPI_COMM_WORLD_' + each] for each in ('RANK', 'SIZE'));"
    " rank == '0' and print('loss', size + '.5')"
)
# Each adds 1.5 to the sum.
TORCH_PROGRAM = (
    "import torch; from torch import distributed; distributed.init_process_group('gloo');"
    " sum = torch.tensor(1.5); distributed.all_reduce(sum);"
    " distributed.get_rank() == 0 and print('loss', sum.item())"
)


@pytest.mark.usefixtures("team")
def test_a_job_ends_with_its_results(plane: Plane, tmp_path: Path) -> None:
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
    ("options", "program", "loss"),
    [
        ("--kind sync --nodes 2", MPI_PROGRAM, "loss 2.5"),
        ("--kind sync --nodes 1 --processes 3", MPI_PROGRAM, "loss 3.5"),
        ("--kind mpi --nodes 2", MPI_PROGRAM, "loss 2.5"),
        ("--kind mpi --nodes 1", MPI_PROGRAM, "loss 1.5"),
        ("--kind elastic --nodes 1", TORCH_PROGRAM, "loss 1.5"),
        ("--kind elastic --nodes 2", TORCH_PROGRAM, "loss 3"),
        ("--kind elastic --nodes 1:3", TORCH_PROGRAM, "loss 4.5"),
        ("--kind elastic --form trainjob --nodes 1", TORCH_PROGRAM, "loss 1.5"),
        ("--kind elastic --form trainjob --nodes 2", TORCH_PROGRAM, "loss 3"),
        ("--kind elastic --form pytorchjob --nodes 1", TORCH_PROGRAM, "loss 1.5"),
        ("--kind elastic --form pytorchjob --nodes 2", TORCH_PROGRAM, "loss 3"),
    ],
)
def test_all_nodes_of_a_run_take_part(
    options: str, program: str, loss: str, plane: Plane, tmp_path: Path
) -> None:
    async def play() -> None:
        async with opened_story(plane, tmp_path) as story:
            story.allowed_writes |= WRITES
            alice = story.person("Alice")
            command = f'{options} --gpus 1 {TORCH} -- python3 -c "{program}"'
            card = await submits(story, alice, "#team-a", "wide", command)
            await is_admitted(story, card)
            await ends_well(alice, "#team-a", card, "wide")
            await card.shows(loss)
            await story.ends()

    asyncio.run(play())


@pytest.mark.usefixtures("team")
def test_workers_of_a_deployment_take_part(own: ControlPlane, tmp_path: Path) -> None:
    """Without a quota engine, on the network of the nodes."""
    deploy(own.api, "16-no-engine.yaml")
    settings = {
        "clusters": {"default": {"engine": "none"}},
        "teams": {_TEAM: {"admission": {"host_network": ["sync"]}}},
    }

    async def play() -> None:
        async with opened_story(own, tmp_path, settings) as story:
            story.allowed_writes |= WRITES | {"create deployments", "delete deployments"}
            alice = story.person("Alice")
            options = f"--kind sync --form deployment --nodes 2 --host-network --gpus 1 {TORCH}"
            command = f'{options} -- python3 -c "{MPI_PROGRAM}"'
            card = await submits(story, alice, "#team-a", "wide", command)
            await is_admitted(story, card)
            await ends_well(alice, "#team-a", card, "wide")
            await card.shows("loss 2.5", "Nodes: node-1, node-2")
            wait_for(lambda: not own.api.list("deployments.apps", _TEAM), "the end of the workers")
            await story.ends()

    asyncio.run(play())


@pytest.mark.usefixtures("team")
def test_a_session_answers_until_it_is_stopped(plane: Plane, tmp_path: Path) -> None:
    async def play() -> None:
        async with opened_story(plane, tmp_path) as story:
            story.allowed_writes |= WRITES
            alice = story.person("Alice")
            serve = "python3 -m http.server 8888 --directory /usr/lib/python3"
            options = f"--kind interactive --port 8888 --time 1h --gpus 1 {PLAIN}"
            card = await submits(story, alice, "#team-a", "nb", f"{options} -- {serve}")
            await is_admitted(story, card)
            await card.shows("nb · Running")
            (pod,) = plane.api.list("pods", "team-a")
            page = f"http://{pod['status']['podIP']}:8888/"
            wait_for(partial(_is_served, page), page)
            await alice.types("#team-a", "/train stop nb")
            await alice.is_told("Stopping nb")
            await card.shows("nb · Stopped")
            await alice.is_mentioned("#team-a", "nb was stopped by alice", thread=card)
            await story.ends()

    asyncio.run(play())


def _is_served(page: str) -> bool:
    try:
        return httpx.get(page, trust_env=False, timeout=5).is_success
    except httpx.TransportError:
        return False
