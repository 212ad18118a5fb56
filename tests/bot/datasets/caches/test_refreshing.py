"""New content of a dataset's source: looked for when it is due, told once, recorded by nobody."""

import pytest
from sqlmodel import col, select

from bot.config import Settings
from bot.database.database import Session
from bot.datasets.caches.refreshing import refresh
from bot.datasets.caches.tables import Cache
from bot.datasets.card import dataset_card
from bot.datasets.job import survey_job
from bot.datasets.selection import Selection
from bot.datasets.service import NewSelection
from bot.datasets.tables import Dataset, Version, VersionPhase
from bot.reconcile.due import Due
from bot.slack.card import Reply
from bot.slack.messages import Message
from bot.slack.text import as_text
from tests.bot.datasets.caches.rows import add_cache, add_dataset, add_version
from tests.bot.datasets.rig import DIGEST, DONE, OTHER_DIGEST, SETTINGS, Rig, with_places
from tests.bot.datasets.test_selections import select as select_files
from tests.bot.ground import TEAM_A

CHANGED = (
    "The source of chest-xray has changed since v1: it now has 3 objects, 2.5 MB. v1 has 3"
    " objects, 2.5 MB.\n"
    "`/dataset version chest-xray` records it."
)


def policy(**more: object) -> Settings:
    told = SETTINGS.model_dump(exclude_unset=True)
    told["datasets"] |= {"refresh": "1d"} | more
    return Settings.model_validate(told)


def looks(rig: Rig) -> list[Version]:
    """Every look for new content, the oldest first."""
    return rig.do(
        lambda session: list(
            session.exec(
                select(Version).where(col(Version.is_refresh).is_(True)).order_by(col(Version.id))
            )
        )
    )


def job(rig: Rig) -> None:
    """What the clock does."""
    rig.do(lambda session: refresh(rig.settings(), session, rig.clock.now()))


def day_after(rig: Rig) -> None:
    """A day passes, the clock strikes, and what it began comes to its end."""
    rig.pass_time(days=1)
    job(rig)
    rig.pass_time(minutes=2)


def shown(rig: Rig) -> str:
    """The second line of what `/dataset show chest-xray` says."""
    shelf = rig.do(lambda session: rig.service.shelf(session, "team-a", "chest-xray"))
    return as_text(Reply(card=dataset_card(shelf, "", rig.clock.now()))).splitlines()[1]


def said(rig: Rig) -> list[tuple[str, str]]:
    """What was said of looks, and where."""

    def work(session: Session) -> list[tuple[str, str]]:
        rows = session.exec(
            select(Message)
            .where(col(Message.subject_id).in_([each.id for each in looks(rig)]))
            .order_by(col(Message.id))
        )
        return [(row.channel, "\n".join(row.content or ())) for row in rows]

    return rig.database.read(work)


@pytest.fixture
def cached(rig: Rig) -> Rig:
    """Chest-xray has version v1, and a cache of it."""
    rig.policy = policy()
    rig.add()
    first = rig.version()
    rig.pass_time(minutes=2)
    rig.do(lambda session: add_cache(session, session.get_one(Version, first)))
    return rig


def test_equal_content_is_nothing_to_say(cached: Rig) -> None:
    job(cached)
    assert looks(cached) == []
    day_after(cached)
    (look,) = looks(cached)
    assert (look.phase, look.digest, look.is_cleared) == (VersionPhase.UNCHANGED, DIGEST, True)
    assert said(cached) == []
    assert shown(cached).startswith("The source had not changed since v1 when it was checked ")
    assert cached.jobs() == []


def test_selections_are_no_check_of_the_source(cached: Rig) -> None:
    day_after(cached)
    cached.pass_time(hours=12)
    select_files(cached, NewSelection(Selection("v1", ("train/",)), "train"))
    cached.pass_time(minutes=2)
    assert shown(cached).startswith("The source had not changed since v1 when it was checked ")
    cached.pass_time(hours=12)
    job(cached)
    assert len(looks(cached)) == 2


def test_new_content_is_told_once(cached: Rig) -> None:
    cached.finds(OTHER_DIGEST)
    day_after(cached)
    day_after(cached)
    assert [each.phase for each in looks(cached)] == [VersionPhase.CHANGED, VersionPhase.CHANGED]
    assert said(cached) == [(TEAM_A, CHANGED)]
    assert shown(cached).startswith("The source has changed since v1: 3 objects, 2.5 MB, checked ")
    shelf = cached.do(lambda session: cached.service.shelf(session, "team-a", "chest-xray"))
    assert [each.name for each in shelf.versions] == ["v1"]
    cached.finds("sha256:" + 64 * "c")
    day_after(cached)
    assert said(cached) == [(TEAM_A, CHANGED), (TEAM_A, CHANGED)]


