"""/dataset evict, pin, unpin, extend, touch and keep: how long caches are kept."""

from datetime import timedelta
from typing import Final

from bot.commands.context import Context
from bot.datasets.caches.evictions.notices import EVICT, EXTEND, PIN
from bot.datasets.caches.lifecycle import replies as answers
from bot.datasets.caches.lifecycle.service import Pinning
from bot.datasets.caches.tables import Cache
from bot.datasets.finding import Reference
from bot.leftovers.removals.tables import RemovalKind
from bot.people.access import Right
from bot.rights import EVERYBODY
from bot.slack.card import Reply
from bot.slack.grammar.declarations import CLUSTER, TEAM, Part
from bot.slack.grammar.parameters import Duration, Text
from bot.slack.markup import code, join
from handlers.button_values import moment_of, row_of
from handlers.dataset.caches import ClassName
from handlers.dataset.catalogue import DatasetName, PartReference
from handlers.removals import foretold, removed

dataset = Part("dataset")


OFF: Final = "off"
USUAL: Final = "default"
_LONGEST = timedelta(days=90)


class KeepTime:
    """How long unused caches are kept."""

    word = "TIME"
    form = f"a duration such as `8h` or `3d`, `{OFF}` to keep them until evicted, or `{USUAL}`"
    example = "3d"

    def read(self, text: str) -> int:
        """Seconds; 0 for ever, -1 for what the settings say."""
        if text in {OFF, USUAL}:
            return 0 if text == OFF else -1
        return round(Duration(minimum=timedelta(hours=1)).read(text).total_seconds())


@dataset.verb(
    "evict",
    "Remove a version from fast storage; shows the consequences first",
    right=Right.DATASET_EVICT,
    mutates=True,
    examples=("evict chest-xray@v3", "evict chest-xray@v3 --class azurenetappfiles"),
    team=TEAM,
    cluster=CLUSTER,
)
@dataset.argument("reference", PartReference(), help="Dataset, version, or folders of one")
@dataset.option("--class", "storage_class", ClassName(), help="Storage class")
def evict(
    ctx: Context,
    reference: Reference,
    storage_class: str | None,
    cluster: str | None,
) -> Reply:
    """What evicting would do, with a button; its users are checked after the acknowledgement."""
    cache = _chosen(ctx, reference, storage_class, cluster)
    ctx.datasets.keeping.refuse_evicting(ctx.caller, cache)
    told = foretold(ctx, RemovalKind.CACHE, cache.id)
    reads, format_command, now = ctx.datasets.cache_reads, ctx.format_command, ctx.now
    return Reply(
        (join("Checking what needs ", code(cache.reference), "…"),),
        later=lambda: told(answers.question(cache, reads.consequence(cache), format_command, now)),
        is_question=True,
    )


@dataset.verb(
    "pin",
    "Keep a cache for a while, even if it is unused",
    right=Right.DATASET_PIN,
    mutates=True,
    examples=('pin chest-xray@v3 --reason "CVPR deadline" --for 14d',),
    team=TEAM,
    cluster=CLUSTER,
)
@dataset.argument("reference", PartReference(), help="Dataset, version, or folders of one")
@dataset.option("--reason", Text(), required=True, help="Why to keep it")
@dataset.option("--for", "time", Duration(maximum=_LONGEST), default=timedelta(days=14),
                help="How long (default: 14d)")  # fmt: skip
@dataset.option("--class", "storage_class", ClassName(), help="Storage class")
def pin(
    ctx: Context,
    reference: Reference,
    reason: str,
    time: timedelta,
    storage_class: str | None,
    cluster: str | None,
) -> Reply:
    """Until when the cache is kept."""
    cache = _chosen(ctx, reference, storage_class, cluster)
    asked = Pinning(reason, ctx.now + time)
    return _pinned(ctx, cache, asked)


@dataset.verb(
    "unpin",
    "Remove your pin from a cache, or everyone's",
    right=Right.DATASET_PIN,
    mutates=True,
    examples=("unpin chest-xray@v3", "unpin chest-xray@v3 --all"),
    team=TEAM,
    cluster=CLUSTER,
)
@dataset.argument("reference", PartReference(), help="Dataset, version, or folders of one")
@dataset.option("--all", "everybody", flag=True, help="Other people's pins too (leads and admins)")
@dataset.option("--class", "storage_class", ClassName(), help="Storage class")
def unpin(
    ctx: Context,
    reference: Reference,
    storage_class: str | None,
    cluster: str | None,
    *,
    everybody: bool,
) -> Reply:
    """Whose pins were removed."""
    cache = _chosen(ctx, reference, storage_class, cluster)
    people = ctx.datasets.keeping.unpin(
        ctx.session, ctx.caller, cache, everybody=everybody, now=ctx.now
    )
    return answers.unpinned(cache, people)


