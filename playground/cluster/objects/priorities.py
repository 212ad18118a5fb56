"""Priorities of pods, by the name of their class."""

from playground.cluster.objects.errors import forbidden
from playground.cluster.objects.kinds import POD, PRIORITY_CLASS, Kind, Object
from playground.cluster.objects.store import Store

_SYSTEM = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


class PodPriority:
    """Gives pods the priority of the class they name, or of the one for all."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __call__(self, kind: Kind, obj: Object, old: Object | None) -> None:
        """Looks at one write."""
        if kind != POD or old is not None:
            return
        name, spec = obj["spec"].get("priorityClassName"), obj["spec"]
        found = self._store.get(PRIORITY_CLASS, "", name) if name else self._usual()
        if found is not None:
            spec["priority"], spec["priorityClassName"] = found["value"], found["metadata"]["name"]
            spec["preemptionPolicy"] = found.get("preemptionPolicy", "PreemptLowerPriority")
        elif name in _SYSTEM:
            spec["priority"] = _SYSTEM[name]
        elif name:
            why = f"no PriorityClass with name {name} was found"
            raise forbidden(POD, obj["metadata"]["name"], why)

    def _usual(self) -> Object | None:
        classes = self._store.all(PRIORITY_CLASS)
        return next((found for found in classes if found.get("globalDefault")), None)
