"""Runs that name compute templates and read datasets, which each cluster has caches of."""

from decimal import Decimal
from typing import Any

import pytest
from sqlmodel import Session, select

from bot import holds
from bot.cluster.resources import ALLOWANCES
from bot.datasets.caches.service import CacheService
from bot.datasets.caches.tables import CACHE, Cache, CacheIntent, CachePhase
from bot.datasets.caches.users import wake_holders
from bot.datasets.tables import Version
from bot.errors import ConflictError
from bot.slack.grammar.container_parameters import DataMount
from bot.slack.text import as_text
from bot.training.offers.replies import accepted, offered
from bot.training.offers.service import Accepted, Offered, OfferService
from bot.training.submission.building import Submission
from bot.training.submission.new_run import UncachedRunError
from bot.training.tables import Run, RunOffer, RunPhase
from bot.training.templates.candidates import candidates_of
from playground.cluster.story import claim
from tests.bot.datasets.caches.rows import SIZE, add_cache, add_dataset, add_version
from tests.bot.ground import ALICE
from tests.bot.training.rig import IMAGE
from tests.bot.training.templates.two_clusters import BOTH, TEMPLATES, TwoClusters, policy

DATASETS: dict[str, Any] = {
    "namespace": "quartermaster",
    "image": "ghcr.io/acme/quartermaster:1",
    "state_store": "lake",
    "state": "s3://lake/state/",
    "classes": {"standard": {}},
    "static_drivers": ["csi.playground"],
    "clusters": {"lab": {"classes": {"standard": {"budget": "1Ti"}}}},
}
DATA = (DataMount("chest-xray", "/data"),)
LACKS = "chest-xray@v3 is not cached"
FIRST = "To use other options, such as a layout, cache it first:"


@pytest.fixture(autouse=True)
def cached(two: TwoClusters) -> None:
    """Datasets can be cached on both clusters, and chest-xray is recorded."""
    configure(two)
    two.do(lambda session: add_version(session, add_dataset(session)).id)


def configure(two: TwoClusters, **templates: Any) -> None:
    stores = {"lake": {"shared": ["s3://lake/"]}}
    two.policy = policy({**TEMPLATES, **templates}, stores=stores, datasets=DATASETS)


def cache(two: TwoClusters, cluster: str, **more: Any) -> str:
    """A cache on a cluster, in the namespace of team-a, with its PVC; its id."""

    def work(session: Session) -> tuple[str, str]:
        place = {"cluster": cluster, "namespace": "team-a", "named_cluster": cluster}
        row = add_cache(session, session.exec(select(Version)).one(), **(place | more))
        return row.id, row.claim_name

    cache_id, name = two.do(work)
    world = two.world if cluster == "default" else two.other.cluster
    world.create("persistentvolumeclaims", claim(name), "team-a")
    two.look()
    return cache_id


def change(two: TwoClusters, cache_id: str, **fields: Any) -> None:
    def work(session: Session) -> None:
        row = session.get_one(Cache, cache_id)
        for name, value in fields.items():
            setattr(row, name, value)
        session.add(row)
        wake_holders(session, row, two.clock.now())

    two.do(work)


def holders(two: TwoClusters, cache_id: str) -> list[str]:
    now = two.clock.now()
    return [each.why for each in two.do(lambda s: holds.on(s, CACHE, cache_id, now))]


def lacking(two: TwoClusters, on: tuple[str, ...] = BOTH) -> tuple[OfferService, Offered]:
    """What Alice is offered for a run on these templates, whose data is not cached."""
    two.cluster.view.store(ALLOWANCES).replace([])
    two.lab.view.store(ALLOWANCES).replace([])
    caches = CacheService(two.settings, two.clusters, two.words)
    offers = OfferService(two.service, caches, two.words)
    by, now = two.caller(ALICE), two.clock.now()
    asked = Submission(
        "wide", image=IMAGE, gpus=Decimal(8), command=("true",), data=DATA, templates=on
    )

    def work(session: Session) -> Offered:
        with pytest.raises(UncachedRunError) as caught:
            two.service.submit(session, by, asked, now)
        return offers.offer(session, by, caught.value, now)

    two.look()
    return offers, two.do(work)


def test_each_place_reads_its_own_cache(two: TwoClusters) -> None:
    here, there = cache(two, "default"), cache(two, "lab")
    run_id = two.waiting(data=DATA)
    run = two.get(run_id)
    assert [each.spec.data[0].cache for each in candidates_of(run)] == [here, there]
    assert holders(two, here) == holders(two, there) == ["run wide of team-a"]
    two.pass_time(minutes=11)
    run = two.get(run_id)
    assert (run.cluster, run.spec["data"][0]["cache"]) == ("lab", there)
    (job,) = two.other.cluster.list("jobs", "team-a")
    volumes = job["spec"]["template"]["spec"]["volumes"]
    claims = [each.get("persistentVolumeClaim", {}).get("claimName") for each in volumes]
    assert two.do(lambda s: s.get_one(Cache, there).claim_name) in claims