@dataset.verb(
    "extend",
    "Postpone the eviction of a cache",
    right=Right.DATASET_PIN,
    mutates=True,
    examples=("extend chest-xray@v3 3d",),
    team=TEAM,
    cluster=CLUSTER,
)
@dataset.argument("reference", PartReference(), help="Dataset, version, or folders of one")
@dataset.argument("time", Duration(maximum=_LONGEST), help="How much longer")
@dataset.option("--class", "storage_class", ClassName(), help="Storage class")
def extend(
    ctx: Context,
    reference: Reference,
    time: timedelta,
    storage_class: str | None,
    cluster: str | None,
) -> Reply:
    """Until when the cache is kept."""
    cache = _chosen(ctx, reference, storage_class, cluster)
    return answers.extended(
        ctx.datasets.keeping.extend(ctx.session, ctx.caller, cache, time, ctx.now)
    )


@dataset.verb(
    "touch",
    "Mark a cache as used now",
    right=Right.DATASET_PIN,
    mutates=True,
    examples=("touch chest-xray@v3",),
    team=TEAM,
    cluster=CLUSTER,
)
@dataset.argument("reference", PartReference(), help="Dataset, version, or folders of one")
@dataset.option("--class", "storage_class", ClassName(), help="Storage class")
def touch(
    ctx: Context,
    reference: Reference,
    storage_class: str | None,
    cluster: str | None,
) -> Reply:
    """Until when the cache is kept."""
    cache = _chosen(ctx, reference, storage_class, cluster)
    return answers.extended(ctx.datasets.keeping.touch(ctx.session, ctx.caller, cache, ctx.now))


@dataset.verb(
    "keep",
    "Set how long unused caches of a dataset are kept",
    right=Right.DATASET_PIN,
    mutates=True,
    examples=("keep chest-xray 3d", "keep chest-xray off", "keep chest-xray default"),
    team="Team that owns it, if not the channel's",
)
@dataset.argument("name", DatasetName(), help="Dataset")
@dataset.argument("time", KeepTime(), help="How long, off, or default")
def keep(ctx: Context, name: str, time: int) -> Reply:
    """How long caches of the dataset are kept, existing ones included."""
    found = ctx.datasets.catalogue.find(ctx.session, ctx.team()[0], name)
    seconds = None if time < 0 else time
    there = ctx.datasets.keeping.keep(ctx.session, ctx.caller, found, seconds, ctx.now)
    return answers.kept(found, seconds, len(there))


def _of_cache(ctx: Context, value: str) -> str | None:
    """The cache's team for its members; others use it as the team that they act for here."""
    team = ctx.datasets.keeping.team_of(ctx.session, row_of(value))
    here, access = ctx.caller.team, ctx.services.access
    if team is None or here in {None, team}:
        return team or here
    theirs = access.caller(ctx.session, ctx.caller.person, ctx.caller.channel, team=team)
    return here if theirs.roles.isdisjoint(EVERYBODY) else team


@dataset.button(EVICT, right=Right.DATASET_EVICT, team=_of_cache, repeats=True)
def click_evict(ctx: Context, cache_id: str) -> Reply:
    """Evicts the cache that the question or the notice was about, or requests it above a limit."""

    def evicted() -> Reply:
        cache = _cache(ctx, cache_id)
        leaving = ctx.datasets.keeping.evict(ctx.session, ctx.caller, cache, ctx.now)
        return answers.leaving(leaving, ctx.format_command)

    return removed(ctx, RemovalKind.CACHE, cache_id, evicted)


@dataset.button(EXTEND, right=Right.DATASET_PIN, team=_of_cache)
def click_extend(ctx: Context, value: str) -> Reply:
    """Extends the cache until the moment in the button."""
    cache = _cache(ctx, value)
    until = moment_of(value)
    extended = ctx.datasets.keeping.extend_until(ctx.session, ctx.caller, cache, until, ctx.now)
    return answers.extended(extended)


@dataset.button(PIN, right=Right.DATASET_PIN, team=_of_cache)
def click_pin(ctx: Context, value: str) -> Reply:
    """Pins the cache until the moment in the button."""
    asked = Pinning("still needed, pinned when its eviction was announced", moment_of(value))
    return _pinned(ctx, _cache(ctx, value), asked)


def _pinned(ctx: Context, cache: Cache, asked: Pinning) -> Reply:
    row = ctx.datasets.keeping.pin(ctx.session, ctx.caller, cache, asked, ctx.now)
    return answers.pinned(row, asked.until, ctx.format_command)


def _chosen(
    ctx: Context, reference: Reference, storage_class: str | None, cluster: str | None
) -> Cache:
    team = ctx.team(cluster)[0]
    return ctx.datasets.keeping.choose(ctx.session, team, reference, storage_class, cluster)


def _cache(ctx: Context, value: str) -> Cache:
    """The cache that the value of a button begins with."""
    return ctx.datasets.keeping.get(ctx.session, ctx.caller, row_of(value))
