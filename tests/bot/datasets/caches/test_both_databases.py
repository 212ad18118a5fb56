"""What lists and sweeps ask of a database, on SQLite and on PostgreSQL."""

from datetime import datetime, timedelta
from functools import partial

from sqlmodel import Session, col, select

from bot.config import Settings
from bot.database.database import Database
from bot.datasets.caches import finding as caching
from bot.datasets.caches.evictions.claim_usage import ClaimSighting, ClaimUse, Mounts, forget, note
from bot.datasets.caches.evictions.sweep import CacheUsage, sweep
from bot.datasets.caches.refreshing import refresh
from bot.datasets.caches.tables import Cache, CacheIntent
from bot.datasets.finding import newest_of_each, visible
from bot.datasets.tables import Version
from tests.bot.datasets.caches.keeping import settings
from tests.bot.datasets.caches.rows import add_cache, add_cached, add_dataset, add_version
from tests.bot.ground import START


def test_lists_read_newest_versions_and_caches(database: Database) -> None:
    def fill(session: Session) -> None:
        dataset = add_dataset(session)
        versions = [add_version(session, dataset, name, f"sha256:{name}") for name in ("v1", "v2")]
        add_cache(session, versions[0])
        add_dataset(session, "imagenet")

    database.transaction(fill)

    def read(session: Session) -> dict[str, tuple[str, int, list[str]]]:
        datasets = visible(session, "team-a")
        newest = newest_of_each(session, datasets)
        caches = caching.live_of_each(session, [each.id for each in datasets])
        return {
            each.name: (newest[each.id].version.name, newest[each.id].versions,
                        [cache.reference for cache in caches[each.id]])
            for each in datasets
            if each.id in newest
        }  # fmt: skip

    assert database.read(read) == {"chest-xray": ("v2", 2, ["chest-xray@v1"])}


def test_looks_for_new_content_begin_and_go(database: Database) -> None:
    database.transaction(add_cached)
    told = settings().model_dump(exclude_unset=True)
    told["datasets"] |= {"refresh": "1d"}
    policy = Settings.model_validate(told)

    def look(session: Session, days: int) -> list[tuple[int, str]]:
        refresh(policy, session, START + timedelta(days=days))
        rows = session.exec(
            select(Version).where(col(Version.is_refresh).is_(True)).order_by(col(Version.id))
        ).all()
        seen = [((each.asked_at - START).days, each.phase) for each in rows]
        for row in rows:
            row.phase, row.ended_at, row.is_cleared = "unchanged", row.asked_at, True
        return seen

    seen = [database.transaction(partial(look, days=days)) for days in (0, 1, 1, 40)]
    assert seen == [
        [],
        [(1, "asked")],
        [(1, "unchanged")],
        [(40, "asked")],
    ]


def test_mounts_of_claims_are_kept_and_dropped(database: Database) -> None:
    claims = {"uid-1": ("team-a", "one"), "uid-2": ("team-a", "two")}

    def look(session: Session, hours: int) -> list[tuple[str, datetime, datetime | None]]:
        now = START + timedelta(hours=hours)
        note(session, "default", Mounts(claims, {("team-a", "one"): now} if hours else {}), now)
        if hours == 3:
            forget(session, "default", {"uid-1"})
        rows = session.exec(select(ClaimSighting).order_by(col(ClaimSighting.uid))).all()
        return [(each.uid, each.seen_at, each.mounted_at) for each in rows]

    seen = [database.transaction(partial(look, hours=hours)) for hours in (0, 2, 3)]
    first, third = START + timedelta(hours=2), START + timedelta(hours=3)
    assert seen == [
        [("uid-1", START, None), ("uid-2", START, None)],
        [("uid-1", START, first), ("uid-2", START, None)],
        [("uid-1", START, third)],
    ]


def test_a_sweep_notes_announces_and_marks(database: Database) -> None:
    def fill(session: Session) -> str:
        cache = add_cached(session)
        cache.keep_seconds = 86_400
        return cache.id

    cache_id, policy = database.transaction(fill), settings()
    use = ClaimUse(START + timedelta(hours=2), "pod loader in datasets")
    wanted = []
    for hours in range(1, 28):
        now = START + timedelta(hours=hours)
        seen = CacheUsage("default", {cache_id: use} if hours >= 2 else {}, {})
        database.transaction(partial(sweep, seen=seen, settings=policy, now=now))
        wanted.append(_row(database, cache_id).wanted == CacheIntent.EVICT)
    cache = _row(database, cache_id)
    assert wanted.index(True) == 25  # that is, after 26 hours
    assert (cache.used_by, cache.leaves_at) == (
        "pod loader in datasets",
        START + timedelta(hours=26),
    )


def _row(database: Database, cache_id: str) -> Cache:
    return database.read(lambda session: session.get_one(Cache, cache_id))
