"""Pods that hold GPUs, and the GPUs of nodes, from the view of a cluster."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bot.cluster import labels
from bot.cluster.holders import Holder
from bot.cluster.resources import HOLDERS, NODES, PODS, Resource
from bot.cluster.types.objects import Pod
from bot.cluster.view import View
from bot.gpus.amounts import WHOLE
from bot.gpus.nodes import Counting, is_ready

# The API server sends something about once a minute.
_FRESH_SECONDS = 150.0
_OVER = {"Succeeded", "Failed"}
_NEEDED: tuple[Resource[Any], ...] = (PODS, HOLDERS, NODES)


@dataclass(frozen=True)
class Capacity:
    """The GPUs of one node, in thousandths; `ready` are those on schedulable nodes."""

    node: str
    gpus: int
    ready: int


def is_fresh(view: View) -> bool:
    """Whether the view of pods and nodes is up to date."""
    return all(
        view.store(each).synced and view.age_seconds(each) < _FRESH_SECONDS for each in _NEEDED
    )


def pods_of_runs(view: View) -> list[Pod]:
    """The pods of runs that are assigned to a node, with or without GPUs."""
    return [pod for pod in view.all(PODS) if pod.spec.node_name and pod.status.phase not in _OVER]


def holders(view: View, counting: Counting) -> Iterator[tuple[Holder, int]]:
    """Other pods that hold GPUs, with their amounts in thousandths of a GPU.

    A GPU shared through KAI is held by the pods that share it, not by its reservation pod.
    """
    for pod in view.all(HOLDERS):
        if _is_there(pod) and not _is_reservation(pod):
            amount = _held(pod, counting)
            if amount:
                yield pod, amount


def reservations(view: View) -> Iterator[Holder]:
    """The pods by which KAI reserves GPUs for the pods that share them."""
    return (pod for pod in view.all(HOLDERS) if _is_there(pod) and _is_reservation(pod))


def capacities(view: View, counting: Counting) -> list[Capacity]:
    """The GPUs of each node that has any."""
    found = []
    for node in view.all(NODES):
        gpus = counting.held(node.status.allocatable, node.name)
        if gpus:
            found.append(Capacity(node.name, gpus, gpus if is_ready(node) else 0))
    return found


def _is_there(pod: Holder) -> bool:
    return bool(pod.spec.node_name) and pod.status.phase not in _OVER


def _is_reservation(pod: Holder) -> bool:
    return pod.namespace in labels.GPU_RESERVATIONS and labels.GPU_GROUP in pod.labels


def _held(pod: Holder, counting: Counting) -> int:
    if pod.fraction is not None:
        return int(pod.fraction * WHOLE)
    node = pod.spec.node_name
    return sum(counting.held(each.resources.requests, node) for each in pod.spec.containers)


def run_of(pod: Pod) -> str:
    """The id of the run that a pod belongs to."""
    return pod.labels[labels.RUN]


def controller_of(pod: Holder) -> tuple[str, str]:
    """The kind and name of a pod's controller; the pod itself if it has none."""
    owners: Sequence[tuple[str, str]] = [
        (each.kind, each.name) for each in pod.metadata.owner_references if each.controller
    ]
    return owners[0] if owners else ("Pod", pod.name)
