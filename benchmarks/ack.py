"""How fast commands are acknowledged, beside Bolt that does nothing and Bolt that keeps a row."""

import contextlib
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import click

from benchmarks.rig.bot import LIST, SUBMIT, Command, caught_up, server_of, serving
from benchmarks.rig.figures import Aim, Report, command, median, percentile
from benchmarks.rig.live_runs import CHANGE_SECONDS, flickering, started
from benchmarks.rig.load import Outcome
from benchmarks.rig.processes import RigError, Server, load, reference
from playground.world import World
from tests.postgres import programs_of_postgres, running

Key = tuple[str, str, str]

LATE_MS = 3000.0
MOST_TIMES_BOLT = 4.0
_RATE = 50.0
_AT_RATE = f"{_RATE:g}/s"
_WARMING_UP: Mapping[str, Any] = {"connections": 4, "seconds": 0.5}
_CONNECTIONS = (16, 64)
_BARE, _DURABLE, _FLOOR = "bare Bolt", "bare Bolt + INSERT", "load generator"
_ANSWERING = "bare Bolt + respond"
_READ, _WRITE = "/train list", "/train submit"
_SQLITE, _POSTGRESQL = "sqlite", "postgresql"


@dataclass(frozen=True)
class Size:
    """How much is measured: rounds, the length of their parts, and how many runs are live."""

    rounds: int
    open_seconds: float
    closed_seconds: float
    runs: int

    def states(self) -> dict[str, "State"]:
        """What the bot has besides requests, by its name in the figures."""
        return {
            "idle": State(0),
            f"{self.runs} runs": State(self.runs),
            f"{self.runs} changing runs": State(self.runs, changes=True),
        }

    def ways(self) -> dict[str, dict[str, Any]]:
        """How is asked, by its name in the figures."""
        closed = {
            f"c={count}": {"connections": count, "seconds": self.closed_seconds}
            for count in _CONNECTIONS
        }
        return {_AT_RATE: {"rate": _RATE, "seconds": self.open_seconds}, **closed}


FULL = Size(rounds=3, open_seconds=6, closed_seconds=2, runs=200)
QUICK = Size(rounds=1, open_seconds=2, closed_seconds=0.5, runs=20)


@dataclass(frozen=True)
class State:
    """How many runs of one team are live, and whether they change their state all the time."""

    runs: int
    changes: bool = False


@dataclass(frozen=True)
class Target:
    """Something that answers, and what is asked of it."""

    server: Server
    asked: Command


@dataclass
class Measured:
    """The outcomes of all rounds, by (state, variant, way of asking)."""

    outcomes: dict[Key, list[Outcome]] = field(default_factory=lambda: defaultdict(list))

    def percentile(self, key: Key, percent: float) -> float:
        """The median over the rounds of a percentile in milliseconds."""
        return median([percentile(each.latencies_ms, percent) for each in self.outcomes[key]])

    def each_second(self, key: Key) -> float:
        """The median over the rounds of answers a second."""
        return median([len(each.latencies_ms) / each.seconds for each in self.outcomes[key]])

    def cpu_ms(self, key: Key) -> float:
        """The processor time of the process that answers, for each answer of all rounds."""
        outcomes = self.outcomes[key]
        answers = sum(len(each.latencies_ms) for each in outcomes)
        return 1000 * sum(each.cpu_seconds for each in outcomes) / answers

    def of_bot(self) -> Iterator[Outcome]:
        """All that came of asking the bot."""
        for (_, variant, _), outcomes in self.outcomes.items():
            if variant in {_READ, _WRITE}:
                yield from outcomes


async def measure(quick: bool, database: str = _SQLITE) -> Report:  # noqa: FBT001  # the rig calls it so
    """Rounds of all states: a fresh world for each way of asking."""
    with _databases(database) as fresh:
        return await _measured(QUICK if quick else FULL, fresh)


@contextlib.contextmanager
def _databases(kind: str) -> Iterator[Callable[[], str]]:
    """The URLs of empty databases; empty ones where each is a file of SQLite."""
    if kind == _SQLITE:
        yield lambda: ""
        return
    programs = programs_of_postgres()
    if programs is None:
        raise RigError("PostgreSQL's initdb was not found; `make postgres` says how to install it")
    with running(programs, keeps_commits=True) as server:
        yield server.fresh


