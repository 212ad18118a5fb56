"""The admission of pods by the level that their namespace's labels name."""

from playground.cluster.objects.errors import Cause, forbidden, invalid
from playground.cluster.objects.kinds import NAMESPACE, POD, Kind, Object
from playground.cluster.objects.pod_security import BASELINE, RESTRICTED, violations
from playground.cluster.objects.store import Store

_PREFIX = "pod-security.kubernetes.io/"
_LEVELS = ("privileged", BASELINE, RESTRICTED)
_TEMPLATES = frozenset({"Job", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"})


class PodSecurity:
    """Refuses pods that break their namespace's level; warns of templates that will."""

    def __init__(self, store: Store, warn: list[str]) -> None:
        self._store = store
        self._warnings = warn

    def __call__(self, kind: Kind, obj: Object, old: Object | None) -> None:
        """Looks at one write."""
        if kind == NAMESPACE:
            _check_labels(kind, obj)
        elif kind == POD and old is None:
            self._judge(kind, obj)
        elif kind.kind in _TEMPLATES and not kind.custom:
            self._warn(obj["metadata"]["namespace"], obj["spec"]["template"]["spec"])

    def _judge(self, kind: Kind, pod: Object) -> None:
        space = pod["metadata"]["namespace"]
        level, version = self._policy(space, "enforce")
        told = violations(level, pod["spec"])
        if told:
            why = f'violates PodSecurity "{level}:{version}": {told}'
            raise forbidden(kind, pod["metadata"].get("name", ""), why)
        self._warn(space, pod["spec"])

    def _warn(self, space: str, spec: Object) -> None:
        level, version = self._policy(space, "warn")
        told = violations(level, spec)
        if told:
            self._warnings.append(f'would violate PodSecurity "{level}:{version}": {told}')

    def _policy(self, space: str, mode: str) -> tuple[str, str]:
        """The level and version of a mode; warnings follow what is enforced where it is said."""
        found = self._store.get(NAMESPACE, "", space) or {"metadata": {}}
        labels = found["metadata"].get("labels") or {}
        said = mode if f"{_PREFIX}{mode}" in labels else "enforce"
        level = labels.get(f"{_PREFIX}{said}", "privileged")
        return level, labels.get(f"{_PREFIX}{said}-version", "latest")


def _check_labels(kind: Kind, space: Object) -> None:
    labels = space["metadata"].get("labels") or {}
    named = (f"{_PREFIX}{mode}" for mode in ("enforce", "audit", "warn"))
    causes = [
        Cause(
            f"metadata.labels[{name}]",
            f'Invalid value: "{labels[name]}": must be one of {", ".join(_LEVELS)}',
        )
        for name in named
        if name in labels and labels[name] not in _LEVELS
    ]
    if causes:
        raise invalid(kind, space["metadata"]["name"], causes)
