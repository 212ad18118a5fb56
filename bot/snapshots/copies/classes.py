"""Which storage classes make volumes that many pods can mount. Pure: no I/O."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bot.cluster.types.claims import StorageClass
from bot.errors import ConflictError, NotFoundError, UsageError
from bot.slack.grammar.reading import closest
from bot.snapshots.classes import READ_WRITE_MANY

_UNKNOWN = (
    "A StorageClass does not say which access modes its volumes have. A platform admin can, in"
    " quartermaster.yaml: clusters.{cluster}.access_modes: {{{name}: ReadWriteMany}}."
)


@dataclass(frozen=True)
class SharedClasses:
    """The storage classes of a cluster by name: many nodes, one node, or unknown."""

    many: tuple[str, ...]
    one: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def described(self) -> str:
        """All of them, as a sentence each."""
        said = (
            ("Many pods can mount volumes of", self.many),
            ("Pods of one node at a time can mount those of", self.one),
            ("It is not known for", self.unknown),
        )
        return " ".join(f"{what}: {', '.join(names)}." for what, names in said if names)


def is_shared(kind: StorageClass, told: Mapping[str, str]) -> bool | None:
    """Whether many nodes can mount its volumes; None if neither settings nor driver say so.

    `told` are the access modes in the settings.
    """
    mode = told.get(kind.name)
    if mode is not None:
        return mode == READ_WRITE_MANY
    if kind.makes_shares:
        return True
    return False if kind.makes_disks else None


def sorted_out(kinds: Iterable[StorageClass], told: Mapping[str, str]) -> SharedClasses:
    """The classes by whether many nodes can mount their volumes."""
    found: dict[bool | None, list[str]] = {True: [], False: [], None: []}
    for each in sorted(kinds, key=lambda kind: kind.name):
        found[is_shared(each, told)].append(each.name)
    return SharedClasses(tuple(found[True]), tuple(found[False]), tuple(found[None]))


def chosen(
    kinds: Iterable[StorageClass],
    told: Mapping[str, str],
    name: str | None,
    usual: str | None,
    cluster: str,
) -> StorageClass:
    """The class of that name, or the one to use if none is named; UserError without one.

    `usual` is the default class of datasets.
    """
    there = {each.name: each for each in kinds}
    found = sorted_out(there.values(), told)
    if name is None:
        name = usual if usual in found.many else None
        name = name or (found.many[0] if len(found.many) == 1 else None)
        if name is None:
            raise _none_chosen(found, cluster)
    if name not in there:
        near = closest(name, list(there))
        hint = f"Did you mean {near}?" if near else found.described
        raise NotFoundError(f"Cluster {cluster} has no storage class {name}.", hint)
    if name in found.one:
        raise ConflictError(
            f"Only pods of one node at a time can mount volumes of storage class {name}.",
            found.described,
        )
    if name in found.unknown:
        driver = there[name].provisioner
        raise ConflictError(
            f"It is not known whether many pods can mount volumes of storage class {name}, whose"
            f" driver is {driver}.",
            _UNKNOWN.format(cluster=cluster, name=name),
        )
    return there[name]


def _none_chosen(found: SharedClasses, cluster: str) -> UsageError | ConflictError:
    if found.many:
        return UsageError(
            "Name a storage class: several make volumes that many pods can mount.",
            f"Add --class with one of: {', '.join(found.many)}.",
        )
    unknown = found.unknown[0] if found.unknown else "NAME"
    return ConflictError(
        f"No storage class of cluster {cluster} is known to make volumes that many pods can mount."
        f" {found.described}".strip(),
        _UNKNOWN.format(cluster=cluster, name=unknown),
    )
