"""Programs that start their processes themselves, and the test of the network."""

import asyncio
from pathlib import Path

import pytest

from playground.story.steps import ends_well, is_admitted, submits
from tests.cluster.bots import Plane
from tests.node.owners import images
from tests.node.telling import opened_story
from tests.node.test_kinds import MPI_PROGRAM, TORCH, TORCH_PROGRAM, WRITES

_SYNC = f"--kind sync --nodes 2 --gpus 1 {TORCH}"
_ELASTIC = f"--kind elastic --nodes 2 --gpus 1 {TORCH}"
_GUIDE = (
    "python3 /guide/run.py --port=22122 --num_devices=2 --nodes=$QUARTERMASTER_HOSTS"
    " && echo launched by $(hostname)"
)
# The first node asks the server of the other one, which sshd has nothing to do with.
_ASKS = (
    'OTHER=${QUARTERMASTER_HOSTS#*,}; until python3 -c \\"import sys, urllib.request as web;'
    " page = web.urlopen(sys.argv[1], timeout=5).read().decode();"
    " print('Debian', page.strip(), 'loss 0.5')\\\" http://$OTHER:8000/etc/debian_version;"
    " do sleep 0.2; done"
)


@pytest.mark.usefixtures("team")
@pytest.mark.parametrize(
    ("options", "command", "shown"),
    [
        (_SYNC, f"sh -c '{_GUIDE}'", "total images/sec 2001"),
        (_SYNC, f'bash -c "cd /tmp && mpirun python3 -c \\"{MPI_PROGRAM}\\""', "loss 2.5"),
        (f"{_SYNC} --launcher mpirun", f'env A=1 python3 -c "{MPI_PROGRAM}"', "loss 2.5"),
        (
            f"{_SYNC} --worker-command 'python3 -m http.server 8000 --directory /'",
            f'sh -c "{_ASKS}"',
            "loss 0.5",
        ),
        (
            _ELASTIC,
            f'bash -c "cd /tmp && exec torchrun --no_python python3 -c \\"{TORCH_PROGRAM}\\""',
            "loss 3",
        ),
        (_ELASTIC, f'timeout 2m torchrun --no_python python3 -c "{TORCH_PROGRAM}"', "loss 3"),
        (f"--kind mpi --nodes 2 --gpus 1 {TORCH}", f'sh -c "{_GUIDE}"', "total images/sec 2001"),
    ],
    ids=["guide", "mpirun", "env", "workers", "torchrun", "timeout", "mpi"],
)
def test_launchers_start_as_people_type_them(
    options: str, command: str, shown: str, plane: Plane, tmp_path: Path
) -> None:
    async def play() -> None:
        async with opened_story(plane, tmp_path) as story:
            story.allowed_writes |= WRITES
            alice = story.person("Alice")
            card = await submits(story, alice, "#team-a", "wide", f"{options} -- {command}")
            await is_admitted(story, card)
            await ends_well(alice, "#team-a", card, "wide")
            await card.shows(shown)
            await story.ends()

    asyncio.run(play())


@pytest.mark.usefixtures("team")
@pytest.mark.parametrize("nodes", [1, 2])
def test_the_network_is_measured(nodes: int, plane: Plane, tmp_path: Path) -> None:
    small = {"cpu_per_gpu": 1, "memory_gib_per_gpu": 1, "shm_gib_per_gpu": 0}
    settings = {
        "training": {
            "network_test": {"image": f"{images()}/torch:1", "program": "all_reduce_perf"}
        },
        "teams": {"team-a": {"defaults": small}},
    }

    async def play() -> None:
        async with opened_story(plane, tmp_path, settings) as story:
            story.allowed_writes |= WRITES
            alice = story.person("Alice")
            gpus = 2 // nodes
            await alice.types("#team-a", f"/gpu nccl --nodes {nodes} --gpus {gpus}")
            shape = "2 nodes, each with 1 GPU" if nodes > 1 else "2 GPUs"
            await alice.is_told(f"Submitted run nccl with {shape}")
            card = await story.card("#team-a", "nccl")
            await is_admitted(story, card)
            await ends_well(alice, "#team-a", card, "nccl")
            await card.shows("network socket", "It is the first test with this many GPUs on node-")
            (average,) = [line for line in card.text.splitlines() if "average bus" in line]
            assert float(average.split("average bus bandwidth ")[1].split()[0]) > 0
            assert "wrong values" not in card.text
            await story.ends()

    asyncio.run(play())
