"""/dataset: the catalogue of datasets and their versions."""

import re

from typing_extensions import override

from bot.commands.context import Context
from bot.config import is_place
from bot.datasets.card import around, dataset_card, list_card, version_card
from bot.datasets.comparing import difference_card
from bot.datasets.finding import Reference
from bot.datasets.location import Location
from bot.datasets.service import EVERYONE, NewDataset
from bot.datasets.subfolders import outermost
from bot.datasets.tables import Version
from bot.datasets.versions.replies import all_removal_offered, removal_offered
from bot.datasets.wording import readers
from bot.errors import UsageError
from bot.people.access import Right
from bot.slack.card import Reply
from bot.slack.grammar.declarations import TEAM, Part
from bot.slack.grammar.parameters import Pattern, ShortName, TeamName, Text, matched
from bot.slack.markup import code, join, plain
from handlers.dataset.version_arguments import LabelFile, LabelGlob, PathGlob, VersionArguments


class DatasetName(ShortName):
    """The name of a dataset: lower-case letters, digits and hyphens, at most 30."""

    word = "DATASET"
    example = "chest-xray"


class NewDatasetName(DatasetName):
    """The name of a dataset that is added."""


class VersionName(Pattern):
    """The name of a version."""

    word = "VERSION"
    rule = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,30}[A-Za-z0-9])?")
    form = "a name of at most 32 letters, digits, dots, hyphens and underscores"
    example = "v3"


class DatasetReference:
    """A dataset, or one of its versions: `chest-xray`, `chest-xray@v3`."""

    word = "DATASET[@VERSION]"
    form = "a dataset such as `chest-xray`, or one of its versions such as `chest-xray@v3`"
    example = "chest-xray@v3"
    rule = re.compile(rf"({DatasetName.rule.pattern})(?:@({VersionName.rule.pattern}))?")

    def read(self, text: str) -> Reference:
        """The name, and the version if there is one."""
        name, version = matched(self.rule, text).groups()
        return Reference(name, version)


class PartReference(DatasetReference):
    """A dataset, a version, or folders of one: `chest-xray@v3/train/`, `chest-xray/train/,val/`."""

    word = "DATASET[@VERSION][/FOLDER,...]"
    form = (
        "a dataset such as `chest-xray`, a version such as `chest-xray@v3`, or folders of it such"
        " as `chest-xray@v3/train/` or `chest-xray@v3/train/,val/`"
    )
    folders = re.compile(r"[^:\x00-\x1f]{1,400}")

    @override
    def read(self, text: str) -> Reference:
        """The name, and the version and the folders if they are given."""
        whole, slash, part = text.partition("/")
        found = super().read(whole)
        if not slash:
            return found
        named = [each.removesuffix("/") for each in matched(self.folders, part).group().split(",")]
        if any({"", ".", ".."} & set(each.split("/")) for each in named):
            raise ValueError(text)
        return found._replace(folders=outermost(named))


class SourceUrl:
    """A bucket and a folder in it, written so that every store reads it alike."""

    word = "URL"
    form = "a bucket and a folder in it such as `s3://lake/chest-xray/`, without `.`, `..` or `//`"
    example = "s3://lake/chest-xray/"

    def read(self, text: str) -> str:
        """The normalized address, which ends with a slash."""
        if not is_place(text):
            raise ValueError(text)
        return Location.of(text).url


class StoreName(Pattern):
    """The name of a store in the configuration."""

    word = "STORE"
    rule = TeamName.rule
    form = "a store's name: lower-case letters, digits and hyphens"
    example = "lake"


class Readers:
    """Comma-separated teams, or everyone."""

    word = "TEAMS"
    form = f"comma-separated teams such as `team-b,team-c`, or `{EVERYONE}`"
    example = "team-b,team-c"
    rule = TeamName.rule

    def read(self, text: str) -> tuple[str, ...]:
        """The names."""
        return tuple(matched(self.rule, each.strip()).group() for each in text.split(","))


dataset = Part("dataset")


