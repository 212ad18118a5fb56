"""A week of daily GPU digests: idle GPUs, borrowed GPUs, and the hour that summer time skips."""

import re
from datetime import UTC, date, datetime, time, timedelta

from playground.settings import Setup
from playground.story.daily_digests import ZONE, change_after, digest_of, is_as_told, week_of
from playground.story.person import Card, Person
from playground.story.steps import is_admitted, submits
from playground.story.story import Story

NOTEBOOK = "quay.io/jupyter/base-notebook"
SETUP = Setup(
    prometheus=True, settings={"training": {"prices": {"per_gpu_hour": {"h100": "2.00"}}}}
)
_MINUTE = timedelta(minutes=1)


async def play(story: Story) -> None:
    """From a Monday to the next, which begins an hour early; the bot sleeps between its scenes."""
    story.allowed_writes |= {"create secrets", "create services"}
    alice, bob, carol = (story.person(name) for name in ("Alice", "Bob", "Carol"))
    for image in ("lane", "sweep"):
        story.trains(f"ghcr.io/acme/{image}", never_ends=True)
    story.trains("ghcr.io/acme/wide", seconds_per_epoch=5 * 3600)
    story.trains("ghcr.io/acme/base", seconds_per_epoch=6 * 3600)
    story.metrics.work("sweep", 0)
    change = change_after(story.world.clock.now().date())
    days = [change + timedelta(days=number) for number in range(-6, 2)]
    await _wakes(story, days[0], "08:00")
    await _is_set(carol)
    await _a_notebook_idles(story, alice, days[0])
    await _is_told(story, days[1])
    sweep = await _a_run_idles(story, bob, days[1])
    await _is_stopped_from(await _is_told(story, days[2]), story, bob, sweep)
    wide = await _gpus_are_borrowed(story, alice, bob, days[2])
    await _nobody_measures(story, days[2])
    await _is_told(story, days[3])
    await alice.is_mentioned("#team-a", "wide succeeded after", thread=wide)
    await _wakes(story, days[3], "06:00")
    story.metrics.come_back()
    for day in days[4:6]:
        await _is_told(story, day)
    await _wakes(story, days[5], "12:00")
    story.metrics.fail("gpu-2", 7, 79)
    await _is_told(story, days[6])
    await _is_told(story, days[7], is_week=True)
    await _is_asked(alice, carol, days)


async def _wakes(story: Story, day: date, at: str) -> None:
    """The bot sleeps until then, and reads what happened meanwhile."""
    there = datetime.combine(day, time.fromisoformat(f"{at}:05"), ZONE)
    await story.time_leaps(there.astimezone(UTC) - story.world.clock.now())
    await story.rest()


async def _is_told(story: Story, day: date, *, is_week: bool = False) -> Card:
    """At half past two; on the day on which there is none, when two becomes three."""
    wanted = datetime.combine(day, time(2, 30), ZONE)
    is_there = wanted.astimezone(UTC).astimezone(ZONE).time() == wanted.time()
    await _wakes(story, day, "02:29" if is_there else "01:59")
    await story.pass_time(2 * _MINUTE)
    if is_week:
        is_as_told(await story.card("#gpu-daily", week_of(day)), day, is_week=True)
    card = await story.card("#gpu-daily", digest_of(day))
    is_as_told(card, day)
    return card


async def _is_set(carol: Person) -> None:
    words = "/gpu digest set --at 02:30 --zone Europe/Berlin --weekly mon"
    await carol.types("#gpu-daily", words)
    await carol.is_told(
        "#gpu-daily gets a digest every day at 02:30 Europe/Berlin:",
        "#gpu-daily gets a digest of the previous week every Monday at 02:30 Europe/Berlin:",
    )


async def _a_notebook_idles(story: Story, alice: Person, day: date) -> None:
    """Nobody works in it for four hours."""
    command = "--image ghcr.io/acme/lane:3.1 --gpus 2 --time 14d -- python train.py"
    await is_admitted(story, await submits(story, alice, "#team-a", "lane", command))
    command = f"--kind interactive --image {NOTEBOOK}:2026-11-17 --gpus 1 --time 8h"
    notebook = await submits(story, alice, "#team-a", "nb", command)
    await is_admitted(story, notebook)
    await _wakes(story, day, "11:44")
    await story.pass_time(2 * _MINUTE)
    said = "nb: its GPUs have been idle since", "It is stopped", "to free them for others"
    notice = await alice.is_mentioned("#team-a", *said, thread=notebook)
    await notice.offers("Keep it for 4h")
    await _wakes(story, day, "12:19")
    await story.pass_time(2 * _MINUTE)
    ended = "nb was stopped by Quartermaster", "Its GPUs were idle for 4h"
    await alice.is_mentioned("#team-a", *ended, thread=notebook)
    await notebook.shows("Stopped after 4h", "Its GPUs were idle for 4h")


