"""What the bot takes in a large company: 200 teams with 5,000 live runs in 50,000 pods.

The cluster has 2,000 ClusterQueues, and 500 people look at their Home tabs. Aims are absolute
here: they say how large a company one process of the bot serves.
"""

import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from benchmarks.rig.bot import (
    LIST,
    STATUS,
    SUBMIT,
    WHY,
    Command,
    cpu_seconds,
    opened_for,
    server_of,
)
from benchmarks.rig.company import (
    RUN,
    Copies,
    LiveRun,
    Size,
    add_pods,
    get_known,
    setup,
    unsaid,
)
from benchmarks.rig.figures import Aim, Report, command, median, percentile
from benchmarks.rig.live_runs import flickering, started
from benchmarks.rig.load import Outcome
from benchmarks.rig.processes import RigError, Server, load, reference
from benchmarks.rig.truth import lateness, pause
from playground.world import World

MOST_ACK_MS = 50.0
MOST_ANSWER_MS = 100.0
MOST_CHANGE_MS = 3.0
MOST_MEGABYTES = 500.0
MOST_START_SECONDS = 5.0
MOST_LATE_SECONDS = 120.0
_MEGABYTE = 1e6
_RATE = 50.0
_CHANGES_A_SECOND = 20.0
# Slack takes 40 updates of ours in a minute, a part of which refreshes cards that stay true.
_CHANGES_A_MINUTE = 24.0
_CALM = 0.35  # so much of a processor the bot takes at most once it has seen all there is
_CALM_SECONDS, _CALM_LOOKS = 5.0, 60
_CARD_LOOKS = 600
_SAID_LOOKS, _FEW = 600, 3
_READ: Mapping[str, Command] = {
    "/quota status": STATUS,
    "/train list": LIST.unanswered(),
    "/train why": WHY,
}
_ACKNOWLEDGED = "/train submit"
_BARE = "bare Bolt"


@dataclass(frozen=True)
class Scale:
    """The size of the company, and how much is measured."""

    company: Size
    rounds: int
    seconds: float
    following_seconds: float
    changing: int
    cards: int


FULL = Scale(
    Size(teams=200, people=500, runs=5_000, pods=50_000, queues=2_000),
    rounds=3,
    seconds=6,
    following_seconds=40,
    changing=40,
    cards=48,
)
QUICK = Scale(
    Size(teams=20, people=50, runs=200, pods=2_000, queues=200),
    rounds=1,
    seconds=2,
    following_seconds=10,
    changing=10,
    cards=6,
)


@dataclass
class Measured:
    """What has been measured."""

    start_seconds: list[float] = field(default_factory=list)
    start_cpu_seconds: list[float] = field(default_factory=list)
    asked_at_start: list[int] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)
    idle_percent: list[float] = field(default_factory=list)
    change_ms: list[float] = field(default_factory=list)
    asked_a_change: list[float] = field(default_factory=list)
    outcomes: dict[str, list[Outcome]] = field(default_factory=dict)
    late_seconds: list[float] = field(default_factory=list)
    refused: int = 0
    bad: int = 0


async def measure(quick: bool) -> Report:  # noqa: FBT001  # the rig calls it so
    """One large company, whose bot is restarted for each round."""
    scale = QUICK if quick else FULL
    measured = Measured()
    async with opened_for(setup(scale.company)) as world, _bare(world) as bare:
        runs = await _filled(world, scale.company)
        for turn in range(scale.rounds):
            await _start(world, measured)
            await _read(world, bare, scale, turn, measured)
            await _follow(world, runs[: scale.changing], scale, measured)
            measured.megabytes.append(world.bot.resident_bytes() / _MEGABYTE)
        await _until_all_is_said(world)
        # Any runs but those that flickered.
        chosen = Random(1).sample(runs[scale.changing :], scale.cards)  # noqa: S311  # no secret
        measured.late_seconds = await lateness(world, chosen, _CHANGES_A_MINUTE)
        for turn in range(scale.rounds):
            await _acknowledge(world, bare, scale, turn, measured)
        measured.megabytes.append(world.bot.resident_bytes() / _MEGABYTE)
        measured.refused = sum(code == "ratelimited" for _, code in world.slack.refusals)
    return Report(_figures(measured), _aims(measured))


@contextlib.asynccontextmanager
async def _bare(world: World) -> AsyncIterator[Server]:
    async with reference("bare", world.slack.credentials.signing_secret, "") as server:
        yield server


async def _filled(world: World, size: Size) -> list[LiveRun]:
    """Has one run start, and copies it; the bot does not run afterwards."""
    await world.bot.migrate()
    get_known(world, size)
    await world.bot.start()
    await started(world, 1, RUN)
    await _until_shown(world)
    await world.bot.stop()
    runs = Copies(world, size).make()
    add_pods(world, size)
    world.cluster.switch_kueue(on=False)  # else the playground's takes most of the machine
    return runs


async def _until_shown(world: World) -> None:
    """Returns once the card of the first run says that it is running, and all else is said."""
    for _ in range(_CARD_LOOKS):
        texts = map(world.slack.text_of, world.slack.channels["C0TEAMA"].messages)
        if any("Running" in text for text in texts) and not unsaid(world):
            return
        await pause(0.1)
    raise RigError("the card of the first run does not say that it is running")


async def _until_all_is_said(world: World) -> None:
    """Returns once Slack shows the present state of all cards but those that changed just now."""
    for _ in range(_SAID_LOOKS):
        if unsaid(world) < _FEW:
            return
        await pause(1)
    raise RigError(f"{unsaid(world)} messages are still to be sent")


