"""Who is first: an eviction and a run that needs the same cache never both win."""

import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from sqlmodel import Session

from bot import holds
from bot.audit import Actor
from bot.database.database import Database
from bot.datasets.caches.evictions.marking import Mark, mark
from bot.datasets.caches.lifecycle.service import KeepingService, Pinning
from bot.datasets.caches.tables import CACHE, Cache, CacheIntent
from bot.datasets.caches.using import take_hold
from bot.errors import ConflictError
from bot.people.access import Caller, ChannelPlace, Role
from tests.bot.datasets.caches.rows import add_cached
from tests.bot.datasets.rig import SETTINGS
from tests.bot.ground import ALICE, START, TEAM_A
from tests.databases import opened_by_processes

Work = Callable[[Session, str], None]
PATIENCE_SECONDS = 60


def make(database: Database, number: int) -> str:
    return database.transaction(lambda session: add_cached(session, f"set-{number}").id)


def evict(session: Session, cache_id: str) -> None:
    asked = Mark(Actor("T0QM", ALICE, team="team-a"), "Alice asked for it.")
    mark(session, session.get_one(Cache, cache_id), asked, START)


def submit(session: Session, cache_id: str) -> None:
    run = ("run", f"run-of-{cache_id}")
    take_hold(session, session.get_one(Cache, cache_id), run, "run lane of team-a", START)


def pin(session: Session, cache_id: str) -> None:
    service = KeepingService(lambda: SETTINGS, "/{}".format)
    team_a = Caller("T0QM", ALICE, TEAM_A, ChannelPlace.TEAM, "team-a", frozenset({Role.MEMBER}))
    asked = Pinning("CVPR", START + timedelta(days=14))
    service.pin(session, team_a, session.get_one(Cache, cache_id), asked, START)


def attempt(database: Database, start: Barrier, work: Work, cache_id: str) -> bool:
    """Whether it was first; both begin at the same moment."""
    start.wait(PATIENCE_SECONDS)
    try:
        database.transaction(lambda session: work(session, cache_id))
    except ConflictError:
        return False
    return True


@pytest.mark.parametrize(("keep", "rounds"), [(submit, 200), (pin, 50)])
def test_whoever_is_first_wins_alone(database: Database, keep: Work, rounds: int) -> None:
    chance, winners = random.Random(7), Counter[str]()  # noqa: S311 - which of two threads is first
    with opened_by_processes(database, 2) as processes, ThreadPoolExecutor(2) as pool:
        for number in range(rounds):
            cache_id, start = make(database, number), Barrier(2)
            works = [("evicted", evict), ("taken", keep)]
            chance.shuffle(works)
            tries = {
                name: pool.submit(attempt, own, start, work, cache_id)
                for own, (name, work) in zip(processes, works, strict=True)
            }
            won = {name for name, each in tries.items() if each.result(PATIENCE_SECONDS)}
            assert len(won) == 1
            winners.update(won)
            assert held_or_leaving(database, cache_id) == (won == {"taken"}, won == {"evicted"})
    assert sum(winners.values()) == rounds


def held_or_leaving(database: Database, cache_id: str) -> tuple[bool, bool]:
    def work(session: Session) -> tuple[bool, bool]:
        held = holds.on(session, CACHE, cache_id, START)
        return bool(held), session.get_one(Cache, cache_id).wanted == CacheIntent.EVICT

    return database.read(work)


def test_the_second_reads_who_was_first(database: Database) -> None:
    first, second = make(database, 1), make(database, 2)
    database.transaction(lambda session: submit(session, first))
    with pytest.raises(ConflictError) as caught:
        database.transaction(lambda session: evict(session, first))
    assert caught.value.message == (
        "set-1@v3 cannot be evicted from standard. It is needed by run lane of team-a."
    )
    database.transaction(lambda session: evict(session, second))
    with pytest.raises(ConflictError) as caught:
        database.transaction(lambda session: submit(session, second))
    assert caught.value.message == "set-2@v3 is being evicted from standard."