async def _a_run_idles(story: Story, bob: Person, day: date) -> Card:
    """Its owner is told, and has it left alone."""
    await _wakes(story, day, "09:00")
    command = "--image ghcr.io/acme/sweep:2.0 --gpus 4 --time 14d -- python sweep.py"
    card = await submits(story, bob, "#team-b", "sweep", command)
    await is_admitted(story, card)
    await _wakes(story, day, "10:09")
    await story.pass_time(2 * _MINUTE)
    said = "sweep: its GPUs have been idle since", "Holding memory does not count as work."
    notice = await bob.is_mentioned("#team-b", *said, thread=card)
    await notice.offers("Leave it alone for 4h", "Stop")
    await bob.types("#team-b", "/gpu idle")
    idle = await bob.is_told(
        "Idle GPUs · 4 allocated and idle", "sweep in team-b: 4 GPUs at 0 % since", "Owner: @Bob"
    )
    if idle is not None:
        await idle.offers("Stop sweep", "Snooze sweep 4 h")
        await bob.clicks(idle, "Snooze sweep 4 h")
        await bob.is_told("sweep")
    return card


async def _is_stopped_from(digest: Card, story: Story, bob: Person, card: Card) -> None:
    said = "sweep: its GPUs have still been idle since"
    await bob.is_mentioned("#team-b", said, thread=card)
    await bob.clicks(digest, "Stop sweep", confirming="Stop sweep?")
    await bob.is_told("Stopping sweep")
    await card.shows("Stopped after 17h")
    await bob.is_mentioned("#team-b", "sweep was stopped by", thread=card)
    await story.rest()


async def _gpus_are_borrowed(story: Story, alice: Person, bob: Person, day: date) -> Card:
    """And taken back, until their owner is done with them."""
    await _wakes(story, day, "09:00")
    command = "--image ghcr.io/acme/wide:1.4 --gpus 6 -- python train.py --epochs 1"
    wide = await submits(story, alice, "#team-a", "wide", command)
    await is_admitted(story, wide)
    await _wakes(story, day, "10:00")
    command = "--image ghcr.io/acme/base:2.0 --gpus 8 -- python train.py --epochs 1"
    base = await submits(story, bob, "#team-b", "base", command)
    await story.reply(
        wide, "wide was preempted. Its GPUs were borrowed", "They went to base of team-b."
    )
    await is_admitted(story, base)
    await _wakes(story, day, "16:02")
    await bob.is_mentioned("#team-b", "base succeeded after 6h", thread=base)
    await is_admitted(story, wide)
    await alice.is_mentioned("#team-a", "wide is running after waiting for 6h", thread=wide)
    return wide


async def _nobody_measures(story: Story, day: date) -> None:
    await _wakes(story, day, "18:00")
    await story.pass_time(3 * _MINUTE)
    story.metrics.go_down()


async def _is_asked(alice: Person, carol: Person, days: list[date]) -> None:
    """What adds up over the week: 149 hours of lane, and 3 of wide with its first try."""
    await alice.types("#team-a", "/gpu status")
    await alice.is_told(
        "GPUs · 2 of 16 allocated",
        "Busy share of allocated GPUs: 90 %",
        "team-a | 2 | 4 | 0 | 90 % | 0 | -",
    )
    await alice.types("#team-a", f"/gpu report --from {days[0]} --to {days[6]} --by run")
    await alice.is_told(
        f"GPUs of team-a, {days[0]} to {days[6]}",
        "Samples of default cover 88.",
        re.compile(r"team-a/lane \| 298\.\d\d \| 268\.\d\d \(90 %\) \| 0\.00 "),
        re.compile(r"team-a/wide \| 18\.\d\d \| 16\.\d\d \(90 %\)"),
        re.compile(r"team-a/nb \| 4\.\d\d \| 0\.00 \(0 %\) \| 4\.\d\d "),
    )
    await carol.types("#gpu-daily", "/gpu digest")
    await carol.is_told("Calculating GPU usage…")
    await carol.is_told(digest_of(days[7]), "Allocated 12 % of 16 GPUs", "46 | ? | 41.4 | 90 %")