async def _measured(size: Size, fresh: Callable[[], str]) -> Report:
    measured = Measured()
    for _, (name, state), (way, how) in product(
        range(size.rounds), size.states().items(), size.ways().items()
    ):
        # A table of many rows follows its acknowledgement, which is empty.
        read = LIST.unanswered() if state.runs else LIST
        rows = fresh()  # of what the bot is compared with, in the same sort of database
        async with (
            serving(fresh()) as world,
            _runs(world, state),
            _targets(world, read, rows) as targets,
        ):
            for variant, outcome in await _all_asked(world, targets, how):
                measured.outcomes[name, variant, way].append(outcome)
    return Report(_figures(measured), [*_aims(measured, size.states())])


@contextlib.asynccontextmanager
async def _runs(world: World, state: State) -> AsyncIterator[None]:
    keys = await started(world, state.runs) if state.runs else []
    changing = flickering(world, keys, CHANGE_SECONDS) if state.changes else None
    async with changing or contextlib.nullcontext():
        yield


@contextlib.asynccontextmanager
async def _targets(world: World, read: Command, rows: str) -> AsyncIterator[Mapping[str, Target]]:
    secret, asked = world.slack.credentials.signing_secret, LIST.unanswered()
    with tempfile.TemporaryDirectory(prefix="quartermaster-bench-") as folder:
        database = rows or str(Path(folder) / "rows.db")
        async with (
            reference("floor", secret, database) as floor,
            reference("bare", secret, database) as bare,
            reference("durable", secret, database) as durable,
            reference("answering", secret, database) as answering,
        ):
            yield {
                _FLOOR: Target(floor, asked),
                _BARE: Target(bare, asked),
                _DURABLE: Target(durable, asked),
                _ANSWERING: Target(answering, asked),
                _READ: Target(server_of(world), read),
                _WRITE: Target(server_of(world), SUBMIT),
            }


async def _all_asked(
    world: World, targets: Mapping[str, Target], how: Mapping[str, Any]
) -> list[tuple[str, Outcome]]:
    """Every target asked in one way, right after each other, as the machine's own pace changes.

    What leaves work behind comes last.
    """
    secret, outcomes, first = world.slack.credentials.signing_secret, [], 1
    for variant, target in targets.items():
        await caught_up(world)
        order = partial(target.asked.order, target.server, secret)
        first += len((await load(order(first=first, **_WARMING_UP))).latencies_ms) + 1
        await caught_up(world)
        outcome = await load(order(first=first, **how))
        first += len(outcome.latencies_ms) + 1
        outcomes.append((variant, outcome))
    return outcomes


def _figures(measured: Measured) -> dict[str, dict[str, float]]:
    return {
        ", ".join(key): {
            "p50_ms": measured.percentile(key, 50),
            "p99_ms": measured.percentile(key, 99),
            "each_second": measured.each_second(key),
            "cpu_ms": measured.cpu_ms(key),
        }
        for key in measured.outcomes
    }


def _aims(measured: Measured, states: Mapping[str, State]) -> Iterator[Aim]:
    for (name, state), asked in product(states.items(), (_READ, _WRITE)):
        ours, bare = (measured.percentile((name, each, _AT_RATE), 99) for each in (asked, _BARE))
        about = f"p99 of {asked} at {_AT_RATE}, {name}, times {_BARE}"
        yield Aim(about, ours / bare, MOST_TIMES_BOLT)
        # The kinder yardstick: a list of runs is an acknowledgement and an answer that follows it.
        like = _ANSWERING if asked == _READ and state.runs else _DURABLE
        for count, beside in product(_CONNECTIONS, (_BARE, like)):
            key, other = (name, asked, f"c={count}"), (name, beside, f"c={count}")
            about = f"{asked} at c={count}, {name}, times {beside}"
            times = measured.each_second(other) / measured.each_second(key)
            yield Aim(f"time of {about}", times, MOST_TIMES_BOLT)
            if not state.changes:  # following runs takes processor time as well
                times = measured.cpu_ms(key) / measured.cpu_ms(other)
                yield Aim(f"processor time of {about}", times, MOST_TIMES_BOLT)
    latencies = [each for outcome in measured.of_bot() for each in outcome.latencies_ms]
    late = sum(each > LATE_MS for each in latencies)
    yield Aim(f"later than 3 s, of {len(latencies)}", late, 0)
    yield Aim("unexpected answers", sum(outcome.bad for outcome in measured.of_bot()), 0)
    yield Aim("answers that did not follow", sum(each.lost for each in measured.of_bot()), 0)


main = command(
    "ack",
    "Acknowledgement of signed commands, compared with bare Bolt.",
    measure,
    [
        click.Option(
            ["--database"],
            type=click.Choice([_SQLITE, _POSTGRESQL]),
            default=_SQLITE,
            show_default=True,
            help="What the bot and the Bolt that commits keep their rows in.",
        )
    ],
)

if __name__ == "__main__":
    main()
