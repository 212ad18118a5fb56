"""A cluster as seen by the watches: it proves that objects exist, never that they do not."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Generic, Literal, TypeVar

from bot.cluster import labels
from bot.cluster.resources import Resource
from bot.cluster.types.objects import ClusterObject

T = TypeVar("T", bound=ClusterObject)
Kind = Literal["added", "modified", "deleted", "synced"]
Key = tuple[str, str]
Seconds = Callable[[], float]

INDEXED_LABELS = (labels.RUN, labels.JOB_UID)
OWNER = "owner"


@dataclass(frozen=True)
class Change:
    """What happened to an object; "synced" means the whole resource was read, object None."""

    cluster: str
    resource: Resource[Any]
    kind: Kind
    object: Any = None


class Store(Generic[T]):
    """The objects of one resource. One thread writes, any number read.

    `absent` says that the cluster does not serve the resource.
    """

    def __init__(self, seconds: Seconds = time.monotonic) -> None:
        self._objects: dict[str, dict[str, T]] = {}  # by namespace and name
        self._index: dict[Key, tuple[T, ...]] = {}
        self._lists: dict[str | None, tuple[T, ...]] = {}
        self._lock = Lock()
        self._seconds = seconds
        self._proved_at = float("-inf")
        self.synced = False
        self.absent = False

    def prove(self) -> None:
        """Records that the server has just sent data."""
        self._proved_at = self._seconds()

    @property
    def age_seconds(self) -> float:
        """Seconds since the server last sent data; infinite before the first list."""
        return self._seconds() - self._proved_at if self.synced else float("inf")

    def replace(self, objects: Iterable[T]) -> list[tuple[Kind, T]]:
        """Takes a whole list in; returns how it differs from what was known."""
        new: dict[str, dict[str, T]] = {}
        for each in objects:
            new.setdefault(each.metadata.namespace, {})[each.metadata.name] = each
        with self._lock:
            old, self._objects = self._objects, new
            self._index = _indexed(_each(new))
            self._lists = {}
            self.synced = True
        return list(_differences(old, new))

    def put(self, object_: T) -> Kind | None:
        """Takes one object in; None when it was known just so."""
        meta = object_.metadata
        with self._lock:
            space = self._objects.setdefault(meta.namespace, {})
            old = space.get(meta.name)
            if old is not None:
                if old.metadata.resource_version == meta.resource_version:
                    return None
                self._leave(old)
            space[meta.name] = object_
            self._enter(object_)
            self._forget_lists(meta.namespace)
        return "modified" if old is not None else "added"

    def remove(self, object_: T) -> Kind | None:
        """Takes one object out; None when it was not known."""
        meta = object_.metadata
        with self._lock:
            space = self._objects.get(meta.namespace, {})
            old = space.pop(meta.name, None)
            if old is None:
                return None
            if not space:
                del self._objects[meta.namespace]
            self._leave(old)
            self._forget_lists(meta.namespace)
        return "deleted"

    def get(self, name: str, namespace: str) -> T | None:
        """One object."""
        space = self._objects.get(namespace)
        return space.get(name) if space is not None else None

    def all(self, namespace: str | None) -> tuple[T, ...]:
        """All objects, or those of a namespace; made when first asked for after a change."""
        found = self._lists.get(namespace)
        if found is None:
            with self._lock:
                found = self._lists[namespace] = self._chosen(namespace)
        return found

    def _chosen(self, namespace: str | None) -> tuple[T, ...]:
        if namespace is None:
            return tuple(_each(self._objects))
        return tuple(self._objects.get(namespace, {}).values())

    def _forget_lists(self, namespace: str) -> None:
        """Other namespaces have not changed: what was made from their lists still holds."""
        self._lists.pop(None, None)
        self._lists.pop(namespace, None)

    def indexed(self, index: str, value: str) -> tuple[T, ...]:
        """The objects that have this owner, or this value of an indexed label."""
        return self._index.get((index, value), ())

    def _enter(self, object_: T) -> None:
        for key in _index_keys(object_):
            self._index[key] = (*self._index.get(key, ()), object_)

    def _leave(self, object_: T) -> None:
        for key in _index_keys(object_):
            rest = tuple(each for each in self._index.get(key, ()) if each is not object_)
            if rest:
                self._index[key] = rest
            else:
                self._index.pop(key, None)


class View:
    """The known objects of a cluster. An object missing here may still exist."""

    def __init__(
        self,
        resources: Iterable[Resource[Any]],
        seconds: Seconds = time.monotonic,
        *,
        unwatched: Iterable[Resource[Any]] = (),
    ) -> None:
        self._seconds = seconds
        self._stores: dict[Resource[Any], Store[Any]] = {
            resource: Store(seconds) for resource in resources
        }
        for resource in unwatched:
            self._stores[resource] = Store(seconds)
            self._stores[resource].absent = True

    def add(self, resource: Resource[Any]) -> bool:
        """Makes room for a further resource; False if there is already."""
        if resource in self._stores:
            return False
        self._stores = {**self._stores, resource: Store(self._seconds)}
        return True

    def store(self, resource: Resource[T]) -> Store[T]:
        """Where a watch writes what it sees; KeyError when the resource is not watched."""
        return self._stores[resource]

    def all(self, resource: Resource[T], namespace: str | None = None) -> Sequence[T]:
        """All objects of a resource, or those of one namespace."""
        return self.store(resource).all(namespace)

    def get(self, resource: Resource[T], name: str, namespace: str | None = None) -> T | None:
        """One object, None when it was not seen."""
        return self.store(resource).get(name, namespace or "")

    def owned_by(self, resource: Resource[T], uid: str) -> Sequence[T]:
        """The objects that name this uid among their owners."""
        return self.store(resource).indexed(OWNER, uid)

    def labelled(self, resource: Resource[T], label: str, value: str) -> Sequence[T]:
        """The objects whose label has this value; RUN and JOB_UID are indexed, others searched."""
        store = self.store(resource)
        if label in INDEXED_LABELS:
            return store.indexed(label, value)
        return tuple(each for each in store.all(None) if each.labels.get(label) == value)

    def age_seconds(self, resource: Resource[Any]) -> float:
        """Seconds since the last data on this resource; infinite before the first list."""
        return self.store(resource).age_seconds

    @property
    def synced(self) -> bool:
        """Whether everything that the cluster serves was read once."""
        return all(store.synced or store.absent for store in self._stores.values())


def _each(objects: dict[str, dict[str, T]]) -> Iterator[T]:
    for space in objects.values():
        yield from space.values()


def _index_keys(object_: ClusterObject) -> Iterator[Key]:
    meta = object_.metadata
    for owner in meta.owner_references:
        yield OWNER, owner.uid
    for label in INDEXED_LABELS:
        value = meta.labels.get(label)
        if value is not None:
            yield label, value


def _indexed(objects: Iterable[T]) -> dict[Key, tuple[T, ...]]:
    """All at once, because one at a time takes the square of how many share a value."""
    found: dict[Key, list[T]] = defaultdict(list)
    for each in objects:
        for key in _index_keys(each):
            found[key].append(each)
    return {key: tuple(entries) for key, entries in found.items()}


def _differences(
    old: dict[str, dict[str, T]], new: dict[str, dict[str, T]]
) -> Iterator[tuple[Kind, T]]:
    nothing: dict[str, T] = {}
    for namespace, space in new.items():
        known = old.get(namespace, nothing)
        for name, each in space.items():
            before = known.get(name)
            if before is None:
                yield "added", each
            elif before.metadata.resource_version != each.metadata.resource_version:
                yield "modified", each
    for namespace, space in old.items():
        known = new.get(namespace, nothing)
        for name, each in space.items():
            if name not in known:
                yield "deleted", each
