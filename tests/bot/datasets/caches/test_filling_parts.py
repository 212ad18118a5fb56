"""Caches of folders of a version, from the wish to its use, beside that of the whole version."""

from typing import Any

from sqlmodel import Session

from bot.datasets.caches.answers import CacheOffer, UncountedPart
from bot.datasets.caches.content import PlannedPart
from bot.datasets.caches.plan import CacheRequest, read, written
from bot.datasets.caches.tables import Cache, CachePhase
from bot.datasets.finding import Reference
from tests.bot.datasets.caches.filling import DONE, Filling
from tests.bot.datasets.caches.rows import DIGEST
from tests.bot.ground import ALICE, TEAM_A

FOLDERS = ("train/", "val/")
PART = PlannedPart("train/,val/", "sha256:" + 64 * "b", 1_200, 90_000_000_000)
COPIED = DONE | {
    "digest": PART.digest,
    "objects": PART.objects,
    "bytes": PART.size_bytes,
    "verified_by": {"md5": PART.objects},
    "verified_bytes": {"md5": PART.size_bytes},
}


def offered(filling: Filling, part: PlannedPart = PART) -> CacheOffer:
    """What caching these folders costs, once they are counted."""
    filling.view()
    by, now = filling.caller(ALICE, TEAM_A), filling.clock.now()
    request = CacheRequest(Reference("chest-xray", "v3", FOLDERS))

    def work(session: Session) -> CacheOffer:
        asked = filling.caches.ask(session, by, request, now)
        assert isinstance(asked, UncountedPart)
        return filling.caches.offer_part(session, by, request, part, now)

    return filling.do(work)


def holding(part: str, layout: str = "") -> Cache:
    """A cache of which only this matters."""
    fields: dict[str, Any] = {"part": part, "layout": layout}
    return Cache(**fields)


def test_volume_and_time_are_those_of_the_part(filling: Filling) -> None:
    offer = offered(filling)
    assert read(written(offer.plan)) == offer.plan
    assert (offer.plan.part, offer.plan.capacity_bytes) == (PART, 93 * 2**30)
    assert offer.estimate.best is not None
    assert 16.0 < offer.estimate.best.total_seconds() / 3600 < 17.5


def test_a_part_is_filled_and_ready(filling: Filling) -> None:
    filling.fills(last=COPIED)
    cache_id = filling.begin(offered(filling)).cache.id
    filling.run()
    (job,) = filling.jobs()
    args = job["spec"]["template"]["spec"]["containers"][0]["args"]
    assert args[5:7] == ["--digest", PART.digest]
    assert args[-4:] == ["--only", "train/", "--only", "val/"]
    filling.pass_time(minutes=3)
    cache = filling.found(cache_id)
    assert (cache.phase, cache.files_done, cache.bytes_done) == (
        CachePhase.READY,
        PART.objects,
        PART.size_bytes,
    )
    assert filling.notes(cache_id) == {
        "filled": f"<@{ALICE}> chest-xray@v3/train/,val/ is cached on standard: 1,200 files, 90 GB."
        "\nRuns read it under /data: `/train submit NAME --data chest-xray@v3/train/:/data/train"
        " --data chest-xray@v3/val/:/data/val`"
    }
    assert "all 1,200: " in filling.shown(cache_id)


def test_another_digest_than_counted_is_no_cache(filling: Filling) -> None:
    cache_id = filling.begin(offered(filling)).cache.id
    filling.pass_time(minutes=3)
    cache = filling.found(cache_id)
    assert cache.phase == CachePhase.FAILED
    assert cache.reason == f"The copied data is {DIGEST}, not {PART.digest}."


def test_whole_version_has_a_volume_of_its_own(filling: Filling) -> None:
    part, whole = filling.begin(offered(filling)).cache.id, filling.cache()
    filling.run()
    names = {filling.found(each).claim_name for each in (part, whole)}
    assert {each["metadata"]["name"] for each in filling.claims()} == names
    assert len(names) == 2


def test_two_people_get_one_fill_of_a_part(filling: Filling) -> None:
    first, second = offered(filling), offered(filling)
    found = [filling.begin(each) for each in (first, second)]
    assert [each.is_new for each in found] == [True, False]
    assert found[0].cache.id == found[1].cache.id


def test_caches_have_what_they_hold() -> None:
    part = holding("train/,val/")
    wanted = ((), ("train/",), ("val/a/", "train/"), ("train-old/",))
    assert [part.has(each) for each in wanted] == [False, True, True, False]
    whole, moved = holding(""), holding("", "imagenet")
    assert [whole.has(()), whole.has(("x/",)), moved.has(()), moved.has(("x/",))] == [
        True, True, True, False,
    ]  # fmt: skip
