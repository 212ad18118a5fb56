"""What people see of a version's files: a page of a folder, one file, its first lines."""

import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bot.datasets.browsing.listing import MOST_PAGES, Listing, ListRequest
from bot.datasets.browsing.paging import PageRequest, page_buttons
from bot.datasets.browsing.reads import DEADLINE_SECONDS, MOST_OBJECTS
from bot.datasets.browsing.text import TextHead
from bot.datasets.folders import Row
from bot.datasets.manifest import Entry
from bot.datasets.tables import Version
from bot.datasets.wording import files, size
from bot.slack.card import Card, Table
from bot.slack.markup import FormatCommand, Markup, code, join, plain

_ROUNDED_FROM = 1_000
_HEADER = ("Name", "Size", "Files")


class Spelled(NamedTuple):
    """How a version is asked about where the answer is read; `is_named` if the team was typed."""

    version: Version
    format_command: FormatCommand
    team: str
    is_named: bool = False

    def page(self, request: ListRequest, page: int) -> PageRequest:
        """Another page of the same."""
        return PageRequest(
            version_id=self.version.id,
            team=self.team,
            is_named=self.is_named,
            path=request.path,
            search=request.search,
            is_largest=request.is_largest,
            page=page,
        )

    def listing(self, request: ListRequest, page: int) -> str:
        """The command that shows another page of the same."""
        words = [*filter(None, (request.path,))]
        words += ["--search", request.search] if request.search else []
        words += ["--largest"] if request.is_largest else []
        return self._command("ls", *words, "--page", str(page))

    def head(self, path: str) -> str:
        """The command that shows the first lines of a file."""
        return self._command("head", path)

    def _command(self, verb: str, *words: str) -> str:
        team = ("--team", self.team) if self.is_named else ()
        said = shlex.join((verb, self.version.reference, *words, *team))
        return self.format_command(f"dataset {said}")


def listing_card(found: Listing, request: ListRequest, spelled: Spelled) -> Card:
    """A page of a folder, or of the files that a search found."""
    path = f": {request.folder}" if request.path else ""
    searched = f", files like {request.search}" if request.search else ""
    return Card(
        f"{spelled.version.reference}{path}{searched}",
        lines=tuple(_lines(found, request, spelled)),
        table=_table(found.rows) if found.rows else None,
        buttons=page_buttons(spelled.page(request, request.page + 1))
        if _has_next(found, request)
        else (),
    )


def _has_next(found: Listing, request: ListRequest) -> bool:
    is_more = found.skipped + len(found.rows) < found.rows_found
    return bool(found.rows) and is_more and request.page < MOST_PAGES


def _lines(found: Listing, request: ListRequest, spelled: Spelled) -> Iterator[Markup]:
    least = "" if found.is_whole else "At least "
    if found.rows_found:
        yield plain(f"{least}{files(found.files)}, {size(found.size_bytes)}.")
    elif found.is_whole:
        yield plain("No file matches." if request.search else "The version has no files.")
    if not found.is_whole:
        yield plain(
            f"Not everything was read: an answer takes at most {DEADLINE_SECONDS:.0f} s and"
            f" {MOST_OBJECTS:,} objects; the manifest has {found.objects:,}. Name a folder to read"
            " less."
        )
    shown = found.skipped + len(found.rows)
    if not found.rows or len(found.rows) == found.rows_found:
        return
    order = ", the largest first" if request.is_largest else ""
    yield plain(
        f"Rows {found.skipped + 1:,} to {shown:,} of {least.lower()}{found.rows_found:,}{order}."
    )
    if _has_next(found, request):
        yield join("Next: ", code(spelled.listing(request, request.page + 1)))


def _table(rows: Sequence[Row]) -> Table:
    """The rows; only folders have a number of files."""
    if all(row.files is None for row in rows):
        return Table(_HEADER[:2], tuple((row.name, size(row.size)) for row in rows))
    return Table(_HEADER, tuple(map(_cells, rows)))


def _cells(row: Row) -> tuple[str, ...]:
    least = "at least " if row.is_partial else ""
    count = "" if row.files is None else f"{least}{row.files:,}"
    return (row.name, f"{least}{size(row.size)}", count)


def file_card(entry: Entry, spelled: Spelled, *, shows_content: bool) -> Card:
    """One file of a version."""
    exactly = f" ({entry.size:,} bytes)" if entry.size >= _ROUNDED_FROM else ""
    facts = [
        ("Size", plain(f"{size(entry.size)}{exactly}")),
        ("ETag", code(entry.etag)),
    ]
    if entry.version_id is not None:
        facts.append(("Version id", code(entry.version_id)))
    line = join(code(spelled.head(entry.key)), " shows its first lines.")
    return Card(
        _title(spelled.version, entry),
        lines=(line,) if shows_content else (),
        facts=tuple(facts),
    )


def head_card(version: Version, entry: Entry, found: TextHead) -> Card:
    """The first lines of a file."""
    title = _title(version, entry)
    if not entry.size:
        return Card(title, lines=(plain("The file is empty."),))
    lines = f"{found.line_count:,} line{'' if found.line_count == 1 else 's'}"
    said = f"The whole file, {lines}" if found.is_whole else f"Its first {lines}"
    return Card(
        title,
        lines=(plain(" ".join((f"{said}; it has {size(entry.size)}.", *found.remarks))),),
        document="\n".join(found.lines),
    )


def _title(version: Version, entry: Entry) -> str:
    return f"{version.reference}: {entry.key}"
