"""The bot is killed at each thing it does to create and remove a team; the story ends the same."""

import asyncio

import pytest

from playground.ledger import Fault
from playground.world import Options
from tests.world.telling import before_and_after, ends_same

_KINDS = ("namespaces", "rolebindings", "clusterqueues", "localqueues")
KILLS = {
    "created": before_and_after([(f"create {kind}", 1) for kind in _KINDS]),
    "removed": before_and_after([(f"delete {kind}", 1) for kind in _KINDS]),
    "posts": {("chat.postMessage", number): Fault.KILL_AFTER for number in range(1, 4)},
}
KILLS_ON_RUNAI = {
    "created": before_and_after([("create project", 1)]),
    "removed": before_and_after([("delete project", 1)]),
}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_projects_of_runai_outlive_kills(options: Options) -> None:
    asyncio.run(ends_same("team-runai", options, KILLS_ON_RUNAI))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_teams_outlive_kills_of_the_bot(options: Options) -> None:
    asyncio.run(ends_same("team", options, KILLS))
