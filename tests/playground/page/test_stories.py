"""Stories for newcomers: which there are, and that they wait for who reads."""

import asyncio
from pathlib import Path

from playground import scenarios
from playground.page.stories import OFFERED, Reading, offered
from tests.playground.page.shown import Shown, shown


def test_offered_stories_are_scenarios() -> None:
    told = offered()
    assert [each["name"] for each in told] == list(OFFERED)
    assert [each["about"] for each in told] == [scenarios.summaries()[name] for name in OFFERED]


def test_reader_pauses_and_presses_on() -> None:
    async def read() -> None:
        rung: list[None] = []
        reading = Reading(lambda: rung.append(None))
        await reading.wait(0)
        reading.pause()
        paused = asyncio.ensure_future(reading.wait(0))
        done, _ = await asyncio.wait({paused}, timeout=0.05)
        assert not done
        reading.resume()
        await paused
        long = asyncio.ensure_future(reading.wait(3600))
        done, _ = await asyncio.wait({long}, timeout=0.05)
        assert not done
        reading.skip()
        await long
        reading.announce({"does": "clicks"})
        assert (reading.step, reading.steps) == ({"does": "clicks"}, 1)
        assert len(rung) == 3

    asyncio.run(read())


def test_wrong_stories_are_refused_with_suggestions(tmp_path: Path) -> None:
    async def play(page: Shown) -> None:
        assert await page.post("stories/play", name="frist-run") == (
            404,
            {"error": "there is no scenario frist-run; did you mean first-run?"},
        )
        assert await page.post("stories/pause") == (
            409,
            {"error": "no story is played that could pause"},
        )

    shown(tmp_path, play)
