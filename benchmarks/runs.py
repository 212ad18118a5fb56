"""Whether following live runs, and asking about them, costs more where many runs have ended."""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks.rig.bot import LIST, SHOW, Command, caught_up, cpu_seconds, server_of, serving
from benchmarks.rig.figures import Aim, Report, command, median, percentile
from benchmarks.rig.finished import copy, finish_one
from benchmarks.rig.live_runs import flickering, started
from benchmarks.rig.load import Outcome
from benchmarks.rig.processes import RigError, load
from playground.cluster.objects.store import Key
from playground.world import World

NONE, MANY = 0, 10_000
MOST_TIMES_NONE = 1.2
_RATE = 20.0
_CHANGES_A_SECOND = 20.0
_WARM_SECONDS = 1.0
_ASKED: Mapping[str, Command] = {"list": LIST, "show": SHOW}


@dataclass(frozen=True)
class Size:
    """How much is measured: rounds, the length of their parts, and how many runs there are."""

    rounds: int
    seconds: float
    live: int
    finished: int


FULL = Size(rounds=3, seconds=8, live=500, finished=MANY)
QUICK = Size(rounds=1, seconds=3, live=50, finished=1_000)


@dataclass
class Measured:
    """What all rounds with as many ended runs have shown."""

    asked: dict[str, list[Outcome]] = field(default_factory=lambda: defaultdict(list))
    change_cpu_ms: list[float] = field(default_factory=list)

    def figures(self) -> dict[str, float]:
        """Medians over the rounds."""
        latencies = {
            f"{name}_p{percent}_ms": median([percentile(o.latencies_ms, percent) for o in outcomes])
            for name, outcomes in self.asked.items()
            for percent in (50, 99)
        }
        return {**latencies, "cpu_ms_a_change": median(self.change_cpu_ms)}


async def measure(quick: bool) -> Report:  # noqa: FBT001  # the rig calls it so
    """One world whose bot is started in turn on a database without and with many ended runs."""
    size = QUICK if quick else FULL
    measured = {NONE: Measured(), size.finished: Measured()}
    async with serving() as world:
        ended = await finish_one(world)
        keys = await started(world, size.live)
        turns = list(measured.items())
        for turn in range(size.rounds):
            turns.reverse()  # what comes first in one round is last in the next
            for count, into in turns:
                await world.bot.stop()
                copy(world, ended, count)
                await world.bot.start()
                await _round(world, keys, (size.seconds, 20_000 * turn + count), into)
    return _report(measured)


async def _round(world: World, keys: list[Key], how: tuple[float, int], into: Measured) -> None:
    seconds, first = how
    await _ask(world, LIST, _WARM_SECONDS, first)
    await caught_up(world)
    before = cpu_seconds(world)
    async with flickering(world, keys, len(keys) / _CHANGES_A_SECOND) as flicker:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.Event().wait()
    await caught_up(world)
    into.change_cpu_ms.append(1000 * (cpu_seconds(world) - before) / flicker.changes)
    for number, (name, asked) in enumerate(_ASKED.items(), start=1):
        into.asked[name].append(await _ask(world, asked, seconds, first + 1_000 * number))


async def _ask(world: World, asked: Command, seconds: float, first: int) -> Outcome:
    secret = world.slack.credentials.signing_secret
    order = asked.order(server_of(world), secret, first=first, seconds=seconds, rate=_RATE)
    outcome = await load(order)
    if outcome.bad:
        raise RigError(f"{outcome.bad} answers were unexpected")
    return outcome


def _report(measured: Mapping[int, Measured]) -> Report:
    figures = {f"{count} ended runs": each.figures() for count, each in measured.items()}
    none, many = figures.values()
    aims = [
        Aim(f"{name} with many ended runs, times none", many[name] / none[name], MOST_TIMES_NONE)
        for name in ("list_p50_ms", "show_p50_ms", "cpu_ms_a_change")
    ]
    return Report(figures, aims)


main = command("runs", "Live runs with no ended runs and with many.", measure)

if __name__ == "__main__":
    main()
