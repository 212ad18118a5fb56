"""Loss of power under a bot with SQLite: what of its files is left is what it had synced.

strace writes down each write and each sync of the database. From that the files are made again as
a disk could have kept them at any moment: all that was synced before, and of the rest any sectors.
"""

import asyncio
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from math import inf
from pathlib import Path
from random import Random
from threading import Event

from playground.children import Child, die_with_parent

STRACE = shutil.which("strace")
_SECTOR = 512
_SYNCS, _NAMING = {"fsync", "fdatasync"}, {"openat", "unlink"}
_CALLS = "openat,pwrite64,ftruncate,fsync,fdatasync,unlink"
# Longer than any write of SQLite, which writes a page at a time.
_LONGEST = 1 << 17
_LINE = re.compile(r"(?P<thread>\d+) +(?P<time>\d+\.\d+) (?P<rest>.*)")
_RESUMED = re.compile(r"<\.\.\. (?P<call>\w+) resumed>(?P<rest>.*)")
_CALL = re.compile(r"(?P<call>\w+)\((?P<arguments>.*)\) += (?P<result>\d+)(?:<(?P<path>[^>]*)>)?$")
_AT = re.compile(r"\d+<(?P<path>[^>]*)>(?:, )?(?P<rest>.*)")
_WRITE = re.compile(r'"(?P<data>[^"]*)", \d+, (?P<offset>\d+)')


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call that succeeded: when it began and ended, as places in the trace."""

    began: int
    ended: int
    time: float  # of its begin, in seconds since 1970
    name: str
    path: str
    rest: str = ""


class Tracing:
    """Starts bots with each of their calls on files written down, one trace for each start."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = count(1)
        self.trace = folder / "trace-0"

    async def launch(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], log: Path
    ) -> Child:
        """Starts the bot as `playground.children.launch` does; strace is no parent of it."""
        self.trace = self._folder / f"trace-{next(self._numbers)}"
        assert STRACE is not None
        with log.open("ab") as said:
            return await asyncio.create_subprocess_exec(
                *command(STRACE, self.trace),
                *(sys.executable, "-m", "bot", *arguments),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                cwd=folder,
                env=dict(environment),
                process_group=0,
                preexec_fn=die_with_parent,
            )

    def calls(self, pid: int) -> list[Call]:
        """What the bot of this process did until its end, which strace has to have seen."""
        return ended_calls(self.trace, pid)


def command(strace: str, trace: Path) -> list[str]:
    """How a program is started whose calls are written down; its process stays the caller's."""
    traced = ("-e", f"trace={_CALLS}", "-e", "signal=kill")
    shown = ("-y", "-ttt", "-xx", "-s", str(_LONGEST))
    return [strace, "-D", "-f", "--seccomp-bpf", *shown, *traced, "-o", str(trace)]


def ended_calls(trace: Path, pid: int) -> list[Call]:
    """The calls in a trace, once strace has written down that the process ended."""
    end = re.compile(rf"^{pid} .*\+\+\+ (?:killed|exited)", re.MULTILINE)
    pause = Event()
    while not end.search(text := trace.read_text("ascii")):
        pause.wait(0.05)
    return list(_calls(text.splitlines()))


class Disk:
    """The files of a database while some calls happen, given what they were before."""

    def __init__(self, database: Path, before: Mapping[str, bytes], calls: Sequence[Call]) -> None:
        self._files = {f"{database}{ending}" for ending in ("", "-wal", "-journal")}
        self._folder, self._before = str(database.parent), before
        self.calls = [each for each in calls if each.path in {*self._files, self._folder}]
        self._safe = [self._synced(each) for each in self.calls]

    def at_loss(self, moment: int, random: Random) -> dict[str, bytes]:
        """The files by path, if power was lost once this many calls had begun."""
        files = {path: bytearray(content) for path, content in self._before.items()}
        now = self.calls[moment - 1].began if moment else -1
        share = random.choice((0.0, 0.5, 0.5, 1.0))
        for call, safe in zip(self.calls[:moment], self._safe, strict=False):
            if call.path in self._files:
                _happen(call, files, random, share=1.0 if safe <= now else share)
        return {path: bytes(content) for path, content in files.items()}

    def _synced(self, call: Call) -> float:
        """The place in the trace from which on nothing can undo it; a folder keeps the names."""
        held_by = self._folder if call.name in _NAMING else call.path
        return min(
            (
                sync.ended
                for sync in self.calls
                if sync.name in _SYNCS and sync.path == held_by and sync.began > call.ended
            ),
            default=inf,
        )


def _happen(call: Call, files: dict[str, bytearray], random: Random, *, share: float) -> None:
    """Does to the files what a call did; of what is not safe, such a share of sectors is kept."""
    if call.name == "pwrite64" and call.path in files:
        written = _WRITE.match(call.rest)
        assert written is not None, call
        data, offset = _bytes(written["data"]), int(written["offset"])
        _write(files[call.path], data, offset, random, share)
    elif random.random() >= share:
        return
    elif call.name == "openat":
        files.setdefault(call.path, bytearray())
    elif call.name == "unlink":
        files.pop(call.path, None)
    elif call.name == "ftruncate" and call.path in files:
        content, length = files[call.path], int(call.rest)
        content[:] = content[:length].ljust(length, b"\0")


def _write(content: bytearray, data: bytes, offset: int, random: Random, share: float) -> None:
    end = offset + len(data)
    at = offset
    while at < end:
        after = min(at - at % _SECTOR + _SECTOR, end)
        if random.random() < share:
            content.extend(bytes(max(0, after - len(content))))
            content[at:after] = data[at - offset : after - offset]
        at = after


def _calls(lines: Sequence[str]) -> Iterator[Call]:
    """The calls that succeeded, in the order in which they began."""
    begun: dict[tuple[str, str], tuple[int, float, str]] = {}
    found = []
    for place, line in enumerate(lines):
        parts = _LINE.fullmatch(line)
        if parts is None:
            continue
        began, time, rest = place, float(parts["time"]), parts["rest"]
        if rest.endswith("<unfinished ...>"):
            name = rest.partition("(")[0]
            begun[parts["thread"], name] = (place, time, rest.removesuffix("<unfinished ...>"))
            continue
        if resumed := _RESUMED.fullmatch(rest):
            began, time, head = begun.pop((parts["thread"], resumed["call"]))
            rest = head.rstrip() + resumed["rest"]
        if call := _CALL.fullmatch(rest):
            found.append(_call(call, began, place, time))
    # One that the end interrupted has begun, too, and may have happened in part.
    found += [
        _call(call, began, len(lines), time)
        for began, time, head in begun.values()
        if (call := _CALL.fullmatch(f"{head.rstrip()}) = 0"))
    ]
    return iter(sorted(found, key=lambda each: each.began))


def _call(parts: re.Match[str], began: int, ended: int, time: float) -> Call:
    name, arguments = parts["call"], parts["arguments"]
    if name == "unlink":
        path, rest = arguments.strip('"'), ""
    elif name == "openat":
        path, rest = parts["path"] or "", arguments
    else:
        at = _AT.fullmatch(arguments)
        path, rest = (at["path"], at["rest"]) if at else ("", "")
    path = _bytes(path).decode()
    return Call(began=began, ended=ended, time=time, name=name, path=path, rest=rest)


def _bytes(shown: str) -> bytes:
    """What strace shows in hexadecimal, or as it is where that is a path without quotes."""
    if not shown.startswith("\\x"):
        return shown.encode()
    return bytes.fromhex(shown.replace("\\x", ""))
