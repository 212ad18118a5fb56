"""Answers to a request for a cache: what it costs, or that it already exists."""

from collections.abc import Iterator
from datetime import timedelta

from bot.datasets.caches.answers import CacheFound, CacheOffer, HeldPart, UncountedPart
from bot.datasets.caches.card import kept
from bot.datasets.caches.content import reading
from bot.datasets.caches.plan import Estimate, said_by, written
from bot.datasets.caches.tables import Cache, CachePhase
from bot.datasets.wording import capacity, files, size
from bot.durations import format_duration
from bot.slack.card import Button, Card, Reply
from bot.slack.markup import FormatCommand, Markup, code, join, person, plain, when
from bot.volumes.changes.replies import bill
from bot.volumes.wording import throughput

CONFIRM = "dataset.cache"


def offered(offer: CacheOffer) -> Reply:
    """What a cache costs, with the button that creates it; nothing has started yet."""
    card = Card(
        title=f"Cache {offer.estimate.content.reference}?",
        lines=(plain("Nothing has started yet. Caching it takes:"), *_of_boost(offer)),
        facts=costs(offer),
    )
    return Reply(card=card, buttons=(Button(CONFIRM, "Cache it", written(offer.plan), "primary"),))


def part_told(found: CacheOffer | HeldPart, format_command: FormatCommand) -> Reply:
    """What a cache of some folders costs, or which cache holds them already."""
    if isinstance(found, CacheOffer):
        return offered(found)
    cache, amount = found.cache, f"{files(found.totals.objects)}, {size(found.totals.bytes)}"
    is_ready = cache.phase == CachePhase.READY
    how = "is cached" if is_ready else "is being cached"
    return Reply((
        plain(f"{cache.reference} {how} on {cache.place} and holds {found.reference}: {amount}."
              " Nothing has to be copied."),
        join("Runs read it under /data: ", code(format_command(reading(found.reference)))),
    ))  # fmt: skip


def foreseen_lines(found: CacheOffer | Cache | UncountedPart) -> tuple[Markup, ...]:
    """What a request would do, for its form."""
    if isinstance(found, UncountedPart):
        return (plain("The answer shows what it takes, and asks before anything is copied."),)
    if isinstance(found, CacheOffer):
        return tuple(join(plain(f"{label}: "), value) for label, value in costs(found))
    if found.phase == CachePhase.READY:
        kept_words = kept(found.keep_seconds)
        said = f"{found.reference} is cached on {found.place} already. It is kept"
        return (plain(f"{said} {kept_words}; this counts as use."),)
    said = f"{found.reference} is already being cached on {found.place}"
    return (plain(f"{said}: {_far(found)}"),)


def costs(offer: CacheOffer) -> tuple[tuple[str, Markup], ...]:
    """What a cache costs, as facts of a card."""
    plan, estimate = offer.plan, offer.estimate
    content = estimate.content
    layout = (("Layout", code(plan.layout)),) if plan.layout else ()
    amount = f"{files(content.objects)}, {size(content.size_bytes)}"
    return (
        ("Imports" if estimate.is_imported else "Copies",
         plain(f"{amount} ({content.size_bytes:,} bytes)")),
        ("Volume", plain(f"{capacity(estimate.capacity_bytes)} on {estimate.place}")),
        ("Free space", plain(_room(estimate))),
        ("Takes", plain(_time(offer))),
        *_boost(offer),
        ("Teams", plain(", ".join((plan.team, *plan.teams)))),
        ("Kept", plain(kept(plan.keep_seconds))),
        *layout,
    )  # fmt: skip


def told(found: CacheFound, format_command: FormatCommand) -> Reply:
    """The answer for a cache that is new, being copied, or ready."""
    cache = found.cache
    if found.is_new:
        undo = code(format_command(f"dataset evict {cache.argument}"))
        return Reply(
            (
                plain(f"Caching {cache.reference} on {cache.place}."),
                join("Its card in this channel shows the progress. ", undo, " undoes it."),
            )
        )
    if cache.phase == CachePhase.READY:
        return Reply(_ready(found, format_command))
    lines = [join(f"{cache.reference} is already being cached on {cache.place}, requested"
                  " by ", person(cache.person), f": {_far(cache)}")]  # fmt: skip
    lines.append(plain(_joined(found)))
    return Reply(tuple(lines))


