"""Which resource a request is about."""

from dataclasses import dataclass

from playground.cluster.objects.errors import no_such_path
from playground.cluster.objects.kinds import NAMESPACE, Kind, Kinds

CORE_PARTS, GROUP_PARTS = 2, 3


@dataclass(frozen=True)
class Target:
    """The resource a request is about."""

    kind: Kind
    version: str
    namespace: str = ""
    name: str = ""
    part: str = ""
    watch: bool = False

    @property
    def resource(self) -> str:
        """The resource as rules name it: pods, pods/log."""
        return f"{self.kind.plural}/{self.part}" if self.part else self.kind.plural

    @property
    def about(self) -> str:
        """The object in one word: team-a/lane."""
        return "/".join(part for part in (self.namespace, self.name) if part)


def target_of(kinds: Kinds, path: str) -> Target:
    """The resource behind a path; 404 where nothing is served."""
    parts = [part for part in path.split("/") if part]
    group, version, rest = _group(parts)
    watch = rest[:1] == ["watch"]
    rest = rest[1:] if watch else rest
    namespace = ""
    if len(rest) > CORE_PARTS and rest[0] == "namespaces" and not _of_namespace(group, rest):
        namespace, rest = rest[1], rest[2:]
    if not rest:
        raise no_such_path()
    kind = kinds.find(group, rest[0])
    if kind is None or version not in kind.versions:
        raise no_such_path()
    name = rest[1] if len(rest) > 1 else ""
    part = "/".join(rest[2:])
    if (part and part not in kind.subresources) or (namespace and not kind.namespaced):
        raise no_such_path()
    if kind == NAMESPACE and namespace:
        name = namespace
    return Target(kind, version, namespace, name, part, watch)


def _group(parts: list[str]) -> tuple[str, str, list[str]]:
    if parts[:1] == ["api"] and len(parts) > CORE_PARTS:
        return "", parts[1], parts[2:]
    if parts[:1] == ["apis"] and len(parts) > GROUP_PARTS:
        return parts[1], parts[2], parts[3:]
    raise no_such_path()


def _of_namespace(group: str, rest: list[str]) -> bool:
    """Whether this is /namespaces/x/status and the like."""
    return not group and rest[2] in NAMESPACE.subresources
