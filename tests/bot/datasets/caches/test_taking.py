"""Who may hold a cache, and that it is never held and given up for eviction at once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from sqlalchemy import update
from sqlmodel import Session, col

from bot import holds
from bot.database.database import Database
from bot.datasets.caches.finding import uses
from bot.datasets.caches.tables import CACHE, Cache, CacheIntent
from bot.datasets.caches.using import take_hold
from bot.datasets.card import around, version_card
from bot.datasets.tables import Version
from bot.errors import ConflictError
from bot.slack.card import Reply
from bot.slack.text import as_text
from tests.bot.datasets.caches.rows import add_cached
from tests.bot.ground import START
from tests.databases import opened_by_processes

ROUNDS = 50
RUN = ("run", "run-1")


def test_who_takes_a_cache_holds_it(database: Database) -> None:
    def work(session: Session) -> tuple[holds.Hold, ...]:
        cache = add_cached(session)
        take_hold(session, cache, RUN, "run lane of team-a", START)
        take_hold(session, cache, RUN, "run lane of team-a", START)
        return tuple(holds.on(session, CACHE, cache.id, START))

    (hold,) = database.transaction(work)
    assert (hold.subject_kind, hold.subject_id) == RUN
    assert (hold.why, hold.until) == ("run lane of team-a", None)


def test_a_version_names_who_read_it(database: Database) -> None:
    def work(session: Session) -> tuple[list[str], int, str]:
        cache = add_cached(session)
        for number in range(1, 8):
            taken_at = START + timedelta(hours=number)
            take_hold(
                session, cache, ("run", f"run-{number}"), f"run lane#{number} of team-a", taken_at
            )
        take_hold(
            session, cache, ("run", "run-7"), "run lane#7 of team-a", START + timedelta(hours=7)
        )
        newest, count = uses(session, cache.version_id)
        version = session.get_one(Version, cache.version_id)
        card = version_card(version, around(session, version, None), START)
        return [each.who for each in newest], count, as_text(Reply(card=card))

    newest, count, card = database.transaction(work)
    assert (newest, count) == ([f"run lane#{number} of team-a" for number in (7, 6, 5, 4, 3)], 7)
    (line,) = [each for each in card.splitlines() if each.startswith("  Read by")]
    assert line.split(maxsplit=2)[2] == (
        "run lane#7 of team-a 2026-11-21 19:00 UTC, run lane#6 of team-a 2026-11-21 18:00 UTC,"
        " run lane#5 of team-a 2026-11-21 17:00 UTC, run lane#4 of team-a 2026-11-21 16:00 UTC,"
        " run lane#3 of team-a 2026-11-21 15:00 UTC and 2 more"
    )


def test_what_is_to_go_cannot_be_taken(database: Database) -> None:
    def work(session: Session) -> None:
        take_hold(session, add_cached(session, wanted=CacheIntent.EVICT), RUN, "", START)

    with pytest.raises(ConflictError) as refusal:
        database.transaction(work)
    assert refusal.value.message == "chest-xray@v3 is being evicted from standard."
    assert refusal.value.hint == "Cache it again when its card shows Evicted."


def test_a_cache_is_never_held_and_marked(database: Database) -> None:
    cache_id = database.transaction(lambda session: add_cached(session).id)
    ends = set()
    with opened_by_processes(database, 2) as (one, other), ThreadPoolExecutor(2) as pool:
        for _ in range(ROUNDS):
            database.transaction(lambda session: _anew(session, cache_id))
            start = Barrier(2)
            held = pool.submit(_take, one, cache_id, start)
            marked = pool.submit(_mark, other, cache_id, start)
            ends.add((held.result(), marked.result()))
    assert ends <= {(True, False), (False, True)}


def _anew(session: Session, cache_id: str) -> None:
    holds.release(session, *RUN)
    session.get_one(Cache, cache_id).wanted = CacheIntent.READY


def _take(database: Database, cache_id: str, start: Barrier) -> bool:
    start.wait(60)
    try:
        database.transaction(lambda s: take_hold(s, s.get_one(Cache, cache_id), RUN, "", START))
    except ConflictError:
        return False
    return True


def _mark(database: Database, cache_id: str, start: Barrier) -> bool:
    start.wait(60)

    def work(session: Session) -> bool:
        if holds.on(session, CACHE, cache_id, START):
            return False
        marked = session.connection().execute(
            update(Cache)
            .where(
                col(Cache.id) == cache_id,
                col(Cache.wanted) == CacheIntent.READY,
                col(Cache.ended_at).is_(None),
            )
            .values(wanted=CacheIntent.EVICT)
        )
        return marked.rowcount == 1

    return database.transaction(work)
