"""Alice submits an MPI run without an MPI operator, and is shown a launcher that needs none."""

from playground.settings import Setup
from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story

# The training operator has an MPIJob of its own, which is another one.
SETUP = Setup(arrange=lambda cluster, _: cluster.install("training-operator"))
COMMAND = "--nodes 2 --gpus 2 --image ghcr.io/acme/lane:3.1 -- python train.py"


async def play(story: Story) -> None:
    """The refusal says what is missing, who can mend it, and what works already."""
    alice = story.person("Alice")
    story.allowed_writes |= {
        "create secrets",
        "create services",
        "delete secrets",
        "delete services",
    }
    await alice.types("#team-a", f"/train submit lane --kind mpi {COMMAND}")
    await alice.is_told(
        "Cluster default does not serve mpijobs.",
        "A platform admin has to install the MPI operator, which serves kubeflow.org/v2beta1",
        "--kind sync needs no operator.",
    )
    lane = await submits(story, alice, "#team-a", "lane", f"--kind sync {COMMAND}")
    await is_admitted(story, lane)
    await ends_well(alice, "#team-a", lane, "lane")
