"""Messages of the bot that a scenario expected, and those it did not."""

import re
from collections.abc import Callable, Iterable, Iterator

from playground.slack.people import BOT_USER, Message
from playground.slack.transcript import Entry, Kind
from playground.slack.workspace import Workspace

Words = str | re.Pattern[str]
_MARKS = re.compile(r"[`*]")


def says(text: str, words: Words) -> bool:
    """Whether a text has these words in it, as whole words, whatever its lines and emphasis."""
    text = _MARKS.sub("", text)
    if isinstance(words, re.Pattern):
        return words.search(text) is not None
    wanted = r"\s+".join(re.escape(word) for word in words.split())
    before = r"(?<!\w)" if words[:1].isalnum() else ""
    after = r"(?!\w)" if words[-1:].isalnum() else ""
    return re.search(f"{before}{wanted}{after}", text) is not None


def says_all(text: str, wanted: Iterable[Words]) -> bool:
    """Whether a text has all of these in it."""
    return all(says(text, words) for words in wanted)


def spelled(wanted: Iterable[Words]) -> str:
    """What was wanted, for a report."""
    return " and ".join(
        f"/{words.pattern}/" if isinstance(words, re.Pattern) else f'"{words}"' for words in wanted
    )


class Expectations:
    """Ticks off messages of the bot, and failures people saw, as a story expects them."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._ticked: set[int] = set()

    def take(self, wanted: Callable[[Entry], bool]) -> Entry | None:
        """Ticks off the first new thing that fits, and returns it."""
        for index, entry in self._left():
            if wanted(entry):
                self._ticked.add(index)
                return entry
        return None

    def unexpected(self) -> list[Entry]:
        """What was not ticked off."""
        return [entry for _, entry in self._left()]

    def message(self, entry: Entry) -> Message:
        """The message that an entry tells of, as it is now."""
        channel = self._workspace.channel(entry.channel)
        return next(each for each in channel.messages if each.ts == entry.ts)

    def text(self, entry: Entry) -> str:
        """What the message of an entry says now; what it said when it is gone."""
        channel = self._workspace.channel(entry.channel)
        found = (each for each in channel.messages if each.ts == entry.ts)
        message = next(found, None)
        return self._workspace.text_of(message) if message else entry.text

    def _left(self) -> Iterator[tuple[int, Entry]]:
        for index, entry in enumerate(self._workspace.transcript.entries):
            if index not in self._ticked and _needs_a_tick(entry):
                yield index, entry


def _needs_a_tick(entry: Entry) -> bool:
    """Messages of the bot, and what failed; Slack's own words only repeat what failed."""
    return entry.kind in {Kind.FAILED, Kind.DELETED} or (
        entry.kind is Kind.POSTED and entry.by == BOT_USER
    )
