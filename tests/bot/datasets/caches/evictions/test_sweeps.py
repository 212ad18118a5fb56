"""Caches that nobody uses: announced, kept by whoever wants them, and evicted in silence."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlmodel import Session, select

from bot.cluster.resources import SNAPSHOTS
from bot.config import Anf
from bot.datasets.caches.tables import Cache, CachePhase, Sweep
from bot.slack.markup import Markup
from bot.slack.messages import Message
from bot.slack.text import readable
from bot.volumes.tables import SeenPool
from tests.bot.datasets.caches.keeping import SNAPSHOT_CRD, Keeping, settings
from tests.bot.datasets.caches.rows import CAPACITY
from tests.bot.ground import ALICE, START, TEAM_B

DAY = 86_400
NOTICE = timedelta(hours=4)
UNUSED = (
    f"@<@{ALICE}> chest-xray@v3 on standard will be evicted in 4h, 2026-11-22 12:01 UTC."
    " It has been unused for 20h 31s; it is kept 1d after its last use.\n"
    "To keep it, use it before then, extend it or pin it. Eviction costs only the time to"
    " copy it again: the catalogue and the source stay."
)


def said(keeping: Keeping, cache_id: str) -> list[str]:
    """What was said of a cache, with times as people in UTC read them."""
    notes = keeping.notes(cache_id).values()
    return [readable(Markup(each), name_of="<@{}>".format) for each in notes]


def noticed_at(keeping: Keeping) -> datetime:
    """When people were told of the only cache of which they were, a moment after it was time."""
    (moment,) = (each.noticed_at for each in keeping.rows() if each.noticed_at is not None)
    return moment


def purposes(keeping: Keeping, cache_id: str) -> list[str]:
    return [each.rpartition("-")[0] or each for each in keeping.notes(cache_id)]


def test_silence_evicts_at_the_announced_moment(keeping: Keeping) -> None:
    cache_id = keeping.cache(keep_seconds=DAY)
    keeping.live(hours=19)
    assert keeping.notes(cache_id) == {}
    keeping.live(hours=1)
    leaves = keeping.get(cache_id).leaves_at
    assert (said(keeping, cache_id), leaves) == ([UNUSED], noticed_at(keeping) + NOTICE)
    keeping.live(hours=3)
    assert keeping.get(cache_id).phase == CachePhase.READY
    keeping.live(hours=2)
    assert keeping.get(cache_id).phase == CachePhase.EVICTED
    assert purposes(keeping, cache_id) == ["notice", "evicted"]
    assert keeping.gone()


def test_a_pod_of_anybody_withdraws_the_notice(keeping: Keeping) -> None:
    cache_id = keeping.cache(keep_seconds=DAY)
    keeping.live(hours=21)
    keeping.mount(cache_id)
    keeping.sweep()
    cache = keeping.get(cache_id)
    assert (cache.noticed_at, cache.seen_used_at) == (None, keeping.clock.now())
    assert cache.used_by == "pod loader in datasets"
    stays = "chest-xray@v3 stays on standard. Pod loader in namespace datasets mounts it."
    assert said(keeping, cache_id)[1:] == [stays]
    keeping.live(hours=30)
    keeping.unmount()
    keeping.live(hours=23)
    assert keeping.get(cache_id).phase == CachePhase.READY
    keeping.live(hours=2)
    assert keeping.get(cache_id).phase == CachePhase.EVICTED


def test_runs_that_wait_count_as_use(keeping: Keeping) -> None:
    cache_id = keeping.cache(keep_seconds=DAY)
    keeping.hold(cache_id)
    keeping.live(minutes=60, days=2)
    assert (keeping.notes(cache_id), keeping.get(cache_id).used_by) == ({}, "run lane of team-a")
    keeping.release()
    keeping.live(hours=19)
    assert keeping.notes(cache_id) == {}
    keeping.live(hours=6)
    assert keeping.get(cache_id).phase == CachePhase.EVICTED


def test_off_keeps_a_cache_for_ever(keeping: Keeping) -> None:
    cache_id = keeping.cache(keep_seconds=None)
    keeping.live(minutes=720, days=20)
    assert (keeping.get(cache_id).phase, keeping.notes(cache_id)) == (CachePhase.READY, {})


def test_a_pin_keeps_until_it_expires(keeping: Keeping) -> None:
    cache_id = keeping.cache(keep_seconds=DAY)
    until = START + timedelta(days=3)
    keeping.hold(cache_id, subject_kind="pin", subject_id=ALICE, why="CVPR", until=until)
    keeping.live(hours=71)
    assert keeping.notes(cache_id) == {}
    keeping.live(hours=1)
    assert purposes(keeping, cache_id) == ["notice"]
    keeping.live(hours=5)
    assert keeping.get(cache_id).phase == CachePhase.EVICTED


def test_after_a_pause_everything_is_announced_anew(keeping: Keeping) -> None:
    announced = keeping.cache(keep_seconds=DAY)
    keeping.live(hours=22)
    silent = keeping.cache("imagenet", keep_seconds=DAY)
    keeping.outside.clock.moment += timedelta(days=30)
    keeping.sweep()
    assert {each.phase for each in keeping.rows()} == {CachePhase.READY}
    leaves = keeping.clock.now() + timedelta(hours=4)
    assert [each.leaves_at for each in keeping.rows()] == [leaves, leaves]
    assert (
        said(keeping, announced)[-1]
        .splitlines()[0]
        .endswith("The bot did not check for a while, so this notice is posted again.")
    )
    assert len(keeping.notes(silent)) == 1
    keeping.live(hours=5)
    assert {each.phase for each in keeping.rows()} == {CachePhase.EVICTED}


def test_a_clock_that_goes_back_only_announces(keeping: Keeping) -> None:
    cache_id = keeping.cache(keep_seconds=DAY)
    keeping.live(hours=23)
    later = keeping.clock.now() + timedelta(days=400)
    keeping.do(lambda session: session.merge(Sweep(cluster="default", swept_at=later)))
    keeping.outside.clock.moment += timedelta(hours=1)
    keeping.sweep()
    assert keeping.get(cache_id).phase == CachePhase.READY
    assert purposes(keeping, cache_id) == ["notice", "notice"]


def test_no_more_go_at_once_than_allowed(keeping: Keeping) -> None:
    keeping.policy = settings(evictions_per_sweep=2)
    for number in range(5):
        keeping.cache(f"set-{number}", keep_seconds=DAY)
    keeping.live(hours=20.1)
    keeping.live(hours=3.6)
    gone: list[int] = []
    for _ in range(4):
        gone.append(sum(each.phase == CachePhase.EVICTED for each in keeping.rows()))
        keeping.outside.clock.moment += timedelta(minutes=29)
        keeping.sweep()
        keeping.pass_time(minutes=1)
    assert gone == [0, 2, 4, 5]


def test_a_longer_time_is_announced_anew(keeping: Keeping) -> None:
    cache_id = keeping.cache(keep_seconds=DAY)
    keeping.live(hours=21)

    def lengthen(session: Any) -> None:
        session.get_one(Cache, cache_id).keep_seconds = DAY + 3600

    keeping.do(lengthen)
    keeping.live(hours=3)
    cache = keeping.get(cache_id)
    assert (cache.phase, cache.leaves_at) == (CachePhase.READY, noticed_at(keeping) + NOTICE)
    assert purposes(keeping, cache_id) == ["notice", "notice"]
    keeping.live(hours=2)
    assert keeping.get(cache_id).phase == CachePhase.EVICTED


def test_other_teams_are_told_in_their_channels(keeping: Keeping) -> None:
    cache_id = keeping.cache(keep_seconds=DAY, teams=["team-b"])
    keeping.live(hours=20)

    def places(session: Any) -> list[tuple[str, list[str]]]:
        rows = session.exec(select(Message).where(Message.subject_id == cache_id)).all()
        return [(row.channel, [each["label"] for each in row.buttons]) for row in rows]

    assert keeping.do(places) == [
        ("C0TEAMA", ["Extend 1d", "Pin for 7d", "Evict now"]),
        (TEAM_B, ["Extend 1d", "Pin for 7d"]),
    ]


def test_a_short_time_is_announced_at_half(keeping: Keeping) -> None:
    cache_id = keeping.cache(keep_seconds=7200)
    keeping.live(minutes=15, hours=1)
    assert keeping.get(cache_id).leaves_at == noticed_at(keeping) + timedelta(hours=1)


def crowd(keeping: Keeping, budget: int | None, percent: int, keep: int | None = None) -> list[str]:
    known: dict[str, Any] = {"watermark_percent": percent}
    known |= {"budget": f"{budget}Gi"} if budget else {}
    keeping.policy = settings(classes={"standard": known})
    made = []
    for number in range(3):
        made.append(keeping.cache(f"set-{number}", keep_seconds=keep))
        keeping.live(hours=1)
    return made


def test_above_the_watermark_the_oldest_goes(keeping: Keeping) -> None:
    oldest, middle, newest = crowd(keeping, 1000, 80)
    assert keeping.get(oldest).evict_why == (
        "standard is 90 % full (900 GiB of 1,000 GiB). Above 80 %, the longest unused"
        " caches are evicted."
    )
    assert [keeping.get(each).noticed_at for each in (middle, newest)] == [None, None]
    keeping.live(hours=5)
    assert purposes(keeping, oldest) == ["notice", "evicted"]
    assert [keeping.get(each).phase for each in (oldest, middle, newest)] == [
        CachePhase.EVICTED,
        CachePhase.READY,
        CachePhase.READY,
    ]


@pytest.mark.parametrize("keep", [None, 6 * 3600, 30 * DAY])
def test_each_crowding_is_announced_only_once(keeping: Keeping, keep: int | None) -> None:
    made = crowd(keeping, 400, 80, keep)
    keeping.live(minutes=25, days=1)
    assert {keeping.get(each).phase for each in made[:2]} == {CachePhase.EVICTED}
    assert [purposes(keeping, each) for each in made[:2]] == [["notice", "evicted"]] * 2


def test_crowds_name_a_kept_cache_once_daily(keeping: Keeping) -> None:
    cache_id = keeping.cache(keep_seconds=None)
    crowded = {"standard": {"watermark_percent": 1, "budget": "400Gi"}}
    keeping.policy = settings(classes=crowded)
    snapshot_of(keeping, cache_id)
    keeping.live(hours=47)
    assert keeping.get(cache_id).phase == CachePhase.READY
    assert purposes(keeping, cache_id) == ["notice", "called-off", "notice", "called-off"]


def test_all_pools_of_a_class_make_a_crowd(keeping: Keeping) -> None:
    classes = {"standard": {"watermark_percent": 80}}
    anf = Anf(subscription="00000000-0000-0000-0000-000000000000", classes={"standard": ("a", "b")})
    keeping.policy = settings(classes=classes).model_copy(update={"anf": anf})
    cache_id = keeping.cache("set-0", asked_at=START - timedelta(hours=1))

    def look(session: Session, seen_at: datetime) -> None:
        for name, size, taken in (("a", 4096, 4096), ("b", 1024, 300)):
            pool: dict[str, Any] = {"id": name, "name": name, "seen_at": seen_at}
            session.merge(SeenPool(size_bytes=size * 2**30, taken_bytes=taken * 2**30, **pool))

    keeping.do(lambda session: look(session, keeping.clock.now()))
    keeping.live(minutes=10, hours=0.5)
    assert keeping.get(cache_id).evict_why == (
        "standard is 85 % full (4.3 TiB of 5 TiB). Above 80 %, the longest unused caches"
        " are evicted."
    )


@pytest.mark.parametrize("keep", [None, 30 * DAY])
def test_an_extension_counts_in_crowds_too(keeping: Keeping, keep: int | None) -> None:
    oldest, middle, _ = crowd(keeping, 1000, 80, keep)
    until = keeping.clock.now() + timedelta(days=1)
    keeping.extend(oldest, until)
    keeping.extend(oldest, until)
    keeping.live(hours=10)
    assert [keeping.get(each).phase for each in (oldest, middle)] == [
        CachePhase.READY,
        CachePhase.EVICTED,
    ]
    assert keeping.get(oldest).expires_after == until


def test_used_and_pinned_caches_stay_in_crowds(keeping: Keeping) -> None:
    oldest, middle, newest = crowd(keeping, 2000, 80)
    keeping.mount(oldest)
    until = START + timedelta(days=30)
    keeping.hold(middle, subject_kind="pin", subject_id=ALICE, why="CVPR", until=until)
    keeping.policy = settings(classes={"standard": {"watermark_percent": 1, "budget": "1000Gi"}})
    keeping.live(hours=6)
    assert [keeping.get(each).phase for each in (oldest, middle, newest)] == [
        CachePhase.READY,
        CachePhase.READY,
        CachePhase.EVICTED,
    ]


def test_room_again_withdraws_the_notice(keeping: Keeping) -> None:
    oldest, middle, _ = crowd(keeping, 1000, 80)
    keeping.mark(middle)
    keeping.live(hours=1)
    assert (
        keeping.get(oldest).called_off
        == "It was extended or used, or there is enough free space again."
    )


def test_a_resource_quota_counts_before_budgets(keeping: Keeping) -> None:
    hard, used = {"requests.storage": "1000Gi"}, {"requests.storage": "900Gi"}
    said = {"spec": {"hard": hard}, "status": {"hard": hard, "used": used}}
    quota = {"metadata": {"name": "storage"}, **said}
    keeping.world.create("resourcequotas", quota, "datasets")
    oldest, *_ = crowd(keeping, 100_000, 80)
    assert CAPACITY == 300 * 2**30
    assert keeping.get(oldest).evict_why.startswith("standard is 90 % full (900 GiB of 1,000 GiB)")


def test_without_a_limit_nothing_is_crowded(keeping: Keeping) -> None:
    made = crowd(keeping, None, 1)
    keeping.live(hours=6)
    assert {keeping.get(each).phase for each in made} == {CachePhase.READY}


def test_an_unreachable_cluster_evicts_nothing(keeping: Keeping) -> None:
    cache_id = keeping.cache(keep_seconds=DAY)
    keeping.live(hours=23)
    keeping.outside.cluster.admit_bot("bot-token", ())
    keeping.pass_time(hours=2)
    keeping.sweep()
    assert (keeping.get(cache_id).phase, keeping.effects()) == (CachePhase.READY, [])


def swept_at(keeping: Keeping) -> datetime:
    return keeping.do(lambda session: session.get_one(Sweep, "default").swept_at)


def test_each_sweep_is_remembered(keeping: Keeping) -> None:
    keeping.sweep()
    keeping.live(hours=2)
    assert keeping.clock.now() - swept_at(keeping) == timedelta(minutes=1)


def snapshot_of(keeping: Keeping, cache_id: str) -> None:
    """Somebody has a VolumeSnapshot of a cache."""
    keeping.world.create("customresourcedefinitions", SNAPSHOT_CRD)
    keeping.pass_time(seconds=2)
    source = {"source": {"persistentVolumeClaimName": keeping.get(cache_id).claim_name}}
    snapshot = {"metadata": {"name": "before-cleaning"}, "spec": source}
    keeping.cluster.create(SNAPSHOTS, snapshot, "datasets")


def test_a_snapshot_is_told_of_once_a_day(keeping: Keeping) -> None:
    cache_id = keeping.cache(keep_seconds=DAY)
    snapshot_of(keeping, cache_id)
    keeping.live(hours=52)
    assert keeping.get(cache_id).phase == CachePhase.READY
    assert purposes(keeping, cache_id) == ["notice", "called-off", "notice", "called-off"]
