"""Whether `/quota status` cares how many pods a cluster has."""

from collections import defaultdict
from collections.abc import Mapping

from benchmarks.rig.bot import STATUS, server_of, serving
from benchmarks.rig.figures import Aim, Report, command, median, percentile
from benchmarks.rig.load import Outcome
from benchmarks.rig.pods import NAMESPACE, training_pod
from benchmarks.rig.processes import RigError, load
from playground.world import World

FEW, MANY = 10, 10_000
MOST_TIMES_FEW = 1.2
MOST_P99_MS = 50.0
MOST_MEGABYTES = 200.0
_MEGABYTE = 1e6
_RATE = 50.0


async def measure(quick: bool) -> Report:  # noqa: FBT001  # the rig calls it so
    """Two worlds side by side, asked in turn."""
    many, rounds, seconds = (1_000, 2, 1.0) if quick else (MANY, 7, 6.0)
    outcomes: dict[int, list[Outcome]] = defaultdict(list)
    async with serving() as small, serving() as large:
        worlds = {FEW: small, many: large}
        for count, world in worlds.items():
            await _fill(world, count)
            await _ask(world, 0.5, 1)
        for turn in range(rounds):
            for count, world in worlds.items():
                outcomes[count].append(await _ask(world, seconds, 1000 * (turn + 1)))
        resident = {count: world.bot.resident_bytes() for count, world in worlds.items()}
    return _report(outcomes, resident)


async def _ask(world: World, seconds: float, first: int) -> Outcome:
    secret = world.slack.credentials.signing_secret
    outcome = await load(
        STATUS.order(server_of(world), secret, first=first, seconds=seconds, rate=_RATE)
    )
    if outcome.bad:
        raise RigError(f"{outcome.bad} answers were unexpected")
    return outcome


async def _fill(world: World, count: int) -> None:
    """Gives the cluster pods, and restarts the bot so that it has read them all."""
    world.cluster.add_pods(NAMESPACE, count, training_pod())
    await world.bot.stop()
    await world.bot.start()


def _report(outcomes: Mapping[int, list[Outcome]], resident: Mapping[int, int]) -> Report:
    figures = {
        f"{count} pods": {
            "p50_ms": _typical(rounds, 50),
            "p99_ms": _typical(rounds, 99),
            "resident_mb": resident[count] / _MEGABYTE,
        }
        for count, rounds in outcomes.items()
    }
    few, many = figures.values()
    aims = [
        Aim("median time with many pods, times few", many["p50_ms"] / few["p50_ms"],
            MOST_TIMES_FEW),
        Aim("p99 in ms with many pods", many["p99_ms"], MOST_P99_MS),
        Aim("MB resident with many pods", many["resident_mb"], MOST_MEGABYTES),
    ]  # fmt: skip
    return Report(figures, aims)


def _typical(rounds: list[Outcome], percent: float) -> float:
    return median([percentile(each.latencies_ms, percent) for each in rounds])


main = command("quota", "`/quota status` with few and with many pods in the cluster.", measure)

if __name__ == "__main__":
    main()
