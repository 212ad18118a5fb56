"""/dataset cache: copies a version to fast storage, once for everyone."""

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Final, Literal

from bot.commands.context import Context
from bot.datasets.caches.answers import CacheOffer, UncountedPart
from bot.datasets.caches.plan import CacheRequest, read
from bot.datasets.caches.replies import CONFIRM, foreseen_lines, offered, part_told, told
from bot.datasets.versions.notices import RECORD
from bot.datasets.wording import bytes_of
from bot.people.access import Right
from bot.slack.card import Reply
from bot.slack.grammar.container_parameters import MemoryQuantity
from bot.slack.grammar.declarations import CLUSTER, TEAM, Part, Verb
from bot.slack.grammar.form_plans import FormPlan
from bot.slack.grammar.parameters import Duration, Pattern, TeamName, matched
from bot.slack.markup import Markup, code, join, plain
from handlers.dataset.catalogue import PartReference

dataset = Part("dataset")


AUTO: Final = "auto"
OFF: Final = "off"
_BOOST = "Raise its volume's throughput until it is filled, if Azure NetApp Files can"


class ClassName(Pattern):
    """A storage class."""

    word = "CLASS"
    rule = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
    form = "the name of a storage class such as `azurenetappfiles`"
    example = "azurenetappfiles"


class LayoutName(Pattern):
    """A layout of quartermaster.yaml."""

    word = "LAYOUT"
    rule = TeamName.rule
    form = "the name of a layout in datasets.layouts of quartermaster.yaml"
    example = "imagenet"


class VolumeSize:
    """The size of a volume, or auto."""

    word = "SIZE"
    form = f"a size with its unit such as `300Gi` or `2Ti`, or `{AUTO}`"
    example = "300Gi"

    def read(self, text: str) -> int | None:
        """Bytes; None for the smallest size that fits."""
        if text == AUTO:
            return None
        return bytes_of(matched(MemoryQuantity.rule, text).group())


class Teams:
    """Teams with commas between them."""

    word = "TEAMS"
    form = "comma-separated teams such as `team-b,team-c`"
    example = "team-b,team-c"

    def read(self, text: str) -> tuple[str, ...]:
        """The names."""
        return tuple(matched(TeamName.rule, each.strip()).group() for each in text.split(","))


class Keeping:
    """How long an unused cache is kept."""

    word = "TIME"
    form = f"a duration such as `8h` or `3d`, or `{OFF}` to keep it until it is evicted"
    example = "3d"

    def read(self, text: str) -> timedelta | Literal["off"]:
        """The duration, or off."""
        if text == OFF:
            return OFF
        return Duration(minimum=timedelta(hours=1)).read(text)


def _applying(ctx: Context, _texts: Mapping[str, str]) -> Collection[str]:
    """A cluster if there are several, and a boost where Azure NetApp Files can."""
    datasets = ctx.settings.datasets
    found = {"cluster"} if datasets is not None and len(datasets.caching) > 1 else set()
    return found | ({"is_boosted"} if ctx.settings.anf is not None else set())


def _foresee(ctx: Context, _verb: Verb, asked: CacheRequest) -> Sequence[Markup]:
    if asked.is_boosted:
        ctx.require(Right.ANF_CHANGE)
    found = ctx.datasets.caches.foresee(ctx.session, ctx.caller, asked, ctx.now)
    return foreseen_lines(found)


@dataset.verb(
    "cache",
    "Copy a version to fast storage, once for everyone; shows the cost first",
    right=Right.DATASET_CACHE,
    mutates=True,
    repeats=True,
    into=CacheRequest,
    examples=(
        "cache chest-xray@v3",
        "cache chest-xray@v3/train/,val/",
        "cache chest-xray@v3 --class azurenetappfiles --size 300Gi --for team-b --ttl 3d",
    ),
    team=TEAM,
    cluster=CLUSTER,
    form=FormPlan(
        fields=("storage_class", "size", "teams", "keep", "layout", "is_meant"),
        watched=("reference", "storage_class", "size", "layout", "cluster"),
        dependent=("cluster", "is_boosted"),
        applying=_applying,
        foresee=_foresee,
    ),
)
@dataset.argument(
    "reference", PartReference(), help="Dataset, version (default: the newest), or folders of it"
)
@dataset.option("--class", "storage_class", ClassName(), help="Storage class")
@dataset.option("--size", VolumeSize(), help="Volume size; auto is the smallest that fits")
@dataset.option("--for", "teams", Teams(), default=(), help="Other teams that will use it")
@dataset.option("--ttl", "keep", Keeping(), help="How long to keep it when unused, or off")
@dataset.option("--layout", LayoutName(), help="Layout that rearranges its files after copying")
@dataset.option("--boost", "is_boosted", flag=True, help=_BOOST)
@dataset.option("--yes", "is_meant", flag=True, help="Start without confirmation")
def cache(ctx: Context, asked: CacheRequest) -> Reply:
    """What the cache would cost, with a button; or the cache if it exists."""
    ctx.team(asked.cluster)
    if asked.is_boosted:
        ctx.require(Right.ANF_CHANGE)
    answer = ctx.datasets.caches.ask(ctx.session, ctx.caller, asked, ctx.now)
    if isinstance(answer, UncountedPart):
        return _counted(ctx, asked, answer)
    if isinstance(answer, CacheOffer) and not asked.is_meant:
        return offered(answer)
    if isinstance(answer, CacheOffer):
        answer = ctx.datasets.caches.begin(ctx.session, ctx.caller, answer.plan, ctx.now)
    return told(answer, ctx.format_command)


def _counted(ctx: Context, asked: CacheRequest, part: UncountedPart) -> Reply:
    """What caching folders would cost, once they are counted after the acknowledgement."""
    reads, caller = ctx.datasets.part_reads, ctx.caller
    format_command, now = ctx.format_command, ctx.now
    return Reply(
        (join("Reading the manifest of ", code(part.version.reference), "…"),),
        later=lambda: part_told(reads.answer(caller, asked, part, now), format_command),
        is_question=True,
    )


def _of_plan(_ctx: Context, value: str) -> str:
    return read(value).team


@dataset.button(CONFIRM, right=Right.DATASET_CACHE, team=_of_plan, once=True)
def click_cache(ctx: Context, value: str) -> Reply:
    """Creates the cache that the question with the button described."""
    plan = read(value)
    if plan.is_boosted:
        ctx.require(Right.ANF_CHANGE)
    return told(
        ctx.datasets.caches.begin(ctx.session, ctx.caller, plan, ctx.now), ctx.format_command
    )


def _of_dataset(ctx: Context, dataset_id: str) -> str:
    return ctx.datasets.catalogue.get(ctx.session, dataset_id).team


@dataset.button(RECORD, right=Right.DATASET_VERSION, team=_of_dataset)
def click_version(ctx: Context, dataset_id: str) -> Reply:
    """Records what a dataset holds now, after a cache found it changed."""
    found = ctx.datasets.catalogue.get(ctx.session, dataset_id)
    row = ctx.datasets.catalogue.version(ctx.session, ctx.caller, found, None, "", ctx.now)
    return Reply(
        (
            join("Recording ", code(row.reference), ". Its objects are listed, not read."),
            plain("Its card in this channel shows the progress."),
        )
    )
