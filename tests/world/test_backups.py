"""A backup is taken while the bot works, much happens, and the bot goes on from the backup."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from playground.children import ROOT
from playground.opening import opened
from playground.story.person import Card
from playground.story.steps import approves, asks_for_gpus, is_admitted, is_put_back, submits
from playground.story.story import Story
from playground.world import Options, World
from tests.patience import patient
from tests.postgres import PostgresServer, programs_of_postgres
from tests.world.telling import PATIENCE_SECONDS

COMMAND = "--image ghcr.io/acme/lane:3.1 --gpus 1 -- python train.py"
CHANNEL = "C0TEAMA"
RETRY_SECONDS = 5

Program = Callable[..., Awaitable[str]]


async def program(*words: str | Path, **environment: str) -> str:
    """What a program prints; it must succeed."""
    process = await asyncio.create_subprocess_exec(
        *map(str, words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={"PYTHONPATH": str(ROOT), **environment},
    )
    printed, _ = await process.communicate()
    assert process.returncode == 0, printed.decode()
    return printed.decode()


async def quartermaster(world: World, command: str, *words: str | Path) -> str:
    """What a command prints beside the bot of this world."""
    config = ("--config", world.bot.config)
    return await program(
        sys.executable, "-m", "bot", command, *config, *words, **world.bot.environment
    )


def cards(world: World, name: str) -> list[str]:
    """The states of the cards of a run in #team-a."""
    texts = (
        world.slack.text_of(message)
        for message in world.slack.channels[CHANNEL].messages
        if not message.is_reply and message.viewer is None and not message.deleted
    )
    heads = (text.splitlines()[0] for text in texts)
    return [head for head in heads if f" {name} · " in head]


async def submitted_unseen(story: Story, name: str) -> None:
    """Submits a run whose card Slack does not take yet."""
    story.world.slack.faults.limited["chat.postMessage"] = RETRY_SECONDS
    alice = story.person("Alice")
    await alice.types("#team-a", f"/train submit {name} {COMMAND}")
    await alice.is_told(f"Submitted run {name} with")
    await story.cluster_has("jobs", "team-a", name, count=1)
    assert cards(story.world, name) == []


async def lives_on(story: Story) -> Card:
    """What happens after the backup: a card is posted, a run is stopped, one is submitted."""
    story.world.slack.faults.limited.clear()
    await story.card("#team-a", "edge")
    alice = story.person("Alice")
    later = await submits(story, alice, "#team-a", "later", COMMAND)
    await alice.types("#team-a", "/train stop lane")
    await alice.is_told("Stopping lane")
    await story.cluster_has("jobs", "team-a", "lane", count=0)
    return later


async def lives(story: Story, seconds_per_epoch: float) -> tuple[Card, Card, Card]:
    """A run goes on for hours, and team-a has two more GPUs for one.

    The cards of the run and of the override, in the team's channel and where it was decided.
    """
    alice, carol = story.person("Alice"), story.person("Carol")
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=seconds_per_epoch)
    lane = await submits(story, alice, "#team-a", "lane", COMMAND)
    await is_admitted(story, lane)
    await lane.shows("Running for")
    own, request = await asks_for_gpus(
        story,
        alice,
        '+2 --for 1h --reason "deadline"',
        title="Quota override for team-a: +2 h100",
        receipt="Requested for team-a: nominal quota 4 → 6 GPUs of h100, for 1h",
    )
    await approves(story, carol, request, own)
    return lane, own, request


async def rehearse(
    world: World, back_up: Callable[[], Awaitable[None]], restore: Callable[[], Awaitable[None]]
) -> None:
    """Backup, life, restore: nothing is doubled, and each card says what is true."""
    world.pace.patience_seconds = PATIENCE_SECONDS
    await world.start_bots()
    story = Story(patient(world))
    lane, own, request = await lives(story, seconds_per_epoch=3600)
    await submitted_unseen(story, "edge")
    await back_up()
    await lives_on(story)
    await world.bot.stop()
    jobs = story.objects("jobs", "team-a")
    await restore()
    begun = len(world.ledger.requests)
    await world.bot.start()
    await lane.shows("Deleted outside Quartermaster")
    await story.pass_time(timedelta(hours=1, minutes=1))
    await is_put_back(story, request, own)
    assert story.objects("jobs", "team-a") == jobs
    assert [len(cards(world, name)) for name in ("lane", "edge", "later")] == [1, 1, 1]
    assert "Succeeded in" in cards(world, "edge")[0]
    effects = [each.name for each in world.ledger.requests[begun:]]
    assert "create jobs" not in effects


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_restored_sqlite_doubles_nothing(options: Options, tmp_path: Path) -> None:
    copy = tmp_path / "backup.db"

    async def play() -> None:
        async with opened(options) as world:

            async def back_up() -> None:
                printed = await quartermaster(world, "backup", copy)
                assert printed == (
                    f"Wrote {copy} ({copy.stat().st_size:,} bytes). It has been checked.\n"
                )

            async def restore() -> None:
                printed = await quartermaster(world, "restore", copy)
                assert printed.endswith("The database is ready. Start the server.\n")

            await rehearse(world, back_up, restore)

    asyncio.run(play())


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.timeout(1800)
def test_a_restored_postgresql_doubles_nothing(
    options: Options, tmp_path: Path, postgres_server: PostgresServer
) -> None:
    url, programs = postgres_server.fresh(), programs_of_postgres()
    assert programs is not None
    dump = tmp_path / "quartermaster.dump"

    async def back_up() -> None:
        words = ("--format=custom", "--no-owner", f"--file={dump}", url)
        await program(programs / "pg_dump", *words)

    async def play() -> None:
        async with opened(replace(options, template=None, database_url=url)) as world:

            async def restore() -> None:
                words = ("--no-owner", "--clean", "--if-exists", f"--dbname={url}", dump)
                await program(programs / "pg_restore", *words)
                printed = await quartermaster(world, "restore")
                assert printed == "The database is ready. Start the server.\n"

            await rehearse(world, back_up, restore)

    asyncio.run(play())
