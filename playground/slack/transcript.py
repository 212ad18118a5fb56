"""What happened in the workspace, in order, and who could see it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class Kind(StrEnum):
    """The kind of a transcript line."""

    POSTED = "posted"
    EDITED = "edited"
    DELETED = "deleted"
    TYPED = "typed"  # a person's slash command, seen by nobody else
    CLICKED = "clicked"
    VIEW = "view"  # a form or Home tab opened or changed
    SUBMITTED = "submitted"
    REACTED = "reacted"
    FAILED = "failed"  # the bot did not answer, or Slack itself shows an error


@dataclass(frozen=True)
class Entry:
    """One change: what, where, by whom, and whom it notified.

    `viewer` is the only person who sees it, or None when everybody in the channel does.
    """

    at: datetime
    kind: Kind
    channel: str
    by: str
    text: str
    ts: str = ""
    thread_ts: str | None = None
    viewer: str | None = None
    notified: tuple[str, ...] = ()
    before: str = ""  # what an edited message said until now


@dataclass
class Transcript:
    """The entries so far; each new one is also printed as text if a printer is set."""

    name_of: Callable[[str], str]
    printer: Callable[[str], None] | None = None
    entries: list[Entry] = field(default_factory=list)

    def add(self, entry: Entry) -> None:
        """Appends an entry, and prints it."""
        self.entries.append(entry)
        if self.printer is not None:
            self.printer(self.line(entry))

    def line(self, entry: Entry) -> str:
        """An entry as plain text; of an edit only the lines that changed."""
        known = entry.before.split("\n") if entry.before else []
        lines = [line for line in entry.text.split("\n") if line not in known]
        first, *more = lines or ["(nothing new to read)"]
        head = f"{entry.at:%a %H:%M:%S}  {self._place(entry):<16} {self._who(entry)}: {first}"
        told = (
            [f"notifies {', '.join(map(self.name_of, entry.notified))}"] if entry.notified else []
        )
        return "\n".join(
            [head, *(f"{'':28} {line}" for line in [*more, *(f"({t})" for t in told)])]
        )

    def text(self) -> str:
        """The whole transcript."""
        return "\n".join(map(self.line, self.entries))

    def _place(self, entry: Entry) -> str:
        name = self.name_of(entry.channel) if entry.channel else "-"
        sign = "#" if entry.channel.startswith("C") else "@"
        in_thread = entry.thread_ts is not None and entry.thread_ts != entry.ts
        return (sign if entry.channel else "") + name + (" >" if in_thread else "")

    def _who(self, entry: Entry) -> str:
        who = self.name_of(entry.by)
        marks = [] if entry.kind in (Kind.POSTED, Kind.TYPED) else [str(entry.kind)]
        if entry.viewer is not None and entry.kind is not Kind.TYPED:
            marks.append(f"only {self.name_of(entry.viewer)} sees it")
        return f"{who} ({', '.join(marks)})" if marks else who
