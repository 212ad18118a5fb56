"""/gpu nccl, which tests the network between nodes, and /gpu network, which shows the tests."""

from dataclasses import dataclass, replace
from decimal import Decimal

from bot.commands.context import Context
from bot.people.access import Right
from bot.slack.card import Reply
from bot.slack.grammar.container_parameters import FlavorName, ImageReference
from bot.slack.grammar.declarations import CLUSTER, TEAM, Part
from bot.slack.grammar.parameters import (
    GpuCount,
    NodeCount,
    Nodes,
    RunName,
    WholeNumber,
)
from bot.training.pairs import ALL_PAIRS
from bot.training.records.network import TEST
from bot.training.records.network_history import history_card
from bot.training.runs.replies import receipt
from bot.training.submission.building import Submission
from handlers.train.starting import shortened

gpu = Part("gpu")


@dataclass(frozen=True)
class NetworkTestRequest(Submission):
    """A network test as it was typed."""

    all_pairs: bool = False


@gpu.verb(
    "nccl",
    "Measure the bandwidth between nodes with a test run",
    right=Right.RUN_SUBMIT,
    mutates=True,
    into=NetworkTestRequest,
    examples=(
        "nccl --nodes 2",
        "nccl --nodes 4 --gpus 8 --name pool-b",
        "nccl --nodes 4 --gpus 8 --all-pairs",
    ),
    team=TEAM,
    cluster=CLUSTER,
)
@gpu.option("--nodes", NodeCount(), help="Number of nodes (default: 2)")
@gpu.option("--gpus", GpuCount(), help="GPUs per node (default: all of a node)")
@gpu.option("--gpu-type", FlavorName(), help="GPU type of the nodes (default: any)")
@gpu.option("--efa", WholeNumber(0, 32), help="EFA adapters per node (default: all of a node)")
@gpu.option("--name", RunName(), default="nccl", help="Name of the run")
@gpu.option("--image", ImageReference(), default="", help="Image with nccl-tests, ssh and sshd")
@gpu.option("--all-pairs", flag=True, help="Then measure each pair of nodes, to find a slow one")
def nccl(ctx: Context, asked: NetworkTestRequest) -> Reply:
    """Submits the test as a run and returns its receipt; the run's card shows the results."""
    ctx.team()
    nodes, gpus = asked.nodes or Nodes(2, 2), asked.gpus or Decimal(0)
    form = ALL_PAIRS if asked.all_pairs else None
    test = replace(asked, kind=TEST, form=form, nodes=nodes, gpus=gpus)
    submitted = ctx.training.runs.submit(ctx.session, ctx.caller, test, ctx.now)
    said = receipt(submitted, ctx.format_command(f"train stop {submitted.name}"))
    return Reply((*shortened(ctx, submitted.name), *said))


@gpu.verb(
    "network",
    "Network tests so far, by the nodes they ran on",
    right=Right.GPU_READ,
    examples=("network",),
    team=TEAM,
    shares=True,
)
def network(ctx: Context) -> Reply:
    """The tests in the team's clusters, with their references and charts of repeated ones."""
    name, team = ctx.team()
    found = ctx.training.network_history.tested(ctx.session, team)
    return Reply(card=history_card(name, found, ctx.format_command("gpu nccl --nodes 2")))
