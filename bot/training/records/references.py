"""What tests of the network should reach on their hardware, and what of it they reached."""

from collections.abc import Collection, Sequence
from decimal import Decimal, InvalidOperation

from bot.cluster.resources import NODES
from bot.cluster.view import View
from bot.config import NetworkReference
from bot.training.logs.bandwidth import AVERAGE, MAXIMUM
from bot.training.tables import Run

_INSTANCE_TYPE = "node.kubernetes.io/instance-type"


def instance_types(view: View, nodes: Sequence[str]) -> tuple[str, ...]:
    """The type that all the nodes share, as the cloud names it; empty if there is none."""
    found = [view.get(NODES, name) for name in nodes]
    types = {each.labels.get(_INSTANCE_TYPE, "") if each is not None else "" for each in found}
    return tuple(types) if len(types) == 1 and "" not in types else ()


def reference_of(
    run: Run, types: Collection[str], references: Sequence[NetworkReference]
) -> NetworkReference | None:
    """The reference for the hardware of a test: the type of its nodes, else that of its GPUs."""
    adapters = int(run.spec.get("efa") or 0)
    known = {each.type: each for each in references if each.efa == adapters}
    return next((known[name] for name in (*types, run.flavor) if name in known), None)


def bandwidth_of(run: Run, name: str) -> Decimal | None:
    """One of the bandwidths that a test measured, in GB/s."""
    try:
        return Decimal(run.results[name].split()[0])
    except (KeyError, IndexError, InvalidOperation):
        return None


def share_of(run: Run, reference: NetworkReference) -> int | None:
    """The maximum that a test measured, in percent of the reference."""
    maximum = bandwidth_of(run, MAXIMUM)
    return None if maximum is None else round(100 * maximum / reference.maximum)


def judged(run: Run, reference: NetworkReference | None) -> str:
    """A sentence on what a test reached of its reference; empty without one."""
    maximum, average = bandwidth_of(run, MAXIMUM), bandwidth_of(run, AVERAGE)
    if reference is None or maximum is None:
        return ""
    adapters = {0: "without EFA", 1: "with 1 EFA adapter"}.get(
        reference.efa, f"with {reference.efa} EFA adapters"
    )
    share = round(100 * maximum / reference.maximum)
    said = (
        f"{maximum:.2f} GB/s, {share} % of the reference for {reference.type} {adapters}"
        f" ({reference.maximum:.2f} GB/s)"
    )
    if reference.average is None or average is None:
        return f"{said}."
    share = round(100 * average / reference.average)
    return f"{said}; on average {average:.2f} GB/s, {share} % ({reference.average:.2f} GB/s)."
