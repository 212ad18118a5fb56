"""How fast commands are acknowledged, beside Bolt that does nothing and Bolt that keeps a row."""

import contextlib
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.rig.bot import LIST, SUBMIT, Command, caught_up, port_of, serving
from benchmarks.rig.figures import Aim, Report, command, median, percentile
from benchmarks.rig.live_runs import live_runs
from benchmarks.rig.load import Outcome
from benchmarks.rig.processes import load, reference
from playground.world import World

Key = tuple[str, str, str]

LATE_MS = 3000.0
MOST_TIMES_BOLT = 4.0
_RATE = 50.0
_AT_RATE = f"{_RATE:g}/s"
_WARMING_UP: Mapping[str, Any] = {"connections": 4, "seconds": 0.5}
_CONNECTIONS = (1, 16, 64)
_COMPARED = ("c=16", "c=64")
_BARE, _DURABLE, _FLOOR = "bare Bolt", "bare Bolt + INSERT", "load generator"
_ANSWERING = "bare Bolt + respond"
_READ, _WRITE = "/train list", "/train submit"


@dataclass(frozen=True)
class Size:
    """How much is measured: rounds, the length of their parts, and how many runs are live."""

    rounds: int
    open_seconds: float
    closed_seconds: float
    runs: int

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
class Target:
    """Something that answers, and what is asked of it."""

    port: int
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

    def of_bot(self) -> Iterator[Outcome]:
        """All that came of asking the bot."""
        for (_, variant, _), outcomes in self.outcomes.items():
            if variant in {_READ, _WRITE}:
                yield from outcomes


async def measure(quick: bool) -> Report:  # noqa: FBT001  # the rig calls it so
    """Rounds of idle and busy worlds: a fresh one for each way of asking."""
    size = QUICK if quick else FULL
    measured = Measured()
    states = {"idle": 0, f"{size.runs} live runs": size.runs}
    for _, (state, runs), (way, how) in product(
        range(size.rounds), states.items(), size.ways().items()
    ):
        # A table of many rows follows its acknowledgement, which is empty.
        read = LIST.unanswered() if runs else LIST
        async with serving() as world, _busy(world, runs), _targets(world, read) as targets:
            for variant, outcome in await _all_asked(world, targets, how):
                measured.outcomes[state, variant, way].append(outcome)
    return Report(_figures(measured), [*_aims(measured, states)])


@contextlib.asynccontextmanager
async def _busy(world: World, runs: int) -> AsyncIterator[None]:
    async with live_runs(world, runs) if runs else contextlib.nullcontext():
        yield


@contextlib.asynccontextmanager
async def _targets(world: World, read: Command) -> AsyncIterator[Mapping[str, Target]]:
    secret, asked = world.slack.credentials.signing_secret, LIST.unanswered()
    with tempfile.TemporaryDirectory(prefix="quartermaster-bench-") as folder:
        database = Path(folder) / "rows.db"
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
                _READ: Target(port_of(world), read),
                _WRITE: Target(port_of(world), SUBMIT),
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
        order = partial(target.asked.order, target.port, secret)
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
        }
        for key in measured.outcomes
    }


def _aims(measured: Measured, states: Mapping[str, int]) -> Iterator[Aim]:
    for state, runs in states.items():
        for asked in (_READ, _WRITE):
            bare = measured.percentile((state, _BARE, _AT_RATE), 99)
            ours = measured.percentile((state, asked, _AT_RATE), 99)
            name = f"p99 of {asked} at {_AT_RATE}, {state}, times bare Bolt"
            yield Aim(name, ours / bare, MOST_TIMES_BOLT)
            # A list of runs is an acknowledgement and an answer that follows it.
            beside = _ANSWERING if asked == _READ and runs else _DURABLE
            for way in _COMPARED:
                reached = measured.each_second((state, beside, way))
                each_second = measured.each_second((state, asked, way))
                name = f"time of {asked} at {way}, {state}, times {beside}"
                yield Aim(name, reached / each_second, MOST_TIMES_BOLT)
    latencies = [each for outcome in measured.of_bot() for each in outcome.latencies_ms]
    late = sum(each > LATE_MS for each in latencies)
    yield Aim(f"later than 3 s, of {len(latencies)}", late, 0)
    yield Aim("unexpected answers", sum(outcome.bad for outcome in measured.of_bot()), 0)
    yield Aim("answers that did not follow", sum(each.lost for each in measured.of_bot()), 0)


main = command("ack", "Acknowledgement of signed commands, compared with bare Bolt.", measure)

if __name__ == "__main__":
    main()