@dataset.verb(
    "add",
    "Add a dataset to the catalogue",
    right=Right.DATASET_ADD,
    mutates=True,
    into=NewDataset,
    examples=(
        "add chest-xray s3://lake/chest-xray/",
        'add imagenet s3://lake/imagenet/ --description "ILSVRC 2012" --readers everyone',
    ),
    team="Team that owns it (default: the channel's)",
)
@dataset.argument("name", NewDatasetName(), help="Name of the dataset")
@dataset.argument("source", SourceUrl(), help="Bucket and folder that hold it")
@dataset.option("--store", StoreName(), help="Object store, if there are several")
@dataset.option("--description", Text(), default="", help="Description of the dataset")
@dataset.option("--readers", Readers(), default=(), help="Other teams that may use it, or everyone")
def add(ctx: Context, asked: NewDataset) -> Reply:
    """Adds a dataset; its source is not checked yet."""
    ctx.team()
    row = ctx.datasets.catalogue.add(ctx.session, ctx.caller, asked, ctx.now)
    next_step = code(ctx.format_command(f"dataset version {row.name}"))
    return Reply(
        (
            join("Added dataset ", code(row.name), f" of {row.team}. Readers: {readers(row)}."),
            join(code(row.source), " in store ", code(row.store), " has not been checked yet. ",
                 next_step, " records the first version."),
        )
    )  # fmt: skip


@dataset.verb(
    "list",
    "List the datasets that the team may use",
    right=Right.DATASET_READ,
    examples=("list",),
    team=TEAM,
)
def list_datasets(ctx: Context) -> Reply:
    """The datasets, each with its newest version."""
    name, _ = ctx.team()
    example = ctx.format_command("dataset add chest-xray s3://lake/chest-xray/")
    return Reply(
        card=list_card(name, ctx.datasets.catalogue.listing(ctx.session, name), example, ctx.now)
    )


@dataset.verb(
    "show",
    "Show a dataset with its versions, or one version",
    right=Right.DATASET_READ,
    examples=("show chest-xray", "show chest-xray@v3"),
    team=TEAM,
)
@dataset.argument("reference", DatasetReference(), help="Dataset or version")
def show(ctx: Context, reference: Reference) -> Reply:
    """The dataset's card, or that of a version."""
    name, _ = ctx.team()
    if reference.version is not None:
        found = ctx.datasets.catalogue.find_version(ctx.session, name, reference)
        known = around(ctx.session, found, ctx.settings.datasets)
        return Reply(card=version_card(found, known, ctx.now))
    shelf = ctx.datasets.catalogue.shelf(ctx.session, name, reference.name)
    return Reply(
        card=dataset_card(shelf, ctx.format_command(f"dataset version {reference.name}"), ctx.now)
    )


@dataset.verb(
    "version",
    "Record the content of a dataset, or selected files of a version, as an immutable version",
    right=Right.DATASET_VERSION,
    mutates=True,
    into=VersionArguments,
    examples=(
        "version chest-xray",
        'version chest-xray --name v3 --note "cleaned labels"',
        "version chest-xray --copy",
        "version chest-xray --from v3 --path 'train/*.jpg' --name train-only",
        "version chest-xray --from v3 --labels labels.csv --label split=train --name train-split",
    ),
    team="Team that owns it (default: the channel's)",
    cluster="Cluster whose Job lists it (default: that of the newest version)",
)
@dataset.argument("of", DatasetName(), help="Dataset")
@dataset.option("--name", VersionName(), help="Name of the version (default: v1, v2, ...)")
@dataset.option("--note", default="", help="What is new in this version")
@dataset.option("--copy", "has_copy", flag=True, help="Copy its objects, so that it survives")
@dataset.option("--yes", "is_meant", flag=True, help="Copy without confirmation")
@dataset.option("--from", "from_version", VersionName(), help="Version to select files of")
@dataset.option("--path", "paths", PathGlob(), multiple=True, help="Path to select")
@dataset.option("--labels", "label_file", LabelFile(), help="File of that version that has labels")
@dataset.option("--label", "with_labels", LabelGlob(), multiple=True, help="Label to select")
def version(ctx: Context, asked: VersionArguments) -> Reply:
    """Starts a survey; the card in the channel shows its progress."""
    catalogue, cluster = ctx.datasets.catalogue, asked.cluster or ""
    found = catalogue.find(ctx.session, ctx.team(asked.cluster)[0], asked.of)
    selection = asked.selection(ctx.format_command)
    if selection is not None:
        row = catalogue.select(ctx.session, ctx.caller, found, selection, ctx.now)
        return _recording(row, "The manifest is read, not the objects.")
    if asked.has_copy and not asked.is_meant:
        return catalogue.offer_copy(ctx.session, ctx.caller, found, ctx.again("--yes"), cluster)
    row = catalogue.version(
        ctx.session, ctx.caller, found, asked.name, asked.note, ctx.now,
        has_copy=asked.has_copy, cluster=cluster,
    )  # fmt: skip
    how = "listed, then copied" if asked.has_copy else "listed, not read"
    return _recording(row, f"Its objects are {how}.")


