"""Runs that never stay as they are, so that the bot's watches and controllers have work."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from benchmarks.rig.bot import Command, server_of
from benchmarks.rig.load import Order
from benchmarks.rig.processes import RigError, load
from playground.cluster.control.kubelet import STATIC
from playground.cluster.control.pod_status import Shown, report, running, waiting
from playground.cluster.objects.kinds import POD, Object
from playground.cluster.objects.store import Key
from playground.world import World

CHANGE_SECONDS = 5.0
_SUBMITTED_A_SECOND = 50
_START_SECONDS = 600.0
_TEAM = "team-a"
_RUN = Command(
    "U0ALICE",
    "C0TEAMA",
    "/train",
    "submit live-{n} --image ghcr.io/acme/live:1 --gpus 0 --cpu 100m --memory 1Gi"
    " -- sleep infinity",
    "Submitted run `live-",
)


@dataclass
class Flicker:
    """How often a run has changed its state so far."""

    changes: int = 0


async def started(world: World, count: int, run: Command = _RUN) -> list[Key]:
    """The pods of so many runs of team-a, which run and stay so."""
    asked = missing = count
    while missing:  # a machine that does much else refuses some
        missing = (await load(_order(world, run, missing, asked - missing))).bad
        asked += missing
    if not await world.cluster.until(lambda: len(_running(world)) >= count, _START_SECONDS):
        raise RigError(f"{len(_running(world))} of {count} runs started running")
    keys = _running(world)
    still = {"metadata": {"annotations": {STATIC: "true"}}}
    for namespace, name in keys:
        world.cluster.patch("pods", name, still, namespace)
    return keys


@contextlib.asynccontextmanager
async def flickering(world: World, keys: list[Key], seconds: float) -> AsyncIterator[Flicker]:
    """Has each of these pods stop or start running once in so many seconds, evenly spread."""
    flicker = Flicker()
    task = asyncio.create_task(_flicker(world, keys, seconds, flicker))
    try:
        yield flicker
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def _order(world: World, run: Command, count: int, first: int) -> Order:
    how = {"seconds": count / _SUBMITTED_A_SECOND, "rate": _SUBMITTED_A_SECOND, "first": first}
    return run.order(server_of(world), world.slack.credentials.signing_secret, **how)


def _running(world: World) -> list[Key]:
    pods = world.cluster.list("pods", _TEAM)
    return [(_TEAM, pod["metadata"]["name"]) for pod in pods if pod["status"]["phase"] == "Running"]


async def _flicker(world: World, keys: list[Key], seconds: float, flicker: Flicker) -> None:
    loop = asyncio.get_running_loop()
    begun, runs = loop.time(), False
    while True:
        for key in keys:
            show(world, key, runs=runs)
            flicker.changes += 1
            due = begun + flicker.changes * seconds / len(keys)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(due):
                    await asyncio.Event().wait()
        runs = not runs


def show(world: World, key: Key, *, runs: bool) -> None:
    """Has the pod's container run, or not run."""
    inside = world.cluster.inside
    now = world.clock.now()
    shown = Shown(running(now)) if runs else waiting("ContainerCreating")
    phase = "Running" if runs else "Pending"

    def edit(pod: Object) -> None:
        names = (container["name"] for container in pod["spec"]["containers"])
        report(pod, dict.fromkeys(names, shown), phase, now)

    with inside.lock:
        inside.world.change(POD, key, edit)
    world.cluster.settle()
