"""Caches on FSx leave: their space is released, and nothing but their own volume is deleted."""

from datetime import timedelta

import pytest
from sqlmodel import Session

from bot.audit import Actor
from bot.datasets.caches import using
from bot.datasets.caches.evictions.marking import Mark, mark
from bot.datasets.caches.lifecycle.replies import question
from bot.datasets.caches.reads import CacheReads
from bot.datasets.caches.tables import Cache
from bot.datasets.caches.using import User
from bot.datasets.finding import Reference
from bot.slack.text import as_text
from playground.ledger import Fault
from tests.bot.datasets.caches.fsx.fsx_filling import SYSTEM, Importing
from tests.bot.datasets.caches.rows import add_dataset, add_version
from tests.bot.ground import ALICE

RELEASE = "RELEASE_DATA_FROM_FILESYSTEM"
RELEASED = [(RELEASE, "SUCCEEDED", ["lake/chest-xray"])]


def evict(importing: Importing, cache_id: str) -> None:
    """Alice wants it evicted."""
    asked = Mark(Actor("T0QM", ALICE, team="team-a"), "Alice asked for it.")
    now = importing.clock.now()
    importing.do(lambda session: mark(session, session.get_one(Cache, cache_id), asked, now))


def evicted(importing: Importing, cache_id: str) -> tuple[str, int | None]:
    """What the card says of a cache that is gone, and what was freed."""
    importing.pass_time(minutes=10)
    cache = importing.found(cache_id)
    assert cache.phase == "evicted", importing.shown(cache_id)
    assert (importing.volumes(), importing.claims(), importing.jobs()) == ([], [], [])
    assert SYSTEM in importing.region.estate.systems
    return cache.reason, cache.freed_bytes


def test_its_space_is_released(importing: Importing) -> None:
    cache_id = importing.ready()
    evict(importing, cache_id)
    importing.pass_time(seconds=50)
    task = importing.region.estate.tasks[1].id
    assert f"Releasing its space: {task} is EXECUTING, " in importing.shown(cache_id)
    assert evicted(importing, cache_id) == ("Freed 233 GiB.", 233 * 2**30)
    assert importing.tasks()[1:] == RELEASED
    asked = importing.region.estate.tasks[1].asked
    since = {"DurationSinceLastAccess": {"Unit": "DAYS", "Value": 0}}
    assert asked["ReleaseConfiguration"] == since


def test_the_question_says_what_is_released(importing: Importing) -> None:
    cache = importing.found(importing.ready())
    reads = CacheReads(importing.database, importing.clock, importing.clusters)
    asked = question(cache, reads.consequence(cache), importing.words, importing.clock.now())
    told = "\n".join(as_text(asked).splitlines()[:2])
    assert told == (
        "Evicting `chest-xray@v3` frees 233 GiB of lustre. 627,615 files, 250 GB, are released,"
        " and their names stay. It was last used 6m 41s ago.\n"
        "`/dataset cache chest-xray@v3 --class lustre` imports it again. The version and"
        " its manifest stay in the catalogue; the source is not changed."
    )


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
@pytest.mark.parametrize("verb", ["CreateDataRepositoryTask", "delete persistentvolumes"])
def test_lost_answers_release_once(importing: Importing, verb: str, fault: Fault) -> None:
    cache_id = importing.ready()
    importing.outside.ledger.by_name[verb] = [fault]
    evict(importing, cache_id)
    assert evicted(importing, cache_id)[0] == "Freed 233 GiB."
    assert importing.tasks()[1:] == RELEASED


def test_steps_never_saved_release_once(importing: Importing) -> None:
    cache_id = importing.ready()
    evict(importing, cache_id)
    for _ in range(12):
        importing.keeper.step(cache_id)  # The bot dies before it saves what it did.
        importing.pass_time(seconds=5)
    assert evicted(importing, cache_id)[0] == "Freed 233 GiB."
    assert importing.tasks()[1:] == RELEASED


