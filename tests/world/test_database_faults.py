"""Two bots share a PostgreSQL that fails, and die themselves; nothing is lost or doubled."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from random import Random

import psycopg
import pytest

from playground.opening import opened
from playground.scenarios import kill_matrix
from playground.story.story import Story
from playground.world import Options, World
from tests.postgres import PostgresServer, programs_of_postgres, running
from tests.seeds import database_faults
from tests.world.telling import PATIENCE_SECONDS

_LOOK_SECONDS = 0.05
_STALL = "LOCK TABLE due, messages IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(4)"


@dataclass
class Faults:
    """What happens to the database and to the bots, each after some more requests to the world."""

    server: PostgresServer
    url: str
    random: Random
    wanted: int
    happened: list[str] = field(default_factory=list)

    async def happen(self, world: World) -> None:
        """Returns once so many have happened, each kind in its turn, and both bots live."""
        kinds: list[tuple[str, Callable[[World], Awaitable[None]]]] = [
            ("cut", self._cut),
            ("killed", self._kill),
            ("restarted", self._restart),
            ("stalled", self._stall),
        ]
        for number in range(self.wanted):
            await self._some_requests(world)
            name, happens = kinds[number % len(kinds)]
            await happens(world)
            self.happened.append(name)
            world.changes.ring()

    async def _some_requests(self, world: World) -> None:
        until = len(world.ledger.requests) + self.random.randint(1, 25)
        while len(world.ledger.requests) < until:
            await world.changes.wait(_LOOK_SECONDS)

    async def _cut(self, _world: World) -> None:
        assert await asyncio.to_thread(self.server.disconnect_all, self.url) > 0

    async def _restart(self, _world: World) -> None:
        await asyncio.to_thread(self.server.restart)

    async def _kill(self, world: World) -> None:
        bot = self.random.choice(world.bots)
        await world.kill_bot(bot)
        await self._some_requests(world)
        await bot.start()

    async def _stall(self, _world: World) -> None:
        """Statements of others time out."""

        def stall() -> None:
            with psycopg.connect(self.url) as connection:
                connection.execute(_STALL)

        await asyncio.to_thread(stall)


async def told_amid_faults(options: Options, faults: Faults) -> None:
    """Tells the story again and again until all has happened."""
    async with opened(options) as world:
        world.pace.patience_seconds = 2 * PATIENCE_SECONDS
        await world.start_bots()
        story = Story(world, unreliable=True)
        rounds = 0
        async with asyncio.TaskGroup() as together:
            happening = together.create_task(faults.happen(world))
            while not (happening.done() and rounds):
                rounds += 1
                await kill_matrix.play_round(story, rounds)
        await story.ends()
        created = [each.about for each in world.ledger.requests if each.name == "create jobs"]
        assert len(set(created)) == rounds


@pytest.fixture
def lasting_server() -> Iterator[PostgresServer]:
    """A server of its own, whose commits outlive its restarts."""
    programs = programs_of_postgres()
    if programs is None:
        pytest.skip("PostgreSQL's initdb was not found; `make test` says how to install it")
    with running(programs, keeps_commits=True) as server:
        yield server


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.timeout(20_000)
def test_nothing_is_lost_while_databases_fail(
    options: Options, lasting_server: PostgresServer, request: pytest.FixtureRequest
) -> None:
    url, wanted = lasting_server.fresh(), database_faults(request.config)
    faults = Faults(lasting_server, url, Random(options.seed), wanted)  # noqa: S311  # repeatable
    two = replace(options, template=None, database_url=url, bots=2)
    asyncio.run(told_amid_faults(two, faults))
    print(f"seed {options.seed}: {', '.join(faults.happened)}")  # noqa: T201  # make kills shows it
    assert len(faults.happened) == wanted
