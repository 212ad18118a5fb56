"""What others need of caches: what they name is resolved, held, shared, and told how far it is."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import Session

from bot import holds
from bot.database.database import Database
from bot.datasets.caches import using
from bot.datasets.caches.shares import service
from bot.datasets.caches.tables import CACHE, Cache, CacheIntent, CachePhase, CacheShare, SharePhase
from bot.datasets.caches.using import DataReadiness, Taken, User
from bot.datasets.finding import reference_of
from bot.datasets.fsx.tables import Import
from bot.errors import ConflictError, NotFoundError
from tests.bot.datasets.caches.rows import (
    DIGEST,
    SIZE,
    add_cache,
    add_cached,
    add_dataset,
    add_version,
    only_cache,
)
from tests.bot.datasets.rig import SETTINGS
from tests.bot.ground import START
from tests.databases import create_tables

USER = User(
    subject=("run", "run-1"),
    why="run lane of team-b",
    team="team-b",
    cluster="default",
    namespace="team-b",
    caching=("default",),
    reach=("default",),
    settings=SETTINGS,
)
HINT = "`/dataset cache chest-xray@v3` copies it to fast storage, once for everyone."


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    url = f"sqlite:///{tmp_path}/test.db"
    create_tables(url)
    database = Database(url)
    yield database
    database.close()


def words(text: str) -> str:
    return f"/{text}"


def take(database: Database, text: str = "chest-xray@v3", user: User = USER) -> Taken:
    asked = reference_of(text)
    return database.transaction(lambda s: using.take(s, [asked], user, words, START))[0]


def refusal(database: Database, text: str = "chest-xray@v3", user: User = USER) -> tuple[str, str]:
    with pytest.raises((ConflictError, NotFoundError)) as caught:
        take(database, text, user)
    return caught.value.message, caught.value.hint


def readiness(database: Database, taken: Taken) -> DataReadiness:
    return database.transaction(lambda s: using.readiness(s, taken.cache_id, taken.claim))


def change(database: Database, **fields: Any) -> None:
    def work(session: Session) -> None:
        cache = only_cache(session)
        for name, value in fields.items():
            setattr(cache, name, value)

    database.transaction(work)


def test_a_version_is_held_and_shared(database: Database) -> None:
    cache_id = database.transaction(lambda session: add_cached(session).id)
    taken = take(database)

    def work(session: Session) -> tuple[CacheShare, str]:
        (hold,) = holds.on(session, CACHE, cache_id, START)
        (share,) = service.live(session, cache_id)
        return share, hold.why

    share, why = database.transaction(work)
    assert taken == Taken("chest-xray@v3", DIGEST, cache_id, share.claim_name)
    assert (share.namespace, why) == ("team-b", "run lane of team-b")
    assert share.claim_name == f"chest-xray-v3-{share.id[-10:]}"


def test_a_folder_is_below_the_files(database: Database) -> None:
    cache_id = database.transaction(add_cached).id
    taken = take(database, "chest-xray/train/cats")
    assert (taken.reference, taken.folder, taken.digest) == (
        "chest-xray@v3/train/cats/",
        "ready/files/train/cats",
        DIGEST,
    )

    def import_it(session: Session) -> None:
        session.add(
            Import(
                cache_id=cache_id,
                file_system="fs-1",
                repository="s3://lake/",
                root="/lake",
                objects="s3://lake/chest-xray/",
                folder="lake/chest-xray",
            )
        )

    database.transaction(import_it)
    assert take(database, "chest-xray@v3/train/").folder == "train"
    assert take(database).folder == "."


def test_namespaces_share_once_however_many_use(database: Database) -> None:
    database.transaction(add_cached)
    first, second = take(database), take(database, user=replace(USER, subject=("run", "run-2")))
    assert first == second
    other = take(database, user=replace(USER, namespace="team-c"))
    assert other.claim != first.claim


def test_whose_runs_read_it_hears_of_it(database: Database) -> None:
    cache_id = database.transaction(add_cached).id
    take(database)
    take(database, user=replace(USER, subject=("run", "run-2")))
    take(database, user=replace(USER, team="team-a", subject=("run", "run-3")))
    cache = database.transaction(lambda session: session.get_one(Cache, cache_id))
    assert (cache.team, cache.teams) == ("team-a", ["team-b"])


def test_the_own_namespace_needs_no_share(database: Database) -> None:
    cache = database.transaction(add_cached)
    taken = take(database, user=replace(USER, namespace="datasets"))
    assert taken.claim == cache.claim_name
    assert database.transaction(lambda session: list(service.live(session, cache.id))) == []
    assert readiness(database, taken) == DataReadiness()


def test_no_version_means_the_newest(database: Database) -> None:
    def work(session: Session) -> None:
        dataset = add_dataset(session, is_open=True)
        add_cache(session, add_version(session, dataset, "v1"))
        add_cache(session, add_version(session, dataset, "v2", "sha256:b"))

    database.transaction(work)
    taken = take(database, "chest-xray")
    assert (taken.reference, taken.digest) == ("chest-xray@v2", "sha256:b")


def test_a_ready_cache_is_preferred(database: Database) -> None:
    def work(session: Session) -> str:
        version = add_version(session, add_dataset(session, is_open=True))
        add_cache(session, version, storage_class="slow", phase=CachePhase.FILLING)
        return add_cache(session, version).id

    assert database.transaction(work) == take(database).cache_id


def test_what_is_not_cached_names_the_command(database: Database) -> None:
    database.transaction(lambda s: add_version(s, add_dataset(s, is_open=True)))
    assert refusal(database) == (
        "chest-xray@v3 is not cached.",
        f"{HINT} Submit again as soon as copying has started: it waits for the copy.",
    )


def test_datasets_of_others_do_not_exist(database: Database) -> None:
    database.transaction(lambda s: add_cache(s, add_version(s, add_dataset(s))))
    assert refusal(database) == (
        "There is no dataset chest-xray for team-b.",
        "There are none yet. Add one: `/dataset add chest-xray s3://lake/chest-xray/`.",
    )


def test_what_is_being_evicted_is_refused(database: Database) -> None:
    database.transaction(lambda session: add_cached(session, wanted=CacheIntent.EVICT))
    assert refusal(database) == (
        "chest-xray@v3 is being evicted from standard.",
        "When its card shows Evicted, `/dataset cache chest-xray@v3` caches it again.",
    )


def test_another_cluster_is_named_with_the_way(database: Database) -> None:
    database.transaction(add_cached)
    there = replace(USER, cluster="east", reach=("east", "default"))
    said = "Datasets are cached on cluster default, but this is for cluster east."
    assert refusal(database, user=there) == (said, "Add `--cluster default`.")
    nothing = "The team does not have that cluster; a platform admin can change that."
    assert refusal(database, user=replace(there, reach=("east",))) == (said, nothing)


def test_a_share_that_leaves_is_not_joined(database: Database) -> None:
    cache = database.transaction(add_cached)
    taken = take(database)
    database.transaction(lambda session: service.leave(session, cache.id, START))
    assert refusal(database) == (
        "Namespace team-b cannot mount chest-xray@v3 now. It is being removed there.",
        "Try again in a minute.",
    )
    share = database.transaction(lambda s: service.by_claim(s, cache.id, taken.claim))
    assert share is not None
    assert (share.is_wanted, share.is_live) == (False, True)


@pytest.mark.parametrize(
    ("fields", "waits"),
    [
        ({"phase": CachePhase.ASKED}, "copying has not started yet."),
        (
            {"phase": CachePhase.STARTING, "obstacle": "No node takes its pod: full."},
            "copying has not started yet. No node takes its pod: full.",
        ),
        ({"phase": CachePhase.FILLING, "bytes_done": 0}, "0 % copied."),
        (
            {"bytes_done": SIZE * 2 // 5, "bytes_per_second": SIZE * 0.6 / 720},
            "40 % copied, about 12m left.",
        ),
        ({"phase": CachePhase.ARRANGING}, "its files are copied and are being arranged."),
    ],
)
def test_who_waits_reads_how_far_it_is(
    database: Database, fields: dict[str, Any], waits: str
) -> None:
    database.transaction(lambda s: add_cached(s, **({"phase": CachePhase.FILLING} | fields)))
    taken = take(database)
    assert readiness(database, taken) == DataReadiness(waits=f"Waiting for chest-xray@v3: {waits}")


def test_a_failed_fill_fails_who_waits(database: Database) -> None:
    database.transaction(lambda session: add_cached(session, phase=CachePhase.FILLING))
    taken = take(database)
    why = {"reason": "The volume is too small.", "unblock": "Ask for a larger one."}
    change(database, phase=CachePhase.FAILED, ended_at=START, **why)
    assert readiness(database, taken) == DataReadiness(
        failed="chest-xray@v3 could not be cached. The volume is too small.",
        advice="Ask for a larger one.",
    )


def test_a_ready_cache_waits_for_its_share(database: Database) -> None:
    cache = database.transaction(add_cached)
    taken = take(database)
    waits = "Waiting until namespace team-b can mount chest-xray@v3."
    assert readiness(database, taken) == DataReadiness(waits=waits)

    def become(phase: SharePhase, **more: str) -> None:
        def work(session: Session) -> None:
            (share,) = service.live(session, cache.id)
            share.phase = phase
            for name, value in more.items():
                setattr(share, name, value)

        database.transaction(work)

    become(SharePhase.READY)
    assert readiness(database, taken) == DataReadiness()
    become(SharePhase.LEAVING, reason="Its driver cannot.", unblock="Use another class.")
    assert readiness(database, taken) == DataReadiness(
        failed="Namespace team-b cannot mount chest-xray@v3. Its driver cannot.",
        advice="Use another class.",
    )


def test_the_end_of_a_use_counts(database: Database) -> None:
    cache = database.transaction(add_cached)
    later = START + timedelta(hours=5)
    database.transaction(lambda session: using.left(session, [cache.id], later))
    assert database.transaction(lambda s: s.get_one(Cache, cache.id)).used_at == later
