"""ResourceQuotas: what a namespace may have at once, refused beyond that as the API server does."""

from collections import defaultdict
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from playground.cluster.objects.errors import forbidden
from playground.cluster.objects.kinds import CLAIM, POD, RESOURCE_QUOTA, Kind, Object
from playground.cluster.objects.quantities import parse_quantity, show_quantity
from playground.cluster.objects.store import Store

_COUNTED = frozenset({POD.qualified, CLAIM.qualified})
_COMPUTE = ("cpu", "memory")
Amounts = Mapping[str, Decimal]


class NamespaceQuotas:
    """Refuses new objects, and claims that ask for more, for which a quota has no room."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __call__(self, kind: Kind, obj: Object, old: Object | None) -> None:
        """Looks at one write."""
        if not kind.namespaced or (old is not None and kind != CLAIM):
            return
        space, wanted = obj["metadata"]["namespace"], _usage(kind, obj)
        if old is not None:
            before = _usage(kind, old)
            more = {name: amount - before[name] for name, amount in wanted.items()}
            wanted = defaultdict(Decimal, {name: each for name, each in more.items() if each > 0})
        for quota in self._store.all(RESOURCE_QUOTA, space):
            hard = {name: parse_quantity(each) for name, each in quota["spec"]["hard"].items()}
            self._refuse_unsaid(kind, obj, quota, hard)
            used = self._used(kind, space)
            counted = [name for name in hard if wanted.get(name)]
            over = sorted(name for name in counted if used[name] + wanted[name] > hard[name])
            if over:
                told = ", ".join(
                    f"{word}: {_shown(over, amounts)}"
                    for word, amounts in (("requested", wanted), ("used", used), ("limited", hard))
                )
                why = f"exceeded quota: {quota['metadata']['name']}, {told}"
                raise forbidden(kind, _name(obj), why)

    def _refuse_unsaid(self, kind: Kind, obj: Object, quota: Object, hard: Amounts) -> None:
        """A quota for a resource has every container say how much of it it wants."""
        if kind != POD:
            return
        unsaid: dict[str, list[str]] = defaultdict(list)
        for container in obj["spec"].get("containers") or ():
            said = _compute(container)
            for name in hard:
                if name.rpartition(".")[2] in _COMPUTE and name not in said:
                    unsaid[name].append(container["name"])
        if unsaid:
            told = "; ".join(f"{name} for: {','.join(unsaid[name])}" for name in sorted(unsaid))
            why = f"failed quota: {quota['metadata']['name']}: must specify {told}"
            raise forbidden(kind, _name(obj), why)

    def _used(self, kind: Kind, space: str) -> dict[str, Decimal]:
        found: dict[str, Decimal] = defaultdict(Decimal)
        for each in self._store.all(kind, space):
            if each.get("status", {}).get("phase") not in {"Succeeded", "Failed"}:
                for name, amount in _usage(kind, each).items():
                    found[name] += amount
        return found


def _usage(kind: Kind, obj: Object) -> dict[str, Decimal]:
    """What an object counts for, by the names that quotas use."""
    found: dict[str, Decimal] = defaultdict(Decimal, {f"count/{kind.qualified}": Decimal(1)})
    if kind.qualified in _COUNTED:
        found[kind.qualified] = Decimal(1)
    if kind == CLAIM:
        asked = (obj["spec"].get("resources") or {}).get("requests") or {}
        found["requests.storage"] = parse_quantity(asked.get("storage", "0"))
    if kind == POD:
        for container in obj["spec"].get("containers") or ():
            for name, amount in _compute(container).items():
                found[name] += amount
    return found


def _compute(container: dict[str, Any]) -> dict[str, Decimal]:
    resources = container.get("resources") or {}
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    found = {f"limits.{name}": parse_quantity(each) for name, each in limits.items()}
    for name, each in {**limits, **requests}.items():
        found[f"requests.{name}"] = parse_quantity(each)
        if name in _COMPUTE:
            found[name] = parse_quantity(each)
    return found


def _name(obj: Object) -> str:
    name: str = obj["metadata"].get("name", "")
    return name


def _shown(names: list[str], amounts: Amounts) -> str:
    return ",".join(
        f"{name}={show_quantity(amounts[name], name.rpartition('.')[2])}" for name in names
    )
