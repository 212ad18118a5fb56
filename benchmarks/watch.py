"""What a large cluster costs: its first reading, each event, and answers from the view."""

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.rig.bot import LIST, STATUS, WHY, Command, cpu_seconds, server_of, serving
from benchmarks.rig.figures import Aim, Report, command, median, percentile
from benchmarks.rig.live_runs import CHANGE_SECONDS, flickering, started
from benchmarks.rig.load import Outcome
from benchmarks.rig.pods import NAMESPACE, training_pod
from benchmarks.rig.processes import RigError, listed, load
from playground.cluster.story import cluster_queue
from playground.settings import KUBECONFIG
from playground.world import World

MOST_SECONDS = 2.0
MOST_MEGABYTES = 200.0
MOST_P99_MS = 50.0
LEAST_TIMES_LESS = 40.0
_MEGABYTE = 1e6
_RATE = 50.0
_EVENTS_A_SECOND = 400.0
_ASKED: Mapping[str, Command] = {"/quota status": STATUS, "/train list": LIST, "/train why": WHY}
_TYPED, _OURS = "typed", "ours"


@dataclass(frozen=True)
class Size:
    """How much is measured: what is in the cluster, the rounds, and the length of their parts."""

    pods: int
    queues: int
    rounds: int
    seconds: float


FULL = Size(pods=10_000, queues=1_000, rounds=3, seconds=6)
QUICK = Size(pods=1_000, queues=100, rounds=1, seconds=2)


async def measure(quick: bool) -> Report:  # noqa: FBT001  # the rig calls it so
    """One large world, in which the bot is restarted for each round."""
    size = QUICK if quick else FULL
    answers: dict[str, list[Outcome]] = {name: [] for name in _ASKED}
    lists: dict[str, list[float]] = {_TYPED: [], _OURS: []}
    first, worked = list[float](), list[float]()
    resident, events = list[float](), list[float]()
    async with serving() as world:
        await started(world, 1)
        _fill(world, size)
        for turn in range(size.rounds):
            for kind, seconds in lists.items():
                seconds.append(await _listed(world, kind, size))
            first.append(await _first_answer(world, 10_000 * turn))
            worked.append(cpu_seconds(world))
            for number, (name, asked) in enumerate(_ASKED.items(), start=1):
                begin = 10_000 * turn + 1_000 * number
                answers[name].append(await _ask(world, asked, size.seconds, begin))
            resident.append(world.bot.resident_bytes() / _MEGABYTE)
            events.append(await _cpu_of_an_event(world, size))
    figures = {
        "start": {
            "first_answer_s": median(first),
            "longest_s": max(first),
            "cpu_s": median(worked),
        },
        "resident": {"most_mb": max(resident)},
        "watch": {"cpu_ms_an_event": 1000 * median(events)},
        **{f"list, {kind}": {"cpu_s": median(seconds)} for kind, seconds in lists.items()},
        **{name: _percentiles(outcomes) for name, outcomes in answers.items()},
    }
    return Report(figures, [*_aims(figures)])


def _fill(world: World, size: Size) -> None:
    """Gives the cluster pods and queues; the bot is restarted before it is asked."""
    world.cluster.add_pods(NAMESPACE, size.pods, training_pod())
    inside = world.cluster.inside
    kind = world.cluster.kind("clusterqueues")
    with inside.lock:
        for number in range(size.queues):
            name = f"queue-{number:04d}"
            inside.operations.create(kind, "", cluster_queue(name, "8", cohort=name))
    world.cluster.settle()


async def _listed(world: World, kind: str, size: Size) -> float:
    """The processor seconds of one list of all pods."""
    count, seconds = await listed(kind, world.options.out / KUBECONFIG)
    if count < size.pods:
        raise RigError(f"{count} of {size.pods} pods were listed")
    return seconds


async def _first_answer(world: World, first: int) -> float:
    """The seconds from the start of the bot to a right answer about quotas."""
    await world.bot.stop()
    await world.bot.start()
    outcome = await _ask(world, STATUS, 1 / _RATE, first)
    return world.bot.started_in[-1] + outcome.latencies_ms[0] / 1000


async def _ask(world: World, asked: Command, seconds: float, first: int) -> Outcome:
    secret = world.slack.credentials.signing_secret
    order = asked.order(server_of(world), secret, first=first, seconds=seconds, rate=_RATE)
    outcome = await load(order)
    if outcome.bad:
        raise RigError(f"{outcome.bad} answers were unexpected")
    return outcome


async def _cpu_of_an_event(world: World, size: Size) -> float:
    """The processor seconds that the bot takes for one change of a pod that is not ours."""
    pods = world.cluster.list("pods", NAMESPACE)[: round(_EVENTS_A_SECOND * CHANGE_SECONDS)]
    keys = [(NAMESPACE, pod["metadata"]["name"]) for pod in pods]
    idle = await _cpu_while(world, size.seconds)
    async with flickering(world, keys, len(keys) / _EVENTS_A_SECOND) as flicker:
        busy = await _cpu_while(world, size.seconds)
    return max(0.0, busy - idle) / flicker.changes


async def _cpu_while(world: World, seconds: float) -> float:
    before = cpu_seconds(world)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.Event().wait()
    return cpu_seconds(world) - before


def _percentiles(outcomes: list[Outcome]) -> dict[str, float]:
    return {
        f"p{percent}_ms": median([percentile(each.latencies_ms, percent) for each in outcomes])
        for percent in (50, 99)
    }


def _aims(figures: Mapping[str, Mapping[str, float]]) -> list[Aim]:
    times_less = figures[f"list, {_TYPED}"]["cpu_s"] / figures[f"list, {_OURS}"]["cpu_s"]
    return [
        Aim("seconds from start to first answer", figures["start"]["first_answer_s"], MOST_SECONDS),
        Aim("MB resident", figures["resident"]["most_mb"], MOST_MEGABYTES),
        Aim("processor time of a list, times the typed one", 1 / times_less, 1 / LEAST_TIMES_LESS),
        *(Aim(f"p99 in ms of {name}", figures[name]["p99_ms"], MOST_P99_MS) for name in _ASKED),
    ]


main = command(
    "watch", "A cluster with many pods and queues: listing, watching and answering.", measure
)

if __name__ == "__main__":
    main()
