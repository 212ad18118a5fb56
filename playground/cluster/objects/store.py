"""All objects of the cluster, each with its JSON beside it, and a history for watches."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from playground.cluster.objects.kinds import Kind, Object

Key = tuple[str, str]
HISTORY = 20_000


@dataclass(frozen=True)
class Entry:
    """An object and its JSON; neither is ever changed in place."""

    obj: Object
    raw: bytes


@dataclass(frozen=True)
class Change:
    """One change of one object; `after` is the last state for a deletion."""

    type: str
    kind: str
    before: Object | None
    after: Entry
    version: int

    @property
    def obj(self) -> Object:
        """The object after the change."""
        return self.after.obj

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return key_of(self.after.obj)


def key_of(obj: Object) -> Key:
    """Namespace (empty for cluster-wide objects) and name."""
    metadata = obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def owner_uids(obj: Object) -> list[str]:
    """The uids of the objects that own this one."""
    return [owner["uid"] for owner in obj["metadata"].get("ownerReferences", ())]


class Store:
    """Objects by kind, namespace and name, with an index by owner.

    Objects handed out are shared: take `edit` to get a copy that may be changed.
    """

    def __init__(self) -> None:
        self.version = 1000
        self.oldest = 0
        self.listeners: list[Callable[[Change], None]] = []
        self.history: dict[str, deque[Change]] = defaultdict(lambda: deque(maxlen=HISTORY))
        self._shelves: dict[str, dict[str, dict[str, Entry]]] = defaultdict(dict)
        self._in_order: dict[str, dict[str, Sequence[Entry]]] = defaultdict(dict)
        self._owned: dict[str, dict[tuple[str, Key], None]] = defaultdict(dict)
        self.uids: dict[str, tuple[str, Key]] = {}

    def get(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """The object, shared, or None."""
        entry = self.entry(kind.qualified, (namespace, name))
        return entry.obj if entry else None

    def entry(self, kind: str, key: Key) -> Entry | None:
        """The object with its JSON, or None."""
        return self._shelves[kind].get(key[0], {}).get(key[1])

    def edit(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """A copy of the object for its next state, or None."""
        entry = self.entry(kind.qualified, (namespace, name))
        return copy_of(entry) if entry else None

    def entries(self, kind: Kind, namespace: str = "") -> Sequence[Entry]:
        """All objects of a kind (in one namespace), in the order of their names.

        Put in order once until one changes: a list of many comes in many pages.
        """
        known = self._in_order[kind.qualified]
        if namespace not in known:
            shelf = self._shelves[kind.qualified]
            spaces = [namespace] if namespace else sorted(shelf)
            known[namespace] = tuple(
                rows[name]
                for space in spaces
                for rows in [shelf.get(space, {})]
                for name in sorted(rows)
            )
        return known[namespace]

    def all(self, kind: Kind, namespace: str = "") -> Iterator[Object]:
        """All objects of a kind, shared, in no particular order."""
        shelf = self._shelves[kind.qualified]
        for rows in [shelf.get(namespace, {})] if namespace else list(shelf.values()):
            for entry in list(rows.values()):
                yield entry.obj

    def in_namespace(self, namespace: str) -> Iterator[tuple[str, Object]]:
        """Every object of a namespace with the name of its kind."""
        for kind, shelf in list(self._shelves.items()):
            for entry in list(shelf.get(namespace, {}).values()):
                yield kind, entry.obj

    def of_uid(self, uid: str) -> tuple[str, Object] | None:
        """The object with this uid and the name of its kind, or None."""
        place = self.uids.get(uid)
        entry = self.entry(*place) if place else None
        return (place[0], entry.obj) if place and entry else None

    def owned_by(self, uid: str, kind: Kind | None = None) -> list[tuple[str, Object]]:
        """The objects that name this uid as an owner, with the names of their kinds."""
        found = [(name, self.entry(name, key)) for name, key in self._owned.get(uid, ())]
        wanted = kind.qualified if kind else None
        return [(name, entry.obj) for name, entry in found if entry and wanted in {None, name}]

    def put(self, kind: Kind, obj: Object) -> Object:
        """Keeps the next state of an object; a state that equals the last one changes nothing."""
        key = key_of(obj)
        rows = self._shelves[kind.qualified].setdefault(key[0], {})
        before = rows.get(key[1])
        if before is not None:
            obj["metadata"]["resourceVersion"] = before.obj["metadata"]["resourceVersion"]
            if obj == before.obj:
                return before.obj
        self.version += 1
        obj["metadata"]["resourceVersion"] = str(self.version)
        entry = Entry(obj, orjson.dumps(obj))
        rows[key[1]] = entry
        self._index(kind.qualified, key, before.obj if before else None, obj)
        self._tell("MODIFIED" if before else "ADDED", kind, before, entry)
        return obj

    def remove(self, kind: Kind, key: Key) -> Object | None:
        """Takes an object away; its last state carries the version of the deletion."""
        before = self._shelves[kind.qualified].get(key[0], {}).pop(key[1], None)
        if before is None:
            return None
        self.version += 1
        last = copy_of(before)
        last["metadata"]["resourceVersion"] = str(self.version)
        self._index(kind.qualified, key, before.obj, None)
        self._tell("DELETED", kind, before, Entry(last, orjson.dumps(last)))
        return last

    def compact(self) -> None:
        """Forgets the history, so that watches from older versions get 410 Gone."""
        self.history.clear()
        self.oldest = self.version

    def changes_after(self, kind: str, version: int) -> list[Change] | None:
        """What happened to a kind since a version; None if that is no longer known."""
        history = self.history[kind]
        lost = history[0].version - 1 if len(history) == HISTORY else 0
        if version < max(self.oldest, lost):
            return None
        return [change for change in history if change.version > version]

    def _index(self, kind: str, key: Key, before: Object | None, after: Object | None) -> None:
        for uid in owner_uids(before) if before else ():
            self._owned[uid].pop((kind, key), None)
            if not self._owned[uid]:
                del self._owned[uid]
        if after is not None:
            self.uids[after["metadata"]["uid"]] = (kind, key)
        elif before is not None:
            self.uids.pop(before["metadata"]["uid"], None)
        for uid in owner_uids(after) if after else ():
            self._owned[uid][kind, key] = None

    def _tell(self, what: str, kind: Kind, before: Entry | None, after: Entry) -> None:
        self._in_order[kind.qualified].clear()
        change = Change(what, kind.qualified, before.obj if before else None, after, self.version)
        self.history[kind.qualified].append(change)
        for listener in self.listeners:
            listener(change)


def copy_of(entry: Entry) -> Object:
    """A copy of an entry's object that may be changed."""
    copy: dict[str, Any] = orjson.loads(entry.raw)
    return copy
