"""Network tests between nodes: their defaults, and how their results are judged."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

from sqlalchemy import String, cast
from sqlmodel import Session, col, select

from bot.cluster.resources import NODES
from bot.cluster.types.objects import Node
from bot.cluster.view import View
from bot.config import NetworkReference, NetworkTest, Settings, Team
from bot.errors import ConflictError
from bot.quotas import Engine
from bot.slack.grammar.parameters import Nodes
from bot.training.logs.bandwidth import AVERAGE, NETWORK
from bot.training.pairs import ALL_PAIRS, plan
from bot.training.records.references import judged
from bot.training.spec import EFA
from bot.training.submission.building import Submission
from bot.training.submission.gpu_types import chosen_type, nodes_of
from bot.training.tables import Run, RunPhase

TEST = "nccl"
_OPTIONS = ("-b", "8", "-e", "1G", "-f", "2", "-g", "1", "-c", "1", "-n", "100")
_LONGEST = timedelta(minutes=30)
_SHOWN_NODES = 4
# So many tests of a cluster are looked through for one on the same nodes.
_REMEMBERED = 200


def filled_up(
    asked: Submission, settings: Settings, team: Team, engine: Engine | None
) -> Submission:
    """A submission with its GPU type and, for a network test, with the defaults filled in.

    ConflictError when there are too few nodes for a test, or when they are not read yet.
    """
    gpus = asked.gpus or int(asked.kind == TEST)
    gpu_type = chosen_type(asked.gpu_type, gpus, team, engine)
    if gpu_type != asked.gpu_type:
        asked = replace(asked, gpu_type=gpu_type)
    if asked.kind != TEST:
        return asked
    test, resource = settings.training.network_test, settings.quotas.resource
    return completed(asked, test, team, resource, nodes_of(gpu_type, team, engine))


def completed(
    asked: Submission,
    test: NetworkTest,
    team: Team,
    gpu_resource: str,
    there: Sequence[Node] | None,
) -> Submission:
    """A network test with its defaults: GPUs and adapters of whole nodes, image, program, time.

    `there` are the nodes on which it may run, None while they are not read. Other submissions are
    unchanged. ConflictError when there are too few nodes, or when they are not read yet.
    """
    nodes = asked.nodes or Nodes(1, 1)
    gpus = asked.gpus or _of_each(there, gpu_resource, nodes.most)
    adapters = asked.efa if asked.efa is not None else _least(there, EFA, nodes.most)
    longest = _LONGEST
    if asked.form == ALL_PAIRS:
        longest += plan(nodes.most).longest_time
    longest = min(longest, team.limits.time or longest)
    return replace(
        asked,
        nodes=nodes,
        gpus=gpus,
        efa=adapters or None,
        image=asked.image or test.image,
        command=asked.command or (test.program, *_OPTIONS),
        time=asked.time or longest,
    )


def with_adapters(view: View, nodes: Sequence[str]) -> list[str]:
    """Those of the nodes that have EFA."""
    found = (view.get(NODES, name) for name in nodes)
    return [each.name for each in found if each is not None and each.status.allocatable.get(EFA)]


def verdict(
    session: Session, run: Run, adapted: Sequence[str], reference: NetworkReference | None = None
) -> str:
    """What the results of a run mean: relative to the reference, EFA unused, and to the last test.

    `adapted` are its nodes that have EFA.
    """
    said = [judged(run, reference)] if run.spec.get("kind") == TEST else []
    used = run.results.get(NETWORK)
    if adapted and used not in {None, "efa"}:
        have = "has" if len(adapted) == 1 else "have"
        lacking = (
            "The image needs" if run.spec.get("efa") else "The run needs `--efa`, and its image"
        )
        said.append(
            f"EFA was not used, though {_named(adapted)} {have} it: NCCL chose {used}."
            f" {lacking} aws-ofi-nccl."
        )
    if run.spec.get("kind") == TEST and AVERAGE in run.results:
        said.append(_compared(run, _last_on(session, run)))
    return " ".join(filter(None, said))


def _of_each(there: Sequence[Node] | None, resource: str, count: int) -> Decimal:
    """The largest amount of a resource that each of `count` nodes has."""
    amount = _least(there, resource, count)
    if amount:
        return Decimal(amount)
    if there is None:
        raise ConflictError(
            "The nodes of the cluster have not been read yet, so their number of GPUs is unknown.",
            "Give the number: `--gpus 8`. Or try again in a moment.",
        )
    having = sum(1 for node in there if node.status.allocatable.get(resource))
    raise ConflictError(
        f"A test on {count} nodes needs as many nodes with GPUs, but the cluster has {having}.",
        f"Use `--nodes {having}`." if having else "Ask a platform admin for nodes with GPUs.",
    )


def _least(there: Sequence[Node] | None, resource: str, count: int) -> int:
    """The amount on the smallest of the `count` largest nodes."""
    amounts = sorted(int(each.status.allocatable.get(resource, 0)) for each in there or ())
    return amounts[-count] if len(amounts) >= count else 0


def _last_on(session: Session, run: Run) -> Run | None:
    """The last test before this one with as many GPUs of the same nodes."""
    kind = cast(col(Run.spec)["kind"].as_string(), String)
    earlier = session.scalars(
        select(Run)
        .where(col(Run.cluster) == run.cluster, col(Run.id) < run.id, kind == TEST)
        .where(col(Run.phase) == RunPhase.SUCCEEDED)
        .order_by(col(Run.id).desc())
        .limit(_REMEMBERED)
    )
    return next((each for each in earlier if _is_alike(each, run)), None)


def _is_alike(earlier: Run, run: Run) -> bool:
    return (
        bool(run.nodes)
        and earlier.nodes == run.nodes
        and Decimal(earlier.spec["gpus"]) == Decimal(run.spec["gpus"])
        and AVERAGE in earlier.results
    )


def _compared(run: Run, earlier: Run | None) -> str:
    if not run.nodes:
        return "The nodes it ran on are unknown, so it is not compared with another test."
    if earlier is None:
        return f"It is the first test with this many GPUs on {_named(run.nodes)}."
    now, before = (float(each.results[AVERAGE].split()[0]) for each in (run, earlier))
    whose = earlier.reference + ("" if earlier.team == run.team else f" of {earlier.team}")
    when = f"{earlier.ended_at:%Y-%m-%d %H:%M} UTC" if earlier.ended_at else "earlier"
    return (
        f"The last test on these nodes, {whose} ({when}), averaged {before:.2f} GB/s:"
        f" {_change(now, before)}."
    )


def _change(now: float, before: float) -> str:
    share = round((now - before) / before * 100) if before else 0
    if not share:
        return "the same"
    return f"this is {abs(share)} % {'more' if share > 0 else 'less'}"


def _named(nodes: Sequence[str]) -> str:
    left = len(nodes) - _SHOWN_NODES
    return ", ".join(nodes[:_SHOWN_NODES]) + (f" and {left} more" if left > 0 else "")
