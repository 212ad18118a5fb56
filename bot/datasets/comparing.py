"""Compares two versions: counts, bytes, and the first keys of each kind of change."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from bot.datasets.manifest import Change
from bot.datasets.tables import Version
from bot.datasets.wording import objects, size
from bot.slack.card import Card, Table
from bot.slack.markup import Markup, code, join, plain

SHOWN_KEYS = 8
_SORTS = ("added", "removed", "changed", "rewritten")
_WORDS = {
    "added": "Added",
    "removed": "Removed",
    "changed": "Changed",
    "rewritten": "Rewritten, same content",
}


@dataclass
class Sort:
    """The changes of one kind, with the total size of their objects before and after."""

    count: int = 0
    before_bytes: int = 0
    after_bytes: int = 0
    keys: list[str] = field(default_factory=list)

    def take(self, change: Change) -> None:
        """Adds a change to the counts."""
        self.count += 1
        self.before_bytes += change.before.size if change.before else 0
        self.after_bytes += change.after.size if change.after else 0
        if len(self.keys) < SHOWN_KEYS:
            self.keys.append(change.key)


def summary(changes: Iterable[Change]) -> dict[str, Sort]:
    """The changes by kind, as counts and the first keys."""
    found = {sort: Sort() for sort in _SORTS}
    for change in changes:
        found[change.kind].take(change)
    return found


def difference_card(before: Version, after: Version, found: dict[str, Sort]) -> Card:
    """The card that shows what changed from one version to another."""
    sorts = [(each, found[each]) for each in _SORTS if found[each].count]
    grown = (after.size_bytes or 0) - (before.size_bytes or 0)
    sign = "-" if grown < 0 else "+"
    lines = [
        plain(
            f"{objects(before.objects or 0)}, {size(before.size_bytes or 0)} →"
            f" {objects(after.objects or 0)}, {size(after.size_bytes or 0)}"
            f" ({sign}{size(abs(grown))})."
        )
    ]
    if not sorts:
        lines.append(plain("The objects are the same. Only the sources differ."))
    rows = tuple((_WORDS[name], f"{each.count:,}", _bytes(name, each)) for name, each in sorts)
    return Card(
        f"{before.reference} → {after.reference}",
        lines=(*lines, *(_keys(name, each) for name, each in sorts)),
        table=Table(("Objects", "Count", "Size"), rows) if rows else None,
    )


def _bytes(name: str, sort: Sort) -> str:
    if name == "changed":
        return f"{size(sort.before_bytes)} → {size(sort.after_bytes)}"
    return size(sort.before_bytes if name == "removed" else sort.after_bytes)


def _keys(name: str, sort: Sort) -> Markup:
    left = sort.count - len(sort.keys)
    shown = [join(" ", code(key)) for key in sort.keys]
    return join(f"{_WORDS[name]}:", *shown, f" and {left:,} more" if left else "")
