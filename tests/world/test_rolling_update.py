"""Two bots on one PostgreSQL are replaced one by one by those of a release with another schema."""

import asyncio
import shutil
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bot.database.revisions import FOLDER, known, newest
from playground.children import ROOT
from playground.opening import opened
from playground.scenarios import kill_matrix
from playground.slack.rates import Rates
from playground.story.story import Story
from playground.world import Options, World
from tests.world.telling import PATIENCE_SECONDS

NEXT = "feedfacecafe"
# What a release may do to a schema that older servers still use: tables, columns that are empty or
# have a default of the server, and indexes. It touches the tables that are written all the time.
MIGRATION = f"""
import sqlalchemy as sa
from alembic import op

revision = '{NEXT}'
down_revision = '{newest(known())}'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table("novelties", sa.Column("id", sa.String(), primary_key=True))
    for table in sa.inspect(op.get_bind()).get_table_names():
        if table in ("alembic_version", "novelties"):
            continue
        op.add_column(table, sa.Column("novelty", sa.String(), nullable=True))
        op.add_column(
            table, sa.Column("novel", sa.Integer(), nullable=False, server_default="7")
        )
        op.create_index(f"ix_novel_{{table}}", table, ["novel"])
"""


def next_release(folder: Path) -> Path:
    """The program with one migration more, as a folder to import it from."""
    for package in ("bot", "handlers", "jobs"):
        shutil.copytree(ROOT / package, folder / package)
    versions = folder / FOLDER.relative_to(ROOT) / "versions"
    (versions / f"20990101_{NEXT}_novelties.py").write_text(MIGRATION)
    return folder


async def updated(world: World, release: Path, rounds: Callable[[], Awaitable[None]]) -> None:
    """What Helm does: the new release's migration, then one pod after the other."""
    for bot in world.bots:
        bot.environment = {**bot.environment, "PYTHONPATH": str(release)}
    await world.bots[1].migrate()
    await rounds()
    for bot in world.bots:
        assert await bot.stop() == 0
        await rounds()
        await bot.start()
        await rounds()


async def told_amid_an_update(options: Options, release: Path) -> None:
    """Tells the story again and again until both bots are of the new release."""
    async with opened(options) as world:
        world.pace.patience_seconds = PATIENCE_SECONDS
        # A bot that has just started does not remember what it asked of Slack before.
        world.slack.rates = Rates(lambda: 20 * time.monotonic())
        await world.start_bots()
        # What Slack sends while a socket closes is not answered; people see that, and repeat it.
        story = Story(world, unreliable=True)
        told = 0

        async def a_round() -> None:
            before = told
            while told == before:
                await world.changes.wait(0.05)

        async with asyncio.TaskGroup() as together:
            updating = together.create_task(updated(world, release, a_round))
            while not updating.done():
                await kill_matrix.play_round(story, told + 1)
                told += 1
        await story.ends()
        created = [each.about for each in world.ledger.requests if each.name == "create jobs"]
        assert len(created) == len(set(created)) == told
        assert [bot.errors() for bot in world.bots] == [[], []]


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.timeout(1800)
def test_old_bots_work_on_a_newer_schema(
    options: Options, postgres_url: str, tmp_path: Path
) -> None:
    two = replace(options, template=None, database_url=postgres_url, bots=2)
    asyncio.run(told_amid_an_update(two, next_release(tmp_path / "release")))
