"""Answers to evict, pin, unpin, extend, touch and keep. Pure: no I/O."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from bot.datasets.caches.card import last_use
from bot.datasets.caches.evictions.marking import refuse_needed
from bot.datasets.caches.evictions.notices import EVICT
from bot.datasets.caches.expiry import expires_at
from bot.datasets.caches.reads import Consequence
from bot.datasets.caches.tables import Cache
from bot.datasets.tables import Dataset
from bot.datasets.wording import capacity, files, size
from bot.durations import format_duration
from bot.slack.card import Button, Reply
from bot.slack.markup import FormatCommand, Markup, code, join, person, plain, when


def question(
    cache: Cache, found: Consequence, format_command: FormatCommand, now: datetime
) -> Reply:
    """What evicting a cache would do, with a button; ConflictError if something needs it."""
    refuse_needed(cache, found.users)
    freed = f"frees {capacity(cache.capacity_bytes)} of {cache.place}"
    be, names = ("is", "its name stays") if cache.objects == 1 else ("are", "their names stay")
    there, again = f"{be} deleted from there", "copies"
    if found.is_imported:
        there, again = f"{be} released, and {names}", "imports"
    if found.retained:
        kept_by = f"its volume {found.retained} is kept because its reclaimPolicy is Retain"
        freed = f"frees nothing: {kept_by}"
    lines = (
        join("Evicting ", code(cache.reference), plain(f" {freed}."
             f" {files(cache.objects)}, {size(cache.size_bytes)}, {there}."
             f" It was last used {last_use(cache, now)}.")),
        join(undo(cache, format_command), plain(f" {again} it again. The version and its manifest"
             " stay in the catalogue; the source is not changed.")),
    )  # fmt: skip
    return Reply(lines, buttons=(Button(EVICT, "Evict", cache.id, style="danger"),))


def leaving(cache: Cache, format_command: FormatCommand) -> Reply:
    """Acknowledges an eviction."""
    return Reply(
        (
            join("Evicting ", code(cache.reference), plain(f" from {cache.place}."
                 " Its use is checked once more before anything is deleted.")),
            join(undo(cache, format_command), " caches it again."),
        )
    )  # fmt: skip


def undo(cache: Cache, format_command: FormatCommand) -> Markup:
    """The command that caches an evicted version again."""
    said = f"dataset cache {cache.argument} --class {cache.storage_class}"
    return code(format_command(said))


def pinned(cache: Cache, until: datetime, format_command: FormatCommand) -> Reply:
    """Acknowledges a pin: until when, and how to remove it."""
    unpin = format_command(f"dataset unpin {cache.argument}")
    return Reply(
        (
            join(code(cache.reference), plain(f" on {cache.place} is pinned until "),
                 when(until), ". It is not evicted before then."),
            join(code(unpin), " removes the pin."),
        )
    )  # fmt: skip


def unpinned(cache: Cache, people: Sequence[str]) -> Reply:
    """Whose pins were removed, and when the cache expires now."""
    whose = [join(", " if number else "", person(who)) for number, who in enumerate(people)]
    said = join(code(cache.reference), plain(f" on {cache.place} is no longer pinned by "))
    return Reply((join(said, *whose, ". ", stays(cache)),))


def extended(cache: Cache) -> Reply:
    """Acknowledges an extension: when the cache expires now."""
    return Reply((join(code(cache.reference), plain(f" stays on {cache.place}. "),
                       stays(cache)),))  # fmt: skip


def stays(cache: Cache) -> Markup:
    """When a cache is evicted if it stays unused."""
    expires = expires_at(cache)
    if expires is None:
        return plain("It does not expire.")
    return join("Unless it is used, it will be evicted ", when(expires), ".")


def kept(dataset: Dataset, seconds: int | None, there: int) -> Reply:
    """How long the caches of a dataset are kept from now on."""
    if seconds is None:
        how = "for the time in the team's settings"
    elif seconds == 0:
        how = "until they are evicted"
    else:
        how = f"{format_duration(timedelta(seconds=seconds))} after their last use"
    also = f" This also applies to {there} existing cache{'' if there == 1 else 's'}."
    return Reply(
        (join("Caches of ", code(dataset.name), plain(f" are kept {how}.{also if there else ''}")),)
    )
