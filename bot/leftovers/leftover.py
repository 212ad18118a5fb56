"""One leftover, and the leftovers of each area as such. Pure: no I/O."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from bot.config import Anf, Datasets
from bot.datasets.caches.evictions.notices import evict_button
from bot.datasets.caches.tables import Cache, Orphan
from bot.datasets.leftovers.notices import is_removable, remove_button
from bot.durations import format_duration
from bot.gpus.reports.ranking import Idle
from bot.gpus.reports.ranking_card import idle_buttons
from bot.gpus.status import gpus
from bot.slack.card import Button
from bot.snapshots.deletions.unused import (
    UnusedClaims,
    delete_button,
    last_mounted,
    last_needed,
    sized,
)
from bot.snapshots.snapshots.card import delete_snapshot_button
from bot.snapshots.tables import Snapshot
from bot.volumes.levels import monthly_price
from bot.volumes.provisioning.card import ask_button
from bot.volumes.provisioning.plan import find_account
from bot.volumes.resources import pool_place, subscription_of
from bot.volumes.tables import SeenPool
from bot.volumes.wording import UNKNOWN, capacity

HOURS_A_MONTH = 730
_UNUSED_FOR = timedelta(days=1)
_OLD = timedelta(days=30)
# Room for a volume or two is no leftover.
_LEAST_FREE_BYTES = 2**40

Prices = Mapping[str, Decimal]


@dataclass(frozen=True)
class Leftover:
    """Something that costs and is not used; `monthly_cost` is None if its price is unknown.

    `unused` says since when and by what sign. Its `button` removes it, after a second look.
    Without one, `advice` is a sentence about removing it, and `command` removes it permanently;
    with both, the advice leads to the command.
    """

    kind: str
    name: str
    amount: str
    unused: str
    monthly_cost: float | None = None
    button: Button | None = None
    advice: str = ""
    command: str = ""


def of_claims(unused: UnusedClaims, now: datetime) -> Iterator[Leftover]:
    """PVCs that nothing needs, and that are older than a day or were mounted before then."""
    for each in unused.found.rows:
        if now - (last_needed(each, unused) or now) < _UNUSED_FOR:
            continue
        button = delete_button(unused.found.team, each) if unused.may_delete else None
        name = each.claim.name + (f" ({each.cluster})" if unused.found.is_wide else "")
        said = f"last mounted {last_mounted(each, unused, now)}"
        yield Leftover("PVC", name, sized(each), said, each.cost, button)


def of_snapshots(
    found: Iterable[Snapshot], claims: Iterable[str], now: datetime
) -> Iterator[Leftover]:
    """Snapshots without an end that are a month old, or whose PVC is not among `claims`."""
    there = set(claims)
    for each in found:
        if each.claim_name in there and now - each.asked_at < _OLD:
            continue
        gone = "" if each.claim_name in there else f", PVC {each.claim_name} no longer exists"
        age = format_duration(now - (each.taken_at or each.asked_at))
        button = delete_snapshot_button(each, f"Delete {each.name}")
        amount = f"of {capacity(each.capacity_bytes)}"
        yield Leftover("Snapshot", each.name, amount, f"taken {age} ago{gone}", button=button)


def of_caches(found: Iterable[Cache], datasets: Datasets, now: datetime) -> Iterator[Leftover]:
    """Ready caches that no run uses."""
    for each in found:
        unused = now - max(each.used_at, each.seen_used_at or each.used_at)
        if unused < _UNUSED_FOR:
            continue
        storage_class = datasets.at(each.cluster).classes.get(each.storage_class)
        price = storage_class.monthly_price(each.capacity_bytes) if storage_class else None
        button = evict_button(each, f"Evict {each.reference}")
        amount, said = capacity(each.capacity_bytes), f"unused for {format_duration(unused)}"
        of = f" of cluster {each.named_cluster}" if each.named_cluster else ""
        yield Leftover("Cache", f"{each.reference}{of}", amount, said, price, button)


def of_idle(found: Iterable[Idle], prices: Prices, now: datetime) -> Iterator[Leftover]:
    """Runs and sessions whose GPUs are all idle."""
    for each in found:
        who, amount = each.who, f"{gpus(each.gpus)} GPUs"
        freed = f"The run ends and frees its {amount}."
        button = next(idle_buttons(who.name, who.run_id, "", freed), None)
        idle = f"at 0 % for {format_duration(now - each.since)}"
        cost = cost_of_gpus(each.gpus, prices.get(who.gpu_type))
        removal = "" if button else f"Stop {who.name} in namespace {who.namespace} yourself."
        yield Leftover(
            "Run" if who.run_id else "Pod", who.name, amount, idle, cost, button, removal
        )


def of_orphans(found: Iterable[Orphan], now: datetime) -> Iterator[Leftover]:
    """Objects of datasets that nothing needs, in clusters and in clouds."""
    for each in found:
        name = f"{each.namespace}/{each.name}" if each.namespace else each.name
        amount = UNKNOWN if each.size_bytes is None else capacity(each.size_bytes)
        since = f"not needed, found {format_duration(max(now - each.found_at, timedelta()))} ago"
        button = remove_button(each) if is_removable(each) else None
        is_by_hand = button is None and not each.command
        advice = "`/dataset usage` shows how to delete it." if is_by_hand else ""
        cost = each.monthly_price
        yield Leftover(each.kind, name, amount, since, cost, button, advice, each.command)


def of_pools(found: Iterable[SeenPool], anf: Anf | None, installation: str) -> Iterator[Leftover]:
    """Capacity pools of Azure NetApp Files of which 1 TiB or more is allocated to no volume."""
    for each in found if anf is not None else ():
        free = each.size_bytes - each.taken_bytes
        if anf is None or free < _LEAST_FREE_BYTES:
            continue
        whole = "empty" if not each.taken_bytes else f"free of {capacity(each.size_bytes)}"
        advice = "Azure bills the whole pool. Make it smaller in Azure, or delete an empty one."
        cost = monthly_price(anf, each.level, free)
        button = None if each.taken_bytes else _pool_button(each, anf, installation)
        yield Leftover(
            "ANF pool", _pool_name(each, anf), capacity(free), whole, cost, button,
            advice="" if button else advice,
        )  # fmt: skip


def _pool_name(pool: SeenPool, anf: Anf) -> str:
    """Its name, with its subscription where there are several."""
    return f"{pool.name} ({subscription_of(pool.id)})" if anf.has_several else pool.name


def _pool_button(pool: SeenPool, anf: Anf, installation: str) -> Button | None:
    """The button that asks whether to delete an empty pool, if the settings allow that."""
    place, creation = pool_place(pool.id), anf.pool_creation
    account = find_account(anf, place) if place is not None else None
    if account is None or creation is None:
        return None
    if pool.made_by != installation and creation.deletes == "own":
        return None
    return ask_button(account, pool.name)


def cost_of_gpus(thousandths: int, per_hour: Decimal | None) -> float | None:
    """What these GPUs cost in a month."""
    return None if per_hour is None else float(per_hour) * thousandths / 1000 * HOURS_A_MONTH