def _recording(row: Version, how: str) -> Reply:
    return Reply(
        (
            join("Recording ", code(row.reference), f". {how}"),
            plain("Its card in this channel shows the progress."),
        )
    )


@dataset.verb(
    "diff",
    "Show what changed from one version to another",
    right=Right.DATASET_READ,
    examples=("diff chest-xray@v2 chest-xray@v3",),
    team=TEAM,
)
@dataset.argument("before", DatasetReference(), help="The earlier version")
@dataset.argument("after", DatasetReference(), help="The later version")
def diff(ctx: Context, before: Reference, after: Reference) -> Reply:
    """Compares two versions by their manifests, after the acknowledgement."""
    name, _ = ctx.team()
    old, new = (
        ctx.datasets.catalogue.find_version(ctx.session, name, each) for each in (before, after)
    )
    if old.id == new.id:
        example = ctx.format_command("dataset diff chest-xray@v2 chest-xray@v3")
        raise UsageError(
            f"{before.spelled} and {after.spelled} are the same version.",
            f"Name two different versions, for example `{example}`.",
        )
    reads = ctx.datasets.reads
    return Reply(
        (join("Comparing ", code(old.reference), " with ", code(new.reference), "…"),),
        later=lambda: Reply(card=difference_card(old, new, reads.differences(old, new))),
    )


@dataset.verb(
    "remove",
    "Remove a dataset from the catalogue, or the copy of a version; the source stays as it is",
    right=Right.DATASET_REMOVE,
    mutates=True,
    examples=("remove chest-xray", "remove chest-xray@v3 --copy"),
    team="Team that owns it (default: the channel's)",
)
@dataset.argument("reference", DatasetReference(), help="Dataset, or version whose copy is removed")
@dataset.option("--copy", "is_copy", flag=True, help="Remove only the copy of the version")
@dataset.option("--yes", "is_meant", flag=True, help="Remove copies without confirmation")
def remove(ctx: Context, reference: Reference, is_copy: bool, is_meant: bool) -> Reply:  # noqa: FBT001 - named by the declaration
    """Removes a dataset, and says how to add it again; or removes a version's copy."""
    team, catalogue = ctx.team()[0], ctx.datasets.catalogue
    if is_copy or reference.version is not None:
        return _remove_copy(ctx, team, reference, is_copy=is_copy, is_meant=is_meant)
    found = catalogue.find(ctx.session, team, reference.name)
    made = catalogue.copied(ctx.session, found)
    if made and not is_meant:
        return all_removal_offered(found, made, ctx.again("--yes"))
    row = catalogue.remove(ctx.session, ctx.caller, found, ctx.now)
    undo = code(ctx.format_command(f"dataset add {row.name} {row.source} --store {row.store}"))
    gone = plain("Its copies are being removed; a card in this channel shows the progress.")
    return Reply(
        (
            join("Removed ", code(row.name), " from the catalogue. Nothing in ", code(row.source),
                 " was changed."),
            join(undo, " adds it again, without its versions."),
            *((gone,) if made else ()),
        )
    )  # fmt: skip


def _remove_copy(
    ctx: Context, team: str, reference: Reference, *, is_copy: bool, is_meant: bool
) -> Reply:
    """Removes the copy of a version, which itself stays."""
    if not is_copy:
        raise UsageError(
            f"{reference.spelled} is not removed: a version stays as long as its dataset, because"
            " runs name it.",
            f"To remove only its copy: `{ctx.again('--copy')}`.",
        )
    if reference.version is None:
        example = ctx.format_command(f"dataset remove {reference.name}@v3 --copy")
        raise UsageError(
            "Name the version whose copy is to be removed.", f"For example `{example}`."
        )
    catalogue = ctx.datasets.catalogue
    version = catalogue.find_version(ctx.session, team, reference)
    catalogue.copies.check(ctx.session, ctx.caller, version)
    if not is_meant:
        return removal_offered(version, ctx.again("--yes"))
    catalogue.copies.remove(ctx.session, ctx.caller, version, ctx.now)
    return Reply(
        (
            join("Removing the copy of ", code(version.reference), "."),
            plain("A card in this channel shows the progress."),
        )
    )
