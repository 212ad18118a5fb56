"""/dataset ls and head: the files of a version, and how a file begins."""

from dataclasses import dataclass

from typing_extensions import override

from bot.commands.context import Context
from bot.datasets.browsing.card import Spelled, file_card, head_card, listing_card
from bot.datasets.browsing.listing import MOST_PAGES, Listing, ListRequest
from bot.datasets.browsing.paging import NEXT, read
from bot.datasets.browsing.text import MOST_LINES
from bot.datasets.finding import Reference
from bot.people.access import Right
from bot.slack.card import Reply
from bot.slack.grammar.declarations import TEAM, Part
from bot.slack.grammar.parameters import Text, WholeNumber
from bot.slack.markup import code, join, plain
from handlers.dataset.catalogue import DatasetReference

dataset = Part("dataset")

_LONGEST_PATH = 1_024


class FolderPath:
    """A folder or file of a version: `train/`, `train/0001.png`."""

    word = "PATH"
    form = "a folder or file of the version such as `train/` or `train/0001.png`"
    example = "train/"

    def read(self, text: str) -> str:
        """The path without the slashes at its ends."""
        if not text or len(text) > _LONGEST_PATH or not text.isprintable():
            raise ValueError(text)
        return text.removeprefix("/").removesuffix("/")


class FilePath(FolderPath):
    """A file of a version: `train/0001.png`."""

    form = "a file of the version such as `train/0001.png`"
    example = "train/0001.png"


class FileSearch(Text):
    """A part of a file's path, or a pattern for its name."""

    example = "'*.csv'"

    @property
    @override
    def form(self) -> str:
        """Both forms in words."""
        return "a part of a file's path such as `mask`, or a pattern for its name such as `*.csv`"


@dataclass(frozen=True)
class ListArguments:
    """The input of `/dataset ls`."""

    reference: Reference
    path: str = ""
    search: str | None = None
    page: int = 1
    is_largest: bool = False
    team: str | None = None

    @property
    def request(self) -> ListRequest:
        """What to list."""
        return ListRequest(self.path, self.search or "", self.is_largest, self.page)


@dataset.verb(
    "ls",
    "List the files and folders of a version, or find files by name",
    right=Right.DATASET_READ,
    into=ListArguments,
    examples=(
        "ls chest-xray",
        "ls chest-xray@v3 train/ --largest",
        "ls chest-xray@v3 --search '*.csv'",
    ),
    team=TEAM,
)
@dataset.argument(
    "reference", DatasetReference(), help="Dataset or version (default: the newest version)"
)
@dataset.argument("path", FolderPath(), default="", help="Folder or file (default: everything)")
@dataset.option("--search", FileSearch(200), help="Find files in it by name")
@dataset.option("--largest", "is_largest", flag=True, help="Sort by size instead of by name")
@dataset.option("--page", WholeNumber(1, MOST_PAGES), default=1, help="Page of the answer")
def list_files(ctx: Context, asked: ListArguments) -> Reply:
    """A page of a folder, read from the manifest after the acknowledgement."""
    name, _ = ctx.team()
    found = ctx.datasets.catalogue.find_version(ctx.session, name, asked.reference)
    spelled = Spelled(found, ctx.format_command, name, is_named=asked.team is not None)
    return _listed(ctx, spelled, asked.request)


def _of_page(_ctx: Context, value: str) -> str:
    return read(value).team


@dataset.button(NEXT, right=Right.DATASET_READ, team=_of_page, repeats=True)
def click_next(ctx: Context, value: str) -> Reply:
    """The next page of a listing."""
    asked = read(value)
    found = ctx.datasets.catalogue.get_version(ctx.session, asked.team, asked.version_id)
    spelled = Spelled(found, ctx.format_command, asked.team, is_named=asked.is_named)
    return _listed(ctx, spelled, asked.request)


def _listed(ctx: Context, spelled: Spelled, request: ListRequest) -> Reply:
    reads, shows_content = ctx.datasets.browse_reads, ctx.datasets.browsing.shows_content()
    version = spelled.version

    def answer() -> Reply:
        files = reads.listing(version, request)
        if isinstance(files, Listing):
            return Reply(card=listing_card(files, request, spelled))
        return Reply(card=file_card(files, spelled, shows_content=shows_content))

    return Reply((join("Reading the manifest of ", code(version.reference), "…"),), later=answer)


@dataset.verb(
    "head",
    "Show the first lines of a text file of a version, only to you",
    right=Right.DATASET_READ,
    mutates=True,
    repeats=True,
    examples=("head chest-xray labels.csv", "head chest-xray@v3 labels.csv --lines 5"),
    team=TEAM,
)
@dataset.argument(
    "reference", DatasetReference(), help="Dataset or version (default: the newest version)"
)
@dataset.argument("path", FilePath(), help="File")
@dataset.option("--lines", WholeNumber(1, MOST_LINES), default=20, help="How many lines")
def head(ctx: Context, reference: Reference, path: str, lines: int) -> Reply:
    """How a file begins, read from the store after the acknowledgement."""
    name, _ = ctx.team()
    found = ctx.datasets.catalogue.find_version(ctx.session, name, reference)
    ctx.datasets.browsing.show(ctx.session, ctx.caller, found, path, ctx.now)
    reads = ctx.datasets.browse_reads
    return Reply(
        (join("Reading ", code(path), plain(f" of {found.reference}…")),),
        later=lambda: Reply(card=head_card(found, *reads.head(found, path, lines))),
    )