def test_what_is_not_released_is_said(importing: Importing) -> None:
    cache_id = importing.ready()
    importing.region.estate.failed_files = 15
    evict(importing, cache_id)
    assert evicted(importing, cache_id) == (
        (
            "The amount of space freed is unknown. Not everything was released on"
            " fs-0123456789abcdef0: 15"
            " of 627,615 files were not released."
        ),
        None,
    )


def test_a_file_system_that_is_gone_ends_it(importing: Importing) -> None:
    cache_id = importing.ready()
    importing.region.app.refuse("DescribeDataRepositoryTasks", "FileSystemNotFound")
    evict(importing, cache_id)
    reason, freed = evicted(importing, cache_id)
    assert (freed, importing.tasks()[1:]) == (None, [])
    assert reason.endswith("FSx returned FileSystemNotFound. Refused with FileSystemNotFound.")


def test_a_release_that_never_ends_is_left(importing: Importing) -> None:
    cache_id = importing.ready()
    importing.region.estate.takes = timedelta(days=90)
    evict(importing, cache_id)
    importing.pass_time(minutes=5)
    importing.leap(hours=13)
    assert evicted(importing, cache_id) == (
        (
            "The amount of space freed is unknown. Not everything was released on"
            " fs-0123456789abcdef0: FSx"
            " did not release it within 12h."
        ),
        None,
    )


def test_evicted_while_imported_ends_the_task(importing: Importing) -> None:
    cache_id = importing.cache()
    importing.pass_time(seconds=50)
    evict(importing, cache_id)
    assert evicted(importing, cache_id) == ("It had no volume yet, so no space was freed.", 0)
    assert [each[1] for each in importing.tasks()] == ["CANCELED"]


def test_others_on_the_file_system_keep_nobody(importing: Importing) -> None:
    importing.do(
        lambda session: add_version(
            session,
            add_dataset(session, "other", source="s3://lake/other/"),
            digest="sha256:" + 64 * "a",
        )
    )
    first = importing.ready()
    second = importing.ready(reference=Reference("other", "v3"))
    evict(importing, first)
    importing.pass_time(minutes=10)
    assert importing.found(first).phase == "evicted"
    assert importing.found(second).is_ready
    assert len(importing.volumes()) == 1


def test_a_pod_that_mounts_it_keeps_it(importing: Importing) -> None:
    cache_id = importing.ready()
    claim = {"persistentVolumeClaim": {"claimName": importing.found(cache_id).claim_name}}
    container = {"name": "main", "image": "busybox", "command": ["sleep", "infinity"]}
    spec = {"containers": [container], "volumes": [{"name": "data", **claim}]}
    importing.world.create("pods", {"metadata": {"name": "loader"}, "spec": spec}, "datasets")
    evict(importing, cache_id)
    importing.pass_time(minutes=5)
    cache = importing.found(cache_id)
    assert (cache.is_ready, cache.called_off) == (
        True,
        "Its eviction was cancelled: it is in use. Pod loader in namespace datasets mounts it.",
    )
    assert len(importing.tasks()) == 1


def take(importing: Importing) -> using.Taken:
    """A run of team-a takes hold of the version."""
    user = User(
        ("run", "run-1"),
        "run lane of team-a",
        "team-a",
        "default",
        "team-a",
        ("default",),
        (),
        importing.policy,
    )
    wanted = [Reference("chest-xray", "v3")]

    def work(session: Session) -> using.Taken:
        now = importing.clock.now()
        return using.take(session, wanted, user, importing.words, now)[0]

    return importing.do(work)


def test_runs_elsewhere_see_its_folder_alone(importing: Importing) -> None:
    cache_id = importing.ready()
    taken = take(importing)
    assert taken.folder == "."
    importing.pass_time(minutes=1)
    (share,) = [each for each in importing.volumes() if each["metadata"]["name"] == taken.claim]
    assert share["spec"]["csi"]["volumeHandle"] == SYSTEM
    attributes = share["spec"]["csi"]["volumeAttributes"]
    assert attributes["mountname"] == "abcdefgh/lake/chest-xray"
    assert share["spec"]["mountOptions"] == ["flock", "ro"]
    with pytest.raises(Exception, match="is needed by"):
        evict(importing, cache_id)