def test_a_run_keeps_its_place_while_copying(two: TwoClusters) -> None:
    cache(two, "default")
    filling = {"phase": CachePhase.FILLING, "bytes_done": SIZE * 2 // 5}
    there = cache(two, "lab", **filling)
    run_id = two.waiting(data=DATA)
    two.pass_time(minutes=11)
    assert two.jobs("wide") == ["default"]
    lines = two.card(run_id).splitlines()
    assert (
        "It cannot move on to burst yet. Waiting for chest-xray@v3: 40 % copied. It keeps its"
        " place in this queue and moves on when its data is cached on cluster lab."
    ) in lines
    assert "It waits on dgx, in queue team-a of cluster default." in lines
    change(two, there, phase=CachePhase.READY)
    two.pass_time(seconds=30)
    assert two.jobs("wide") == ["lab"]
    assert two.get(run_id).phase == RunPhase.RUNNING


def test_a_run_stays_if_copying_failed(two: TwoClusters) -> None:
    cache(two, "default")
    there = cache(two, "lab", phase=CachePhase.STARTING)
    run_id = two.waiting(data=DATA)
    change(two, there, phase=CachePhase.FAILED, ended_at=two.clock.now(), reason="It is full.")
    two.pass_time(minutes=30)
    assert two.jobs("wide") == ["default"]
    assert two.get(run_id).obstacle == (
        "It cannot move on to burst, because its data is not cached on cluster lab. chest-xray@v3"
        " could not be cached. It is full. It keeps its place in this queue. To use that place,"
        " cache the data there and submit it again."
    )


def test_missing_caches_are_offered_with_places(two: TwoClusters) -> None:
    here = cache(two, "default")
    offers, offer = lacking(two)
    lines = as_text(offered(offer, two.words)).splitlines()
    assert lines[:4] == [
        "Cache chest-xray@v3 and run wide?",
        f"{LACKS} on cluster lab. The run would wait for the copy automatically.",
        f"{FIRST} `/dataset cache chest-xray@v3 --cluster lab`.",
        "Nothing has been done yet. This is what it takes:",
    ]
    assert "  Volume      257 GiB on standard of cluster lab" in lines
    assert holders(two, here) == []
    by, now = two.caller(ALICE), two.clock.now()

    def accept(session: Session) -> Accepted | Run:
        row = offers.get(session, offer.offer_id, ALICE, now)
        return offers.accept(session, by, row, now)

    done = two.do(accept)
    assert isinstance(done, Accepted)
    said = as_text(accepted(done, two.words)).splitlines()
    assert said[0].startswith("Caching chest-xray@v3 on standard of cluster lab.")
    run = two.get(done.run.run_id)
    (made,) = two.do(lambda s: s.exec(select(Cache).where(Cache.cluster == "lab")).all())
    assert [each.spec.data[0].cache for each in candidates_of(run)] == [here, made.id]
    assert (run.cluster, holders(two, made.id)) == ("default", ["run wide of team-a"])
    again = two.do(accept)
    assert isinstance(again, Run)
    assert again.id == run.id


def test_caches_of_both_places_are_offered(two: TwoClusters) -> None:
    _, offer = lacking(two)
    assert [each.plan.cluster for each in offer.caches] == ["", "lab"]
    said = as_text(offered(offer, two.words)).splitlines()[1]
    assert said.startswith(f"{LACKS} on cluster default and lab.")


def test_costly_runs_need_their_caches_first(two: TwoClusters) -> None:
    configure(two, burst={**TEMPLATES["burst"], "leads_above": 20})
    cache(two, "default")
    two.look()
    with pytest.raises(ConflictError) as caught:
        two.submit("wide", gpus=8, data=DATA, templates=BOTH)
    assert not isinstance(caught.value, UncachedRunError)
    assert caught.value.message == f"Template burst, on cluster lab: {LACKS} on cluster lab."
    assert two.do(lambda s: s.exec(select(RunOffer)).all()) == []


def test_one_being_evicted_is_refused_there(two: TwoClusters) -> None:
    cache(two, "default")
    cache(two, "lab", wanted=CacheIntent.EVICT)
    with pytest.raises(ConflictError) as caught:
        two.submit("wide", gpus=8, data=DATA, templates=BOTH)
    assert caught.value.message == (
        "Template burst, on cluster lab: chest-xray@v3 is being evicted from standard of cluster"
        " lab."
    )
