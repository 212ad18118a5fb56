"""Two bots share one PostgreSQL, and one of them is killed for good."""

import asyncio
import re
from dataclasses import replace
from functools import partial

import pytest

from playground.ledger import Fault
from playground.slack.people import Message
from playground.world import Options, World
from tests.postgres import PostgresServer
from tests.world.telling import bare, effects, played, side_by_side, told

STORY = "kill-matrix"
MOMENTS = (2, 9, 16)
_SAMPLED = re.compile("GPUs allocated|have not been sampled yet")


def kill_one(world: World, number: int) -> None:
    """Has the first bot die at an effect, and stay dead."""
    world.revives = False
    world.pace.patience_seconds = 300  # the steps of the dead are taken over after 90 s
    world.ledger.by_number[number] = Fault.KILL_AFTER


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.timeout(1800)
def test_second_bot_finishes_what_a_killed_one_began(
    options: Options, postgres_server: PostgresServer
) -> None:
    def given(name: str) -> Options:
        url = postgres_server.fresh()
        return replace(options, out=options.out / name, template=None, database_url=url, bots=2)

    worlds: list[World] = []
    undisturbed = asyncio.run(played(STORY, given("undisturbed"), worlds.append))
    kinds = [effect.split()[1] for effect in effects(worlds[0])]
    assert (kinds.count("create"), kinds.count("patch")) == (1, 2)
    works = [
        (
            f"killed at {number}",
            partial(
                played, STORY, given(f"{number}"), partial(kill_one, number=number), unreliable=True
            ),
        )
        for number in MOMENTS
    ]
    ends = asyncio.run(side_by_side(works, len(works)))
    other = {name: end for name, end in ends.items() if end != undisturbed}
    assert not other, told(other)


def homes(world: World) -> dict[str, list[str]]:
    """What the Home tabs show at the end, without times and what depends on the last sample."""
    texts = {
        who: world.slack.text_of(Message("", "", who, "", view.body["blocks"]))
        for who, view in world.slack.views.homes.items()
    }
    return {
        who: [line for line in bare(text).splitlines()[:-1] if not _SAMPLED.search(line)]
        for who, text in texts.items()
    }


def publishings(world: World) -> int:
    return sum(request.name == "views.publish" for request in world.ledger.requests)


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.timeout(1800)
def test_home_tabs_survive_the_bot_that_publishes(
    options: Options, postgres_server: PostgresServer
) -> None:
    """Requests reach both bots; it dies before or after Slack has a tab, and stays dead."""

    def given(name: str) -> Options:
        url = postgres_server.fresh()
        return replace(options, out=options.out / name, template=None, database_url=url, bots=2)

    worlds: dict[str, World] = {}

    def watch(world: World, name: str, faults: dict[tuple[str, int], Fault]) -> None:
        worlds[name] = world
        world.revives = False
        world.pace.patience_seconds = 300
        world.ledger.by_turn = faults

    kills = {
        "undisturbed": {},
        "before": {("views.publish", 4): Fault.KILL_BEFORE},
        # Not the first for its person, which would have no hash.
        "after": {("views.publish U0ALICE", 2): Fault.KILL_AFTER},
    }
    works = [
        (name, partial(played, "home", given(name), partial(watch, name=name, faults=faults),
                       unreliable=bool(faults)))
        for name, faults in kills.items()
    ]  # fmt: skip
    ends = asyncio.run(side_by_side(works, 2))
    assert not [each for each in ends.values() if isinstance(each, BaseException)], told(ends)
    assert [worlds[name].kills for name in kills] == [0, 1, 1]
    shown = {name: homes(world) for name, world in worlds.items()}
    assert shown["before"] == shown["after"] == shown["undisturbed"]
    # Of what the dead bot published, the other one learns only from Slack's refusal.
    assert "hash_conflict" in worlds["after"].bots[1].log.read_text()
    assert max(map(publishings, worlds.values())) <= publishings(worlds["undisturbed"]) + 5