def _ready(found: CacheFound, format_command: FormatCommand) -> tuple[Markup, ...]:
    cache = found.cache
    use = code(format_command(reading(cache.reference)))
    lines = [
        join(f"{cache.reference} has been cached on {cache.place} since ",
             when(cache.ready_at or cache.since),
             f": {files(cache.objects)}, {size(cache.size_bytes)}."),
        join("Runs read it under /data: ", use),
        plain(f"It is kept {kept(cache.keep_seconds)}. This request counts as use."),
    ]  # fmt: skip
    if found.added:
        lines.append(plain(f"It is now also for {', '.join(found.added)}."))
    return tuple(lines)


def _joined(found: CacheFound) -> str:
    follows = "Its card in this channel shows the progress."
    if not found.added:
        return follows
    return f"It is now also for {', '.join(found.added)}. {follows}"


def _far(cache: Cache) -> str:
    if cache.phase == CachePhase.FILLING:
        return f"{cache.files_done:,} of {files(cache.objects)} copied."
    if cache.phase == CachePhase.ARRANGING:
        return "its files are copied and are being arranged."
    return "copying has not started yet."


def _room(estimate: Estimate) -> str:
    if estimate.free is None:
        return (
            "unknown: there is no ResourceQuota and no budget"
            f" ({estimate.section}.{estimate.storage_class}.budget)"
        )
    whole = f" of {capacity(estimate.whole)}" if estimate.whole is not None else ""
    return f"{capacity(estimate.free)}{whole} ({said_by(estimate.source)})"


def _of_boost(offer: CacheOffer) -> Iterator[Markup]:
    """What people must know about a boost before they request it."""
    boost = offer.boost
    if boost is None:
        return
    if boost.plan.grow_to is not None:
        target = boost.plan.target
        yield plain(f"Pool {target.name} grows from {capacity(target.size_bytes)} to"
                    f" {capacity(boost.plan.grow_to)} for the boost and shrinks"
                    " afterwards.")  # fmt: skip
    if boost.earliest is not None:
        yield plain(f"Azure lowers the level of a volume at the earliest"
                    f" {format_duration(boost.earliest)} after it was raised: the boost is put"
                    " back then.")  # fmt: skip
    if boost.plan.needs_approval:
        who = join(" or ".join(person(each) for each in boost.approvers)) or plain(
            "A person in approvals.anf_change")  # fmt: skip
        yield join(who, " must approve the boost; the fill does not wait for the approval.")


def _boost(offer: CacheOffer) -> Iterator[tuple[str, Markup]]:
    if offer.boost is None:
        return
    plan = offer.boost.plan
    where = f"pool {plan.target.name}"
    if plan.target is not plan.source:
        where = f"{plan.target.level}, {where}"
    before, after = throughput(plan.volume.throughput_mibps), throughput(plan.mibps_after)
    yield "Boost", plain(f"{before} → about {after} ({where}) until it is filled, then put back")
    yield "Bill", plain(bill(plan.cost_delta))


def _time(offer: CacheOffer) -> str:
    """How long the copy takes at best, with the boost and without it."""
    plain_time = _time_without(offer.estimate)
    mibps = offer.boost.plan.mibps_after if offer.boost is not None else None
    if not mibps:
        return plain_time
    size_bytes = offer.estimate.content.size_bytes
    least = timedelta(seconds=max(size_bytes / mibps / 2**20, 1))
    return f"{format_duration(least)} at best with the boost; without it {plain_time}"


def _time_without(estimate: Estimate) -> str:
    if estimate.best is None:
        key = f"{estimate.section}.{estimate.storage_class}.throughput_mib_per_tib"
        return f"unknown: {key} is not set"
    least = format_duration(max(estimate.best, timedelta(seconds=1)))
    return f"{least} at best, at the throughput of the volume"