def test_the_button_records_what_changed(cached: Rig) -> None:
    cached.finds(OTHER_DIGEST)
    day_after(cached)
    (look,) = looks(cached)
    buttons = cached.do(
        lambda s: s.exec(select(Message.buttons).where(Message.subject_id == look.id)).one()
    )
    assert [(each["action"], each["value"]) for each in buttons or ()] == [
        ("dataset.version", look.dataset_id)
    ]
    second = cached.version()
    cached.pass_time(minutes=2)
    assert (cached.get(second).name, cached.get(second).digest) == ("v2", OTHER_DIGEST)
    assert not shown(cached).startswith("The source has changed")
    day_after(cached)
    assert looks(cached)[-1].same_as == second


def test_asking_ends_a_look_under_way(cached: Rig) -> None:
    cached.pass_time(days=1)
    job(cached)
    cached.pass_time(seconds=20)
    (look,) = looks(cached)
    assert look.phase == VersionPhase.LISTING
    second = cached.version()
    cached.pass_time(minutes=2)
    assert cached.get(second).phase == VersionPhase.UNCHANGED
    ended = cached.get(look.id)
    assert (ended.phase, ended.digest, ended.is_cleared) == (VersionPhase.FAILED, None, True)
    assert (said(cached), cached.jobs()) == ([], [])


def test_a_job_nobody_noted_goes_too(cached: Rig) -> None:
    """The Job was made, the answer was lost, and somebody asked before the next look."""
    cached.pass_time(days=1)
    job(cached)
    (look,) = looks(cached)
    datasets = cached.policy.datasets
    assert datasets is not None
    body = survey_job(look, datasets, cached.policy.stores, cached.cluster.installation)
    cached.world.create("jobs", body, "datasets")
    cached.version()
    cached.pass_time(minutes=2)
    assert (cached.get(look.id).is_cleared, cached.jobs()) == (True, [])


def test_a_failed_look_is_only_shown(cached: Rig) -> None:
    failed = {"event": "failed", "reason": "no_access", "message": "The keys were refused."}
    cached.says(failed, seconds=8, code=65)
    day_after(cached)
    assert [each.phase for each in looks(cached)] == [VersionPhase.FAILED]
    assert said(cached) == []
    assert shown(cached).startswith("The source could not be checked ")
    assert shown(cached).endswith("The keys were refused.")
    cached.says(DONE | {"digest": DIGEST}, seconds=8)
    day_after(cached)
    assert looks(cached)[-1].phase == VersionPhase.UNCHANGED


def test_manifests_of_looks_do_not_pile_up(cached: Rig) -> None:
    day_after(cached)
    day_after(cached)
    (dataset_id,) = {each.dataset_id for each in looks(cached)}
    assert [each.manifest for each in looks(cached)] == 2 * [
        f"s3://qm-state/prod/refreshes/{dataset_id}/"
    ]


def test_old_looks_without_news_are_forgotten(cached: Rig) -> None:
    day_after(cached)
    (first,) = looks(cached)
    cached.pass_time(days=31)
    job(cached)
    cached.pass_time(minutes=2)
    assert first.id not in [each.id for each in looks(cached)]
    kept = cached.do(lambda session: session.exec(select(Due.id)).all())
    assert first.id not in kept


@pytest.mark.parametrize("why", ["off", "unused", "store", "place", "team"])
def test_what_is_not_to_be_looked_at(cached: Rig, why: str) -> None:
    cached.policy = {
        "off": SETTINGS,
        "unused": policy(),
        "store": policy().model_copy(update={"stores": {"state": SETTINGS.stores["state"]}}),
        "place": with_places(policy(), {"team-a": ["s3://lake/chest-xray-2/"]}),
        "team": policy().model_copy(update={"teams": {"team-b": SETTINGS.teams["team-b"]}}),
    }[why]
    if why == "unused":
        cached.do(_evict)
        cached.pass_time(days=31)
    day_after(cached)
    assert looks(cached) == []


def test_a_few_are_looked_at_together(rig: Rig) -> None:
    rig.policy = policy()
    rig.do(_add_five)
    rig.pass_time(days=2)
    job(rig)
    job(rig)
    assert [each.dataset for each in looks(rig)] == ["set-0", "set-1", "set-2"]
    rig.pass_time(minutes=2)
    job(rig)
    assert [each.dataset for each in looks(rig)[3:]] == ["set-3", "set-4"]


def _evict(session: Session) -> None:
    from_then = session.exec(select(Dataset)).one().added_at
    for cache in session.exec(select(Cache)):
        cache.ended_at, cache.used_at, cache.seen_used_at = from_then, from_then, None
        session.add(cache)


def _add_five(session: Session) -> None:
    for number in range(5):
        add_cache(session, add_version(session, add_dataset(session, f"set-{number}")))
