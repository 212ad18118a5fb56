"""Finds the lines of a log that were not read before, so that each value counts once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from zlib import crc32

from bot.cluster.api.client import LogSource
from bot.cluster.api.log_since import LinesSince
from bot.cluster.cluster import Cluster
from bot.cluster.types.objects import Pod
from bot.errors import ClusterError
from bot.training.logs.tails import HEARD_LINES, Tail, source_of
from bot.training.pods import program_of
from bot.training.state import has_ended

Wanted = Callable[[str], bool]


class LogLine(NamedTuple):
    """A line, and when it was written, in nanoseconds since 1970."""

    stamp: int
    text: str


class Cursor(NamedTuple):
    """The line up to which a log was read, by its time and digest; after so many restarts."""

    restarts: int
    stamp: int
    digest: int

    def text(self) -> str:
        """The cursor as it is stored."""
        return f"{self.restarts} {self.stamp} {self.digest}"

    def is_at(self, line: LogLine) -> bool:
        """Whether the log was read up to this line."""
        return line.stamp == self.stamp and _digest(line.text) == self.digest


def cursor_of(text: str) -> Cursor | None:
    """The stored cursor, None if nothing was read yet."""
    return Cursor(*map(int, text.split())) if text else None


@dataclass(frozen=True)
class NewLines:
    """The lines that follow those read before, oldest first; `is_lost` if some are missing."""

    lines: Sequence[LogLine]
    cursor: Cursor | None
    is_lost: bool = False

    def first(self, count: int) -> "NewLines":
        """So many of them: the next look begins after these."""
        if self.cursor is None or count >= len(self.lines):
            return self
        return NewLines(
            self.lines[:count],
            _cursor_at(self.lines[count - 1], self.cursor.restarts),
            self.is_lost,
        )


def new_lines(cluster: Cluster, tail: Tail, before: Cursor | None, is_wanted: Wanted) -> NewLines:
    """The lines of a pod since the last look; the log is read again if its tail lacks some.

    Lines read again are only those that are wanted.
    """
    return _Follower(cluster, tail, before, is_wanted).follow()


class _Follower:
    def __init__(
        self, cluster: Cluster, tail: Tail, before: Cursor | None, is_wanted: Wanted
    ) -> None:
        self._cluster = cluster
        self._source = source_of(tail.pod)
        self._before = before
        self._is_wanted = is_wanted
        self._has_ended = has_ended(tail.pod)
        self._lines = _whole_lines(tail)
        self._is_all = not tail.found.is_cut and len(tail.found.lines) < HEARD_LINES
        self._restarts = _restarts(tail.pod)

    def follow(self) -> NewLines:
        before = self._before
        if before is None:
            return self._found(*self._from_start())
        if before.restarts < self._restarts:
            earlier, is_lost = self._rest_of_previous(before)
            lines, is_cut = self._from_start()
            is_lost = is_lost or is_cut or self._restarts > before.restarts + 1
            return self._found([*earlier, *lines], is_lost)
        after = _after(before, self._lines)
        if after is not None:
            return self._found(after, False)  # noqa: FBT003 - nothing is lost
        return self._found(*self._reread(before))

    def _found(self, lines: Sequence[LogLine], is_lost: bool) -> NewLines:  # noqa: FBT001
        cursor = _cursor_at(lines[-1], self._restarts) if lines else self._before
        return NewLines(lines, cursor, is_lost)

    def _from_start(self) -> tuple[Sequence[LogLine], bool]:
        """All lines of the current instance of the container, and whether some are missing."""
        if self._is_all:
            return self._lines, False
        found = self._since(self._source, None)
        return self._joined(found) if found is not None else (self._lines, True)

    def _rest_of_previous(self, before: Cursor) -> tuple[Sequence[LogLine], bool]:
        """What the instance before the last restart said after it was last read."""
        source = LogSource(
            self._source.pod, self._source.namespace, self._source.container, is_previous=True
        )
        found = self._since(source, before)
        if found is None:
            return (), True
        lines = [LogLine(*each) for each in found.lines]
        after = _after(before, lines)
        is_cut = found.is_cut or found.is_full
        return after if after is not None else lines, is_cut or after is None

    def _reread(self, before: Cursor) -> tuple[Sequence[LogLine], bool]:
        """The lines since the last look of a program that wrote more than was read."""
        found = self._since(self._source, before)
        if found is None:
            return [line for line in self._lines if line.stamp > before.stamp], True
        lines, is_cut = self._joined(found)
        after = _after(before, lines)
        if after is not None:
            return after, is_cut
        # The node began a new file, which begins after the line up to which the log was read.
        return [line for line in lines if line.stamp > before.stamp], True

    def _joined(self, found: LinesSince) -> tuple[list[LogLine], bool]:
        """The lines that were read again, followed by the tail if there was more to read.

        While the program runs, the next look goes on after as many lines as may be read.
        """
        lines = [LogLine(*each) for each in found.lines]
        if not found.is_cut and not (found.is_full and self._has_ended):
            return lines, False
        last = lines[-1].stamp if lines else 0
        return [*lines, *(line for line in self._lines if line.stamp > last)], True

    def _since(self, source: LogSource, before: Cursor | None) -> LinesSince | None:
        stamp = before.stamp if before is not None else None
        try:
            return self._cluster.lines_since(source, stamp, self._is_wanted)
        except ClusterError:
            return None


def _whole_lines(tail: Tail) -> list[LogLine]:
    """The lines of a tail whose time is known, without one that goes on."""
    found = tail.found
    pairs = zip(found.stamps, found.lines, strict=True)
    lines = [LogLine(stamp, line) for stamp, line in pairs if stamp is not None]
    return lines[:-1] if found.is_open and not has_ended(tail.pod) else lines


def _after(before: Cursor, lines: Sequence[LogLine]) -> Sequence[LogLine] | None:
    """The lines after the one up to which the log was read; None if that is not among them."""
    places = range(len(lines) - 1, -1, -1)
    found = next((place for place in places if before.is_at(lines[place])), None)
    return None if found is None else lines[found + 1 :]


def _cursor_at(line: LogLine, restarts: int) -> Cursor:
    return Cursor(restarts, line.stamp, _digest(line.text))


def _restarts(pod: Pod) -> int:
    program = program_of(pod)
    return program.restart_count if program else 0


def _digest(text: str) -> int:
    return crc32(text.encode("utf-8", "replace"))
