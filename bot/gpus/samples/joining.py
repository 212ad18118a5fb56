"""Joins who held GPUs in a minute with the usage of these GPUs. Pure: no I/O."""

from collections.abc import Mapping
from dataclasses import replace
from math import ceil

from bot.gpus.amounts import NOTHING, WHOLE, Amounts
from bot.gpus.samples.attributing import of_nodes, of_shared
from bot.gpus.samples.pods import KnownPod
from bot.gpus.sources.source import Figures, PodName, Told


def join(
    entries: Mapping[int, Amounts],
    told: Told,
    pods: Mapping[PodName, KnownPod],
    minute: int,
) -> dict[int, Amounts]:
    """The entries of a minute, with the measured usage of their pods' GPUs.

    What was not reported stays unknown; usage is capped at what was held.
    """
    sums: dict[int, Amounts] = {}
    known = of_nodes(told.nodes, pods, minute) | told.pods
    known |= of_shared(told.pods, pods, minute)
    for name, each in known.items():
        pod = pods.get(name)
        if pod is not None:
            sums[pod.series] = sums.get(pod.series, NOTHING) + _of_pod(pod.amount, each)
    return {series: _within(held, sums.get(series)) for series, held in entries.items()}


def _of_pod(amount: int, told: Figures) -> Amounts:
    """The measured amounts of a pod; a fraction of a GPU has the usage of the whole GPU."""
    share = min(told.gpus / max(ceil(amount / WHOLE), 1), 1)
    measured = round(amount * share)
    busy = min(round(measured * told.busy / told.gpus), measured)
    idle = min(round(measured * told.idle / told.gpus), measured)
    used = round(min(told.memory_used, told.memory_total))
    return Amounts(0, measured, busy, idle, used, round(told.memory_total))


def _within(held: Amounts, known: Amounts | None) -> Amounts:
    if known is None:
        return Amounts(held.allocated)
    if known.measured <= held.allocated:
        return replace(known, allocated=held.allocated)
    # The series had other pods when it was sampled.
    part = held.allocated / known.measured
    measured = held.allocated
    return Amounts(
        held.allocated,
        measured,
        min(round(known.busy * part), measured),
        min(round(known.idle * part), measured),
        known.memory_used,
        known.memory_total,
    )
