"""A process that has loaded what the bot loads and, if told so, makes a digest; says how fast."""

import json
import sys
import time
from datetime import timedelta
from pathlib import Path

import bot.app  # all that is in memory of a bot that has nothing to do
from benchmarks.rig.gpu_past import END, TEAMS
from bot.charts.picture import as_png
from bot.config import DIGEST_SECTIONS, Settings
from bot.database.database import Database
from bot.datasets.usage.service import UsageService
from bot.gpus.digests.card import digest_card
from bot.gpus.digests.gathering import DigestScope, Gathering
from bot.gpus.digests.tables import Period
from bot.gpus.samples.usage import Window, latest

_ROUNDS = 5


def settings() -> Settings:
    """One cluster and all teams."""
    teams = {f"team-{n}": {"namespace": f"team-{n}", "queue": "q"} for n in range(TEAMS)}
    found = {"workspace": "T0QM", "clusters": {"default": {"engine": "none"}}, "teams": teams}
    return Settings.model_validate(found)


def main() -> None:
    """The address of the database, and how many days the digest is of: 0 makes none."""
    url, days = sys.argv[1], int(sys.argv[2])
    database, known = Database(url), settings()
    gathering = Gathering(lambda: known, UsageService(lambda: known, {}))
    database.read(lambda session: latest(session, "default"))
    took = [_made(database, gathering, days) for _ in range(_ROUNDS if days else 0)]
    print(json.dumps({"idle": bot.app.__name__, "ms": took, "most_mb": _most_megabytes()}))


def _most_megabytes() -> float:
    """The most memory since this program began; what the system tells a parent counts its own."""
    words = Path("/proc/self/status").read_text("ascii").split()
    return int(words[words.index("VmHWM:") + 1]) * 1024 / 1e6


def _made(database: Database, gathering: Gathering, days: int) -> float:
    """How long it took to gather it and to draw its charts, in milliseconds."""
    begun = time.perf_counter()
    window = Window(END - timedelta(days=days), END)
    period = Period.DAY if days == 1 else Period.WEEK
    wish = DigestScope(window, period, "UTC", None, frozenset(DIGEST_SECTIONS))
    figures = database.read(lambda session: gathering.figures(session, wish, END))
    card = digest_card(figures, window.begun, window.ended, "UTC")
    for chart in card.charts:
        as_png(chart)
    return 1000 * (time.perf_counter() - begun)


if __name__ == "__main__":
    main()
