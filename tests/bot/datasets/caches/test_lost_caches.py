"""Caches whose volumes Trident does not find any more: nothing deletes them meanwhile."""

from dataclasses import replace

import pytest
from sqlmodel import Session

from bot.datasets.caches.finding import holder
from bot.datasets.caches.tables import CacheIntent, CachePhase
from bot.datasets.caches.using import take
from bot.datasets.finding import Reference
from bot.datasets.tables import Version
from bot.errors import ConflictError
from tests.bot.datasets.caches.filling import Filling
from tests.bot.datasets.caches.keeping import Keeping
from tests.bot.datasets.caches.rows import add_cache
from tests.bot.datasets.caches.test_using import USER
from tests.bot.volumes.losing import STAYS, find, lose, said


def claim_of(keeping: Keeping, cache_id: str) -> str:
    return keeping.get(cache_id).claim_name


def test_eviction_by_people_is_refused(keeping: Keeping) -> None:
    cache_id = keeping.cache()
    claim = claim_of(keeping, cache_id)
    lose(keeping, claim, "datasets")
    with pytest.raises(ConflictError) as caught:
        keeping.mark(cache_id)
    assert (caught.value.message, caught.value.hint) == said(claim, "evicted")


def test_eviction_under_way_waits_and_goes_on(keeping: Keeping) -> None:
    cache_id = keeping.cache()
    keeping.mark(cache_id)
    lose(keeping, claim_of(keeping, cache_id), "datasets")
    keeping.pass_time(minutes=5)
    cache = keeping.get(cache_id)
    assert (cache.wanted, cache.obstacle) == (CacheIntent.EVICT, STAYS)
    assert keeping.effects() == []
    find(keeping)
    keeping.pass_time(minutes=5)
    assert (keeping.get(cache_id).phase, keeping.gone()) == (CachePhase.EVICTED, True)


def test_lost_cache_that_nobody_uses_stays(keeping: Keeping) -> None:
    cache_id = keeping.cache(keep_seconds=3600)
    lose(keeping, claim_of(keeping, cache_id), "datasets")
    for _ in range(30):
        keeping.sweep()
        keeping.pass_time(hours=1)
    assert (keeping.get(cache_id).wanted, keeping.effects()) == (CacheIntent.READY, [])


def test_nobody_joins_a_lost_cache(filling: Filling) -> None:
    cache_id = filling.cache()
    claim = filling.found(cache_id).claim_name
    lose(filling, claim, "datasets")
    with pytest.raises(ConflictError) as caught:
        filling.ask()
    assert (caught.value.message, caught.value.hint) == said(claim, "used by more teams or runs")


def test_folders_are_not_read_of_a_lost_cache(filling: Filling) -> None:
    cache_id = filling.cache()
    wanted = None, filling.found(cache_id).cluster

    def holding() -> str | None:
        version = filling.found(cache_id).version_id
        found = filling.database.read(lambda s: holder(s, version, wanted, ("train/",)))
        return found.id if found is not None else None

    assert holding() == cache_id
    lose(filling, filling.found(cache_id).claim_name, "datasets")
    assert holding() is None


def test_runs_read_another_cache_than_the_lost_one(keeping: Keeping) -> None:
    cache = keeping.get(keeping.cache())
    lose(keeping, cache.claim_name, "datasets")
    user, now = replace(USER, team="team-a", namespace="datasets"), keeping.clock.now()

    def read(session: Session) -> str:
        wanted = [Reference("chest-xray", folders=("train/",))]
        return take(session, wanted, user, keeping.words, now)[0].cache_id

    with pytest.raises(ConflictError) as caught:
        keeping.do(read)
    assert caught.value.message == said(cache.claim_name, "mounted by a new run")[0]

    def add_other(session: Session) -> str:
        version = session.get_one(Version, cache.version_id)
        return add_cache(session, version, part="train/").id

    other = keeping.do(add_other)
    assert keeping.do(read) == other


def test_claim_of_a_failed_cache_waits_too(filling: Filling) -> None:
    cache_id = filling.cache()
    filling.pass_time(seconds=30)
    lose(filling, filling.found(cache_id).claim_name, "datasets")
    filling.world.delete("jobs", filling.found(cache_id).job_name, "datasets")
    filling.pass_time(minutes=5)
    assert filling.found(cache_id).phase == CachePhase.FAILED
    assert len(filling.claims()) == 1
    find(filling)
    filling.pass_time(minutes=5)
    assert filling.claims() == []
