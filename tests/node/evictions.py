"""Nodes that are drained, as `kubectl drain` does it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tests.cluster.api import Object, wait_for
from tests.cluster.bots import Plane


@contextmanager
def drained(plane: Plane, node: str, pods: Sequence[Object]) -> Iterator[None]:
    """Takes no new pods to a node and evicts those named; it takes pods again after the block."""
    plane.api.patch("nodes", node, {"spec": {"unschedulable": True}})
    try:
        for pod in pods:
            evict(plane, pod)
        for pod in pods:
            place = pod["metadata"]
            wait_for(
                lambda place=place: _is_gone(plane, place),  # type: ignore[misc]
                f"the end of pod {place['name']}",
            )
        yield
    finally:
        plane.api.patch("nodes", node, {"spec": {"unschedulable": None}})


def evict(plane: Plane, pod: Object) -> None:
    """Asks for the end of a pod; a PodDisruptionBudget may refuse."""
    place = pod["metadata"]
    body: dict[str, Any] = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": place["name"], "namespace": place["namespace"]},
    }
    path = f"/api/v1/namespaces/{place['namespace']}/pods/{place['name']}/eviction"
    plane.api.ask("POST", path, json=body)


def _is_gone(plane: Plane, place: Object) -> bool:
    found = plane.api.get("pods", place["name"], place["namespace"])
    return found is None or found["metadata"]["uid"] != place["uid"]
