"""Submissions that race evictions: never a run without its data, never an eviction under one."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from sqlmodel import Session

from bot import holds
from bot.audit import Actor
from bot.database.database import Database
from bot.datasets.caches.evictions.marking import Mark, mark
from bot.datasets.caches.tables import CACHE, Cache, CacheIntent, CachePhase
from bot.datasets.tables import Version
from bot.errors import ConflictError
from bot.slack.grammar.container_parameters import DataMount
from tests.bot.datasets.caches.rows import add_cache, add_dataset, add_version
from tests.bot.ground import START, Outside
from tests.bot.training.rig import Rig, settings

ROUNDS = 200
DATA = (DataMount("chest-xray@v3", "/data"),)


@pytest.fixture
def rig(own_database: Database, outside: Outside) -> Rig:
    return Rig(own_database, outside, settings(limits={"live_runs": 2 * ROUNDS}))


def test_submission_and_eviction_never_both_win(rig: Rig) -> None:
    version_id = rig.do(lambda s: add_version(s, add_dataset(s, is_open=True)).id)
    with ThreadPoolExecutor(2) as pool:
        for number in range(ROUNDS):
            _race(rig, pool, version_id, f"run-{number}")


def _race(rig: Rig, pool: ThreadPoolExecutor, version_id: str, name: str) -> None:
    """One of the two is refused, and the rows say the same as the answers."""
    cache_id = rig.do(lambda session: _cached(session, version_id))
    start = Barrier(2)
    submitted = pool.submit(_submit, rig, name, start)
    is_marked, run_id = pool.submit(_mark, rig, cache_id, start).result(), submitted.result()

    def look(session: Session) -> tuple[list[str], str]:
        held = [each.subject_id for each in holds.on(session, CACHE, cache_id, START)]
        return held, session.get_one(Cache, cache_id).wanted

    assert is_marked is (run_id is None)
    assert rig.do(look) == (([], CacheIntent.EVICT) if is_marked else ([run_id], CacheIntent.READY))
    rig.do(lambda session: _over(session, cache_id))


def _cached(session: Session, version_id: str) -> str:
    return add_cache(session, session.get_one(Version, version_id), storage_class="shared").id


def _over(session: Session, cache_id: str) -> None:
    cache = session.get_one(Cache, cache_id)
    cache.phase, cache.ended_at = CachePhase.EVICTED, START


def _submit(rig: Rig, name: str, start: Barrier) -> str | None:
    start.wait(60)
    try:
        return rig.submit(name, data=DATA)
    except ConflictError:
        return None


def _mark(rig: Rig, cache_id: str, start: Barrier) -> bool:
    asked = Mark(Actor("T0QM", team="team-a"), "Nobody used it.")
    start.wait(60)
    try:
        rig.do(lambda s: mark(s, s.get_one(Cache, cache_id), asked, START))
    except ConflictError:
        return False
    return True
