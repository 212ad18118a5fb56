"""Cards of volumes and capacity pools. Pure: no I/O."""

from collections.abc import Iterable, Iterator

from bot.config import Anf
from bot.slack.card import Card, Table
from bot.slack.markup import Markup, code, join, plain
from bot.volumes.levels import RATES, estimated_throughput, monthly_price, pool_price
from bot.volumes.pools.reads import Row, Shown, TeamVolumes
from bot.volumes.resources import AnfVolume, Estate, Pool, Unread, subscription_of
from bot.volumes.wording import UNKNOWN, capacity, money, throughput, used, volumes

_VOLUMES = ("PVC", "Pool", "Level", "Size", "Throughput", "Used")
_POOLS = ("Pool", "Level", "QoS", "Size", "Free", "Throughput", "Monthly cost")
_MOST = 40
_MEANWHILE = (
    " Until an admin repairs it (`/anf repair PVC`), it cannot be mounted on more nodes,"
    " snapshotted, cloned or grown, and deleting the PVC would leave the volume behind, billed."
    " Pods that use it keep running."
)


def volumes_card(team: str, found: TeamVolumes, anf: Anf, *, is_wide: bool) -> Card:
    """The volumes of a team; `is_wide` adds the clusters, if it has several."""
    rows = tuple(_volume_row(each, anf, is_wide=is_wide) for each in found.rows[:_MOST])
    return Card(
        f"Volumes of {team} on Azure NetApp Files",
        lines=(*_unread(found.unread), *_remarks(found)),
        table=Table((*_VOLUMES, *_wide(anf, "Subscription")), rows) if rows else None,
    )


def pools_card(estate: Estate, anf: Anf) -> Card:
    """The capacity pools: size, free space and cost."""
    rows = tuple(_pool_row(estate, each, anf) for each in estate.pools[:_MOST])
    prices = [pool_price(anf, each) for each in estate.pools]
    known = [each for each in prices if each is not None]
    lines = [*_unread(estate.unread)]
    if not rows:
        lines.append(plain("The bot can see no capacity pools."))
    if known:
        rest = "" if len(known) == len(prices) else ", for pools with a known price"
        rest += ", without those subscriptions" if estate.unread and not rest else ""
        lines.append(plain(f"Total: {money(sum(known))} a month{rest}."))
    if len(estate.pools) > _MOST:
        lines.append(plain(f"And {len(estate.pools) - _MOST} more."))
    return Card(
        "Capacity pools of Azure NetApp Files",
        lines=tuple(lines),
        table=Table((*_POOLS, *_wide(anf, "Subscription")), rows) if rows else None,
        footer=(plain("Azure bills the provisioned size of pools, whatever they hold."),),
    )


def volume_card(shown: Shown, anf: Anf) -> Card:
    """One PVC: its volume and pool, its throughput, and that at other levels."""
    claim, found = shown.row.claimed.claim, shown.row.found
    title = f"{claim.namespace}/{claim.name}"
    if found is None:
        return Card(title, lines=(_missing(shown.row),))
    volume = found.volume
    facts = (
        *_volume_facts(volume, shown.pool),
        *_pool_facts(shown, anf),
        ("Volume", code(volume.place.name)),
        *((name, code(volume.place.subscription)) for name in _wide(anf, "Subscription")),
        ("Account", code(f"{volume.place.group}/{volume.place.account}")),
        ("State", plain(volume.state or UNKNOWN)),
        ("PV", code(shown.row.claimed.volume.name)),
    )
    return Card(title, lines=tuple(_moved(shown.row)), facts=facts)


def _wide(anf: Anf, *cells: str) -> tuple[str, ...]:
    """Cells about subscriptions, which people see only where there are several."""
    return cells if anf.has_several else ()


def _unread(found: Iterable[Unread]) -> Iterator[Markup]:
    for each in found:
        yield plain(f"{each.sentence} Its pools and volumes are unknown. {each.hint}".rstrip())


def _volume_row(row: Row, anf: Anf, *, is_wide: bool) -> tuple[str, ...]:
    name = row.claimed.claim.name + (f" ({row.cluster})" if is_wide else "")
    if row.found is None:
        where = subscription_of(row.claimed.named.id) or UNKNOWN
        return (name, *[UNKNOWN] * (len(_VOLUMES) - 1), *_wide(anf, where))
    volume = row.found.volume
    return (
        name,
        volume.place.pool,
        volume.level,
        capacity(volume.quota_bytes),
        throughput(volume.throughput_mibps),
        used(volume.used_bytes, volume.quota_bytes),
        *_wide(anf, volume.place.subscription),
    )


