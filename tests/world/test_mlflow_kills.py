"""The bot dies at what it writes to MLflow; no run is there twice, and no value is missing."""

import asyncio

import pytest

from playground.ledger import Fault
from playground.world import Options
from tests.world.telling import before_and_after, ends_same

KILLS: dict[str, dict[tuple[str, int], Fault]] = {
    "undisturbed": {},
    "beginning": before_and_after([("mlflow experiments/create", 1), ("mlflow runs/create", 1)]),
    "writing": before_and_after([("mlflow runs/log-batch", 2), ("mlflow runs/log-batch", 5)]),
    "end": before_and_after([("mlflow runs/update", 1)]),
}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_kills_at_an_export_change_nothing(options: Options) -> None:
    asyncio.run(ends_same("mlflow", options, KILLS))
