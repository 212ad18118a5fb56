"""What a soak measures of the bot while all is quiet, and its report."""

import sqlite3
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from playground.world import TEMPORARY, World

MIB = 1 << 20
GROWTH_MIB, GROWTH_FILES, GROWTH_THREADS = 64.0, 20, 12
"""In its first minutes a process grows by 30 MiB."""


@dataclass(frozen=True)
class Sample:
    """The bot at rest: `life` tells one process from the next."""

    life: int
    seconds: float
    memory_mib: float
    threads: int
    open_files: int
    temporary_files: int
    files: frozenset[str]
    database_mib: float
    rows: Mapping[str, int]


def taken(world: World, database: Path, begun: float) -> Sample:
    """The bot as it is now."""
    pid = world.bot.pid
    assert pid is not None
    process, out = Path(f"/proc/{pid}"), world.options.out
    known = [out / name for name in (TEMPORARY, "kubelet", "bucket")]
    return Sample(
        life=pid,
        seconds=time.monotonic() - begun,
        memory_mib=world.bot.resident_bytes() / MIB,
        threads=len(list((process / "task").iterdir())),
        open_files=len(list((process / "fd").iterdir())),
        temporary_files=sum(each.is_file() for each in (out / TEMPORARY).rglob("*")),
        files=frozenset(each.name for each in out.iterdir() if each not in known),
        database_mib=sum(each.stat().st_size for each in _of(database)) / MIB,
        rows=rows_of(database),
    )


def rows_of(database: Path) -> dict[str, int]:
    """How many rows each table has."""
    with closing(sqlite3.connect(database, timeout=30)) as rows:
        found = rows.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {
            name: rows.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]  # noqa: S608  # its own
            for (name,) in sorted(found)
        }


def overdue(database: Path) -> list[str]:
    """Rows that should be gone by now, a month after all has ended; docs/growth.md has the bounds.

    A few at a time go, every five minutes.
    """
    words = "subject_kind || ' ' || purpose || ' of ' || created_at || ', live ' || live"
    queries = (
        "SELECT 'kept log of ' || kept_at FROM kept_logs",
        f"SELECT {words} FROM messages WHERE purpose != 'card'",  # noqa: S608  # ours
    )
    with closing(sqlite3.connect(database, timeout=30)) as rows:
        return [words for query in queries for (words,) in rows.execute(query)]


def _of(database: Path) -> Iterator[Path]:
    return (each for each in database.parent.glob(f"{database.name}*") if each.is_file())


@dataclass
class Figures:
    """All samples, and what was counted besides."""

    seed: int
    samples: list[Sample] = field(default_factory=list)
    chapters: int = 0
    virtual_hours: float = 0.0
    commands: int = 0
    acknowledged: int = 0
    restarts: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    faults: Mapping[str, int] = field(default_factory=dict)
    requests: int = 0
    lost: int = 0
    spoilt: int = 0

    def growth(self) -> str:
        """What grew, that must not; empty where nothing did."""
        first, last = _thirds(self.samples)
        told = [_grown(first, last), *(_grown(*_thirds(life)) for life in self._lives())]
        if any(sample.temporary_files for sample in self.samples):
            told.append("temporary files stay")
        new = self.samples[-1].files - self.samples[0].files
        if new:
            told.append(f"new files stay: {sorted(new)}")
        return "; ".join(each for each in told if each)

    def _lives(self) -> Iterator[list[Sample]]:
        """The lives that were long enough to see growth in."""
        for life in dict.fromkeys(sample.life for sample in self.samples):
            samples = [sample for sample in self.samples if sample.life == life]
            if len(samples) >= 6:
                yield samples

    def progress(self) -> str:
        """A line after each round."""
        last = self.samples[-1]
        begun = f"{self.chapters} rounds, {last.seconds / 60:.1f} min"
        return f"{begun}, {last.memory_mib:.0f} MiB, {sum(last.rows.values()):,} rows"

    def report(self) -> str:
        """A page for whoever reads the end of a soak."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        minutes = self.samples[-1].seconds / 60
        yield f"Seed {self.seed}: {self.chapters} rounds in {minutes:.0f} minutes,"
        yield f"{self.virtual_hours:.0f} hours of the bot's time."
        yield ""
        yield "| Counted | |"
        yield "|---|---|"
        yield f"| Commands, acknowledged | {self.commands:,}, {self.acknowledged:,} |"
        yield f"| Requests of the bot, cut or without answer | {self.requests:,}, {self.lost:,} |"
        yield f"| Answers of the object store spoilt | {self.spoilt:,} |"
        ended = ", ".join(f"{how}: {many}" for how, many in sorted(self.ended.items()))
        yield f"| Restarts | {self.restarts} ({ended or 'none'}) |"
        yield from (f"| {name} | {many} |" for name, many in sorted(self.faults.items()))
        yield ""
        yield "| Measured at rest | Start | Middle | End |"
        yield "|---|---|---|---|"
        shown = [self.samples[at] for at in (0, len(self.samples) // 2, -1)]
        yield _row("Memory of the bot (RSS, MiB)", [f"{each.memory_mib:.0f}" for each in shown])
        yield _row("Threads, open files", [f"{e.threads}, {e.open_files}" for e in shown])
        yield _row("Database (MiB)", [f"{each.database_mib:.1f}" for each in shown])
        yield _row("Rows", [f"{sum(each.rows.values()):,}" for each in shown])
        largest = sorted(shown[-1].rows, key=lambda name: -shown[-1].rows[name])[:8]
        for name in largest:
            yield _row(f"Rows of {name}", [f"{each.rows.get(name, 0):,}" for each in shown])
        for life in self._lives():
            begin, end = life[0], life[-1]
            lasted = (end.seconds - begin.seconds) / 60
            yield f"A process of {lasted:.0f} minutes: {begin.memory_mib:.0f} MiB to "
            yield f"{end.memory_mib:.0f} MiB."


def _row(name: str, cells: Sequence[str]) -> str:
    return f"| {name} | {' | '.join(cells)} |"


def _thirds(samples: Sequence[Sample]) -> tuple[Sequence[Sample], Sequence[Sample]]:
    third = max(1, len(samples) // 3)
    return samples[:third], samples[-third:]


def _grown(first: Sequence[Sample], last: Sequence[Sample]) -> str:
    """What the last of some samples have much more of than the first."""
    told = []
    for name, most in (
        ("memory_mib", GROWTH_MIB),
        ("threads", GROWTH_THREADS),
        ("open_files", GROWTH_FILES),
    ):
        before, after = (
            statistics.median(getattr(each, name) for each in some) for some in (first, last)
        )
        if after > before + most:
            told.append(f"{name} grew from {before:.0f} to {after:.0f}")
    return ", ".join(told)