def _remarks(found: TeamVolumes) -> Iterator[Markup]:
    if not found.rows:
        yield plain("The bot can see no volume of the team's PVCs in Azure.")
    if len(found.rows) > _MOST:
        yield plain(f"And {len(found.rows) - _MOST} more.")
    for row in found.rows:
        if row.found is None and not row.is_unread:
            yield _missing(row)
        yield from _moved(row)
    if found.elsewhere and found.rows:
        count = len(found.elsewhere)
        some = (
            f"{count} PVC{' is' if count == 1 else 's are'} on none that the bot can see in Azure"
        )
        yield plain(f"{some}: {_some(found.elsewhere)}.")


def _some(names: tuple[str, ...]) -> str:
    rest = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return f"{', '.join(names[:_FEW])}{rest}"


_FEW = 10


def _missing(row: Row) -> Markup:
    named = row.claimed.named
    place = named.id.rpartition("/")[2] or f"{named.address}:/{named.path}"
    return join(
        "The bot cannot see the volume of ", code(row.claimed.claim.name), " in Azure: ",
        code(place), plain(". It was deleted, or is in an account or subscription that the bot"
        " does not read."),
    )  # fmt: skip


def _moved(row: Row) -> Iterator[Markup]:
    if row.found is None or row.record is None:
        return
    pool = row.found.volume.place.pool
    begin = f" was moved to pool {pool}"
    if not row.record.is_stale(row.found.volume.id):
        words = (
            f"{begin}, and Trident has the new id. Its PV still has the old id, which is harmless."
        )
    elif row.record.unread:
        words = (
            f"{begin}. Whether Trident has the new id is unknown: {row.record.unread.rstrip('.')}."
            f"{_MEANWHILE}"
        )
    else:
        words = f"{begin}, and Trident still has the old id.{_MEANWHILE}"
    yield join(code(row.claimed.claim.name), plain(words))


def _volume_facts(volume: AnfVolume, pool: Pool | None) -> Iterator[tuple[str, Markup]]:
    is_auto = pool is not None and pool.qos == "Auto"
    yield "Level", plain(volume.level)
    yield "Size", plain(capacity(volume.quota_bytes))
    told = throughput(volume.throughput_mibps)
    rate = f", {RATES[volume.level]} MiB/s per TiB" if is_auto and volume.level in RATES else ""
    how = "" if pool is None else (f" (follows its size{rate})" if is_auto else " (set manually)")
    yield "Throughput", plain(told + how)
    if is_auto:
        others = [
            f"{level} {throughput(estimated_throughput(level, volume.quota_bytes))}"
            for level in RATES
            if level != volume.level
        ]
        yield "At other levels", plain(f"about {', '.join(others)}")
    yield "Used", plain(used(volume.used_bytes, volume.quota_bytes))


def _pool_facts(shown: Shown, anf: Anf) -> Iterator[tuple[str, Markup]]:
    pool, found = shown.pool, shown.row.found
    if pool is None or found is None:
        return
    free = UNKNOWN if shown.free_bytes is None else capacity(shown.free_bytes)
    yield "Pool", plain(f"{pool.name}: {capacity(pool.size_bytes)}, {free} free, QoS {pool.qos}")
    part = monthly_price(anf, pool.level, found.volume.quota_bytes)
    if part is not None:
        whole = money(pool_price(anf, pool))
        yield "Monthly cost", plain(f"{money(part)} of the {whole} for the pool")


def _pool_row(estate: Estate, pool: Pool, anf: Anf) -> tuple[str, ...]:
    inside = estate.inside(pool)
    free = pool.size_bytes - estate.taken_bytes(pool)
    rest = throughput(pool.throughput_mibps)
    if pool.qos == "Manual" and pool.used_throughput_mibps is not None:
        rest = f"{pool.used_throughput_mibps:g} of {rest} assigned"
    return (
        f"{pool.name} ({volumes(len(inside))})",
        pool.level,
        pool.qos,
        capacity(pool.size_bytes),
        capacity(max(free, 0)),
        rest,
        money(pool_price(anf, pool)),
        *_wide(anf, pool.place.subscription),
    )
