"""Joins who held GPUs in a minute with the usage of these GPUs, where that is certain. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import ceil

from bot.gpus.amounts import NOTHING, WHOLE, Amounts
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


def of_nodes(
    told: Mapping[str, Figures], pods: Mapping[PodName, KnownPod], minute: int
) -> dict[PodName, Figures]:
    """The figures of pods in a minute, from the figures of their nodes.

    If one pod holds GPUs of a node, the figures are its own. If several do, it is unknown which
    of them was busy, unless nothing ran at all: then all are idle.
    """
    found: dict[PodName, Figures] = {}
    by_node: dict[str, dict[PodName, KnownPod]] = {}
    for name, pod in pods.items() if told else ():
        if pod.holds(minute) and not pod.is_reservation:
            by_node.setdefault(pod.node, {})[name] = pod
    if "" in by_node:  # it may be on any of them
        return {}
    for node, figures in told.items():
        there = by_node.get(node, {})
        if len(there) == 1:
            [(name, pod)] = there.items()
            found[name] = _of_one(figures, _gpus(pod))
        elif figures.gpus == figures.idle >= sum(_amounts(there.values())):
            found |= {name: _share(figures, _gpus(pod)) for name, pod in there.items()}
    return found


def of_shared(
    told: Mapping[PodName, Figures], pods: Mapping[PodName, KnownPod], minute: int
) -> dict[PodName, Figures]:
    """The figures of pods that share a GPU through KAI; the exporter names the reservation pod.

    Each fraction has the usage of the whole GPU. If several pods share it, the owner of its
    memory is unknown.
    """
    found: dict[PodName, Figures] = {}
    for name, figures in told.items():
        holder = pods.get(name)
        if holder is None or not holder.is_reservation:
            continue
        sharers = [each for each, pod in pods.items() if pod.shares(holder, minute)]
        if len(sharers) > 1:
            figures = figures._replace(memory_used=0, memory_total=0)  # noqa: PLW2901 - the same ones
        found |= dict.fromkeys(sharers, figures)
    return found


def _of_one(told: Figures, gpus: int) -> Figures:
    """The figures of the only pod on a node; GPUs that are not held are idle."""
    known = min(told.gpus, gpus)
    return Figures(
        gpus=known,
        busy=min(told.busy, known),
        idle=max(told.idle - (told.gpus - known), 0),
        memory_used=told.memory_used,
        memory_total=told.memory_total * known / told.gpus,
    )


def _share(told: Figures, gpus: int) -> Figures:
    """A pod's part of GPUs that were all idle; the owner of the memory is unknown."""
    return Figures(gpus=gpus, busy=told.busy * gpus / told.gpus, idle=gpus)


def _gpus(pod: KnownPod) -> int:
    return ceil(pod.amount / WHOLE)


def _amounts(pods: Iterable[KnownPod]) -> Iterable[float]:
    return (pod.amount / WHOLE for pod in pods)