async def _start(world: World, measured: Measured) -> None:
    """Starts the bot again, and lets it see all there is."""
    await world.bot.stop()
    before = _asked(world)
    await world.bot.start()
    measured.start_seconds.append(world.bot.started_in[-1])
    measured.start_cpu_seconds.append(cpu_seconds(world))
    measured.asked_at_start.append((_asked(world) - before).total())
    measured.idle_percent.append(100 * await _calm(world))


async def _calm(world: World) -> float:
    """Waits until the bot has caught up; the part of a processor it takes from then on."""
    for _ in range(_CALM_LOOKS):
        taken = await _cpu_while(world, _CALM_SECONDS) / _CALM_SECONDS
        if taken <= _CALM:
            return taken
    raise RigError("the bot does not catch up after its start")


async def _read(world: World, bare: Server, scale: Scale, turn: int, measured: Measured) -> None:
    for number, (name, asked) in enumerate(_READ.items(), start=1):
        first = 10_000 * turn + 1_000 * number
        await _ask(world, bare, _BARE, LIST.unanswered(), (scale, first, measured))
        await _ask(world, server_of(world), name, asked, (scale, first, measured))


async def _follow(world: World, runs: Sequence[LiveRun], scale: Scale, measured: Measured) -> None:
    """The processor time of the bot for a change of a run, beyond what it takes anyway.

    It takes that in bursts, as when it compares all Home tabs every 10 s or so.
    """
    seconds = scale.following_seconds
    idle = await _cpu_while(world, seconds)
    before = _asked(world)
    keys = [run.pod for run in runs]
    async with flickering(world, keys, len(keys) / _CHANGES_A_SECOND) as flicker:
        busy = await _cpu_while(world, seconds)
    measured.change_ms.append(1000 * max(0.0, busy - idle) / flicker.changes)
    measured.asked_a_change.append((_asked(world) - before).total() / flicker.changes)
    await _calm(world)


async def _acknowledge(
    world: World, bare: Server, scale: Scale, turn: int, measured: Measured
) -> None:
    """A submission each time, and beside it Bolt that does nothing; what it began goes on."""
    first = 100_000 + 10_000 * turn
    await _ask(world, bare, _BARE, LIST.unanswered(), (scale, first, measured))
    await _ask(world, server_of(world), _ACKNOWLEDGED, SUBMIT, (scale, first, measured))


async def _ask(
    world: World, server: Server, name: str, asked: Command, how: tuple[Scale, int, Measured]
) -> None:
    scale, first, measured = how
    secret = world.slack.credentials.signing_secret
    order = asked.order(server, secret, first=first, seconds=scale.seconds, rate=_RATE)
    outcome = await load(order)
    measured.bad += outcome.bad
    measured.outcomes.setdefault(name, []).append(outcome)


def _asked(world: World) -> Counter[str]:
    """How often the bot has asked the API server for what."""
    requests = world.ledger.requests
    return Counter(each.name for each in requests if each.service == "kubernetes")


async def _cpu_while(world: World, seconds: float) -> float:
    before = cpu_seconds(world)
    await pause(seconds)
    return cpu_seconds(world) - before


def _latencies(outcome: Outcome) -> list[float]:
    """Until people see something: what follows an empty answer, where it is empty."""
    return outcome.followed_ms or outcome.latencies_ms


def _figures(measured: Measured) -> dict[str, dict[str, float]]:
    asked = {
        name: {
            f"p{percent}_ms": median([percentile(_latencies(each), percent) for each in outcomes])
            for percent in (50, 99)
        }
        | {
            "cpu_ms": median(
                [1000 * each.cpu_seconds / len(each.latencies_ms) for each in outcomes]
            )
        }
        for name, outcomes in measured.outcomes.items()
    }
    return {
        "start": {
            "median_s": median(measured.start_seconds),
            "longest_s": max(measured.start_seconds),
            "cpu_s": median(measured.start_cpu_seconds),
            "requests": median(measured.asked_at_start),
        },
        "resident": {"most_mb": max(measured.megabytes)},
        "idle": {"percent_of_a_processor": median(measured.idle_percent)},
        **asked,
        "a change of state": {
            "cpu_ms": median(measured.change_ms),
            "requests": median(measured.asked_a_change),
        },
        "cards": {
            "late_p50_s": percentile(measured.late_seconds, 50),
            "latest_s": max(measured.late_seconds),
        },
    }


def _aims(measured: Measured) -> list[Aim]:
    figures = _figures(measured)
    return [
        Aim(f"p99 in ms of an acknowledged {_ACKNOWLEDGED}", figures[_ACKNOWLEDGED]["p99_ms"],
            MOST_ACK_MS),
        *(Aim(f"p99 in ms of {name}", figures[name]["p99_ms"], MOST_ANSWER_MS) for name in _READ),
        Aim("processor time in ms for a change", figures["a change of state"]["cpu_ms"],
            MOST_CHANGE_MS),
        Aim("MB resident", figures["resident"]["most_mb"], MOST_MEGABYTES),
        Aim("seconds from start to ready", figures["start"]["longest_s"], MOST_START_SECONDS),
        Aim("seconds until a card is true", figures["cards"]["latest_s"], MOST_LATE_SECONDS),
        Aim("calls that Slack refused for their number", measured.refused, 0),
        Aim("unexpected answers", measured.bad, 0),
    ]  # fmt: skip


main = command("scale", "A large company: start, memory, answers, changes and cards.", measure)

if __name__ == "__main__":
    main()
