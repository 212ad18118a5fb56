"""People work while everything fails at random: what was acknowledged is done once, and true."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from playground.world import Options
from tests.seeds import soak_hours
from tests.soak.disk import Disk
from tests.soak.soak import SETUP, soaked


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_nothing_is_lost_while_everything_fails(
    options: Options, disk: Disk | None, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    folder = disk.folder if disk else tmp_path
    url = f"sqlite:///{folder}/quartermaster.db"
    there = replace(options, setup=SETUP, template=None, database_url=url)
    figures = asyncio.run(soaked(there, soak_hours(request.config), disk))
    print(figures.report())  # noqa: T201  # make soak shows it
    assert figures.growth() == ""
    assert figures.acknowledged > figures.commands / 4
