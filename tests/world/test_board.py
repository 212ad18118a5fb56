"""The Grafana board over a real bot, which a real Prometheus scrapes."""

import asyncio
from datetime import timedelta
from pathlib import Path

from playground.opening import opened
from playground.story.story import Story
from playground.world import Options
from tests.deploy.board import Asked, port_of
from tests.patience import patient
from tests.prometheus import Scraped, prometheus

# There are no datasets, and no source says how busy GPUs are.
UNKNOWN = {
    "Space of caches", "Caches by phase", "GPUs", "Idle GPUs by team", "Age of GPU samples",
}  # fmt: skip


def test_the_board_shows_a_real_bot(options: Options, tmp_path: Path) -> None:
    async def play() -> set[str]:
        async with opened(options) as world:
            await world.start_bots()
            story = Story(patient(world))
            alice = story.person("Alice")
            await alice.types("#team-a", "/train list")
            await alice.is_told("There are no runs.")
            await world.pass_time(timedelta(minutes=3))  # GPUs are sampled each minute
            return await asyncio.to_thread(_looked_at, world.bot.url)

    def _looked_at(url: str) -> set[str]:
        labels = "namespace: quartermaster"
        with prometheus(tmp_path, Scraped(), exporter=port_of(url), labels=labels) as server:
            asked = Asked(server)
            asked.until_scraped(3)
            return asked.empty()

    assert asyncio.run(play()) == UNKNOWN
