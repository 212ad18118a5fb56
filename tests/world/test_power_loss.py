"""Power is lost under a bot with SQLite: what it acknowledged is there, and happens once."""

import asyncio
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from playground.opening import opened
from playground.settings import Setup
from playground.world import DATABASE, Options, World
from tests.world.power import STRACE, Disk, Tracing, command, ended_calls

CROWD, LOSSES, MOMENTS = 4, 3, 60
SUBMIT = "/train submit lane-{number} --image ghcr.io/acme/lane:3.1 --gpus 8 -- python train.py"
Acknowledged = dict[str, float]  # name of a run: when the person had the answer, since 1970

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _may_trace() -> None:
    """Skips where programs cannot be traced."""
    if STRACE is None:
        pytest.skip("strace is not installed; `make test-long` installs Debian's")
    if subprocess.run([STRACE, "-o", os.devnull, "true"], check=False, timeout=60).returncode:
        pytest.skip("no program may be traced here")


class Crowd:
    """People who submit run after run for as long as the bot answers."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._next = 0
        self.acknowledged: Acknowledged = {}

    async def submits_until(self, count: int) -> None:
        """Returns with the bot killed in the midst of it, with so many more acknowledged."""
        wanted = len(self.acknowledged) + count
        async with asyncio.TaskGroup() as people:
            for _ in range(CROWD):
                people.create_task(self._submits())
            await self._world.until(lambda: len(self.acknowledged) >= wanted)
            await self._world.kill_bot()

    async def _submits(self) -> None:
        while True:
            name = f"lane-{self._next}"
            command = SUBMIT.format(number=self._next)
            self._next += 1
            shown = await self._world.slack.slash("U0BOB", "C0TEAMB", command)
            if not self._world.slack.text_of(shown[-1]).startswith(f"Submitted run `{name}`"):
                return
            self.acknowledged[name] = time.time()
            self._world.changes.ring()


def files(database: Path) -> dict[str, bytes]:
    """The database as it is, and its log if there is one."""
    paths = [Path(f"{database}{ending}") for ending in ("", "-wal")]
    return {str(path): path.read_bytes() for path in paths if path.exists()}


def put(kept: dict[str, bytes], database: Path, folder: Path) -> Path:
    """Writes the files that were kept into a folder, where nothing else of a database is."""
    for path in folder.glob(f"{database.name}*"):
        path.unlink()
    for name, content in kept.items():
        (folder / Path(name).name).write_bytes(content)
    return folder / database.name


def names(database: Path) -> list[str]:
    """The names in a database that is whole."""
    with closing(sqlite3.connect(database)) as rows:
        assert rows.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return [name for (name,) in rows.execute("SELECT name FROM runs")]


def holds_at_any_moment(
    disk: Disk, database: Path, folder: Path, random: Random, acknowledged: Acknowledged
) -> None:
    """Power could have been lost at any other moment, too."""
    folder.mkdir(exist_ok=True)
    for moment in random.choices(range(1, len(disk.calls)), k=MOMENTS):
        kept = names(put(disk.at_loss(moment, random), database, folder))
        until = disk.calls[moment].time
        lost = {name for name, at in acknowledged.items() if at < until} - set(kept)
        assert (lost, len(kept)) == (set(), len(set(kept)))


async def crowd_amid_losses(options: Options, tracing: Tracing) -> None:
    """The bot's power is lost again and again, and it goes on with what the disk had kept."""
    database = options.out.resolve() / DATABASE
    random = Random(options.seed)  # noqa: S311  # repeatable
    async with opened(options) as world:
        await world.start_bots()
        crowd, before = Crowd(world), {str(database): (options.template or database).read_bytes()}
        for _ in range(LOSSES):
            pid = world.bot.pid
            assert pid is not None
            await crowd.submits_until(8)
            disk = Disk(database, before, await asyncio.to_thread(tracing.calls, pid))
            others = options.out / "others"
            holds_at_any_moment(disk, database, others, random, crowd.acknowledged)
            put(disk.at_loss(len(disk.calls), random), database, database.parent)
            assert set(crowd.acknowledged) <= set(names(database))
            before = files(database)
            await world.bot.start()
        kept = names(database)
        await world.until(lambda: len(created(world)) >= len(kept))
        assert len(created(world)) == len(set(created(world))) == len(kept)


def created(world: World) -> list[str]:
    return [each.about for each in world.ledger.requests if each.name == "create jobs"]


@pytest.mark.timeout(600)
def test_what_was_acknowledged_outlives_lost_power(options: Options, tmp_path: Path) -> None:
    limits = {"team-b": {"limits": {"live_runs": 1000}}}
    tracing = Tracing(tmp_path)
    setup = Setup({"teams": limits})
    asyncio.run(crowd_amid_losses(replace(options, setup=setup, launch=tracing.launch), tracing))


ROWS = """
import os, sqlite3, sys, time
rows = sqlite3.connect(sys.argv[1], isolation_level=None)
rows.execute("PRAGMA journal_mode=WAL")
rows.execute("PRAGMA synchronous=FULL")
rows.execute("CREATE TABLE runs (name TEXT)")
rows.execute("PRAGMA synchronous=" + sys.argv[2])
for number in range(20):
    rows.execute("INSERT INTO runs VALUES (?)", [f"lane-{number}"])
    print(time.time(), f"lane-{number}", flush=True)
os._exit(0)
"""


def lost_rows(tmp_path: Path, synchronous: str) -> list[int]:
    """How many of the acknowledged rows are lost with power, at each of some moments."""
    database, trace = tmp_path / "rows.db", tmp_path / "trace"
    assert STRACE is not None
    program = (sys.executable, "-c", ROWS, str(database), synchronous)
    pid, said = _output([*command(STRACE, trace), *program])
    acknowledged = {name: float(at) for at, name in (line.split() for line in said.splitlines())}
    disk, random = Disk(database, {}, ended_calls(trace, pid)), Random(1)  # noqa: S311
    (tmp_path / "lost").mkdir()
    lost = []
    for moment in range(len(disk.calls) // 2, len(disk.calls)):
        kept = names(put(disk.at_loss(moment, random), database, tmp_path / "lost"))
        until = disk.calls[moment].time
        lost.append(len({name for name, at in acknowledged.items() if at < until} - set(kept)))
    return lost


def _output(program: Sequence[str]) -> tuple[int, str]:
    async def run() -> tuple[int, bytes]:
        child = await asyncio.create_subprocess_exec(*program, stdout=asyncio.subprocess.PIPE)
        said, _ = await child.communicate()
        assert child.returncode == 0
        return child.pid, said

    pid, said = asyncio.run(run())
    return pid, said.decode()


def test_power_takes_what_was_not_synced(tmp_path: Path) -> None:
    assert max(lost_rows(tmp_path, "NORMAL")) > 5


def test_power_leaves_what_was_synced(tmp_path: Path) -> None:
    assert set(lost_rows(tmp_path, "FULL")) == {0}
