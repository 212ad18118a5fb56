"""Caches in several clusters: each is filled, limited, swept and evicted where it is."""

from datetime import timedelta
from typing import Any

import pytest
from sqlmodel import Session, select

from bot.datasets.caches import using
from bot.datasets.caches.answers import CacheFound, CacheOffer
from bot.datasets.caches.evictions.sweep import look_through
from bot.datasets.caches.lifecycle.replies import pinned
from bot.datasets.caches.replies import offered, told
from bot.datasets.caches.tables import Cache, CacheIntent, CachePhase, Sweep
from bot.datasets.caches.using import User
from bot.datasets.card import around, version_card
from bot.datasets.checking import checks
from bot.datasets.finding import Reference
from bot.datasets.leftovers.controller import look_for_orphans
from bot.datasets.pushes.plan import PushRequest
from bot.datasets.pushes.service import PushService
from bot.datasets.tables import Push, Version
from bot.datasets.usage.card import usage_card
from bot.errors import UserError
from bot.findings import Finding
from bot.slack.card import Reply
from bot.slack.text import as_text
from playground.cluster.story import claim, storage_class
from tests.bot.datasets.caches.clusters import TwoCaching, policy
from tests.bot.datasets.caches.filling import settings
from tests.bot.ground import ALICE, BOB, TEAM_A, TEAM_B

V3 = Reference("chest-xray", "v3")


def refusal(two: TwoCaching, **more: Any) -> str:
    with pytest.raises(UserError) as caught:
        two.ask(**more)
    return f"{caught.value.message} {caught.value.hint}"


def user(cluster: str, **more: Any) -> User:
    fields: dict[str, Any] = {
        "subject": ("run", f"run-{cluster}"),
        "why": "run lane of team-a",
        "team": "team-a",
        "cluster": cluster,
        "namespace": "team-a",
        "caching": ("default", "east"),
        "reach": ("default", "east"),
        "settings": policy(),
    }
    return User(**(fields | more))


def take(two: TwoCaching, who: User) -> str:
    """The id of the cache that a run takes."""
    now = two.clock.now()
    (taken,) = two.do(lambda session: using.take(session, [V3], who, two.words, now))
    return taken.cache_id


def test_a_cache_is_filled_in_its_cluster(two: TwoCaching) -> None:
    offer = two.ask(cluster="east")
    assert isinstance(offer, CacheOffer)
    key = "datasets.clusters.east.classes"
    assert as_text(offered(offer)).splitlines()[3:6] == [
        "  Volume      257 GiB on standard of cluster east",
        "  Free space  400 GiB of 400 GiB (budget in quartermaster.yaml)",
        f"  Takes       unknown: {key}.standard.throughput_mib_per_tib is not set",
    ]
    found = two.begin(offer)
    said = as_text(told(found, two.words)).splitlines()[0]
    assert said == "Caching chest-xray@v3 on standard of cluster east."
    two.pass_time(seconds=10)
    assert (two.places(), two.places("jobs")) == ([("east", "datasets-east")],) * 2
    (job,) = two.other.list("jobs", "datasets-east")
    assert job["spec"]["template"]["spec"]["serviceAccountName"] == "fills"
    two.pass_time(minutes=2)
    row = two.found(found.cache.id)
    assert (row.phase, row.cluster, row.namespace) == ("ready", "east", "datasets-east")
    title = two.shown(found.cache.id).splitlines()[0]
    assert title == "✅ chest-xray@v3 on standard of cluster east · Ready"


def test_one_version_is_cached_in_both(two: TwoCaching) -> None:
    here, there = two.cache(), two.cache(cluster="east")
    two.pass_time(minutes=2)
    assert two.places() == [("default", "datasets"), ("east", "datasets-east")]
    again = two.ask(cluster="east")
    assert isinstance(again, CacheFound)
    assert again.cache.id == there
    assert take(two, user("default")) == here
    assert take(two, user("east")) == there

    def shown(session: Session) -> str:
        version = session.exec(select(Version)).one()
        card = version_card(version, around(session, version, two.policy.datasets), two.clock.now())
        return as_text(Reply(card=card))

    lines = [each.split(":")[0] for each in two.do(shown).splitlines()]
    assert lines[1:3] == [
        "chest-xray@v3 on standard of cluster default",
        "chest-xray@v3 on standard of cluster east",
    ]


def test_suggested_commands_name_the_cluster(two: TwoCaching) -> None:
    two.cache()
    found = two.begin(two.ask(cluster="east"))
    assert "`/dataset evict chest-xray@v3 --cluster east` undoes it." in as_text(
        told(found, two.words)
    )
    until = two.clock.now() + timedelta(days=1)
    assert "`/dataset unpin chest-xray@v3 --cluster east` removes the pin." in as_text(
        pinned(found.cache, until, two.words)
    )


def test_a_team_caches_where_it_is(two: TwoCaching) -> None:
    offer = two.ask(BOB, TEAM_B)
    assert two.begin(offer, BOB, TEAM_B).cache.cluster == "east"
    offer = two.ask()
    assert two.begin(offer).cache.cluster == "default"


def test_each_cluster_has_its_own_budget(two: TwoCaching) -> None:
    assert refusal(two, cluster="east", size=2**39) == (
        "chest-xray@v3 needs 512 GiB on standard of cluster east, but only 400 GiB of 400 GiB are"
        " free (budget in quartermaster.yaml). `/dataset usage` shows what is cached there and"
        " what can be evicted."
    )
    assert isinstance(two.ask(size=2**39), CacheOffer)


def test_clusters_and_classes_are_named_in_refusals(two: TwoCaching) -> None:
    assert refusal(two, cluster="lab") == (
        "Datasets are not cached on cluster lab. They are cached on: default, east."
    )
    assert refusal(two, storage_class="fast") == (
        "Storage class fast is not used for caching on cluster default. Cluster east has it: add"
        " --cluster east."
    )
    assert refusal(two, storage_class="gold", cluster="east") == (
        "Storage class gold is not used for caching on cluster east. Use one of: standard, fast."
    )


def test_an_unreachable_cluster_holds_up_no_other(two: TwoCaching) -> None:
    two.view()
    two.other.faults.unavailable = True
    there, here = two.cache(cluster="east"), two.cache()
    two.pass_time(minutes=3)
    assert two.found(here).phase == CachePhase.READY
    assert two.found(there).phase == CachePhase.ASKED
    two.do(lambda session: look_through(two.policy, session, two.clock.now()))
    two.pass_time(minutes=1)
    swept = two.do(lambda session: list(session.exec(select(Sweep.cluster))))
    assert swept == ["default"]
    two.other.faults.unavailable = False
    two.pass_time(minutes=10)
    assert two.found(there).phase == CachePhase.READY


def test_caches_are_evicted_from_one_cluster_alone(two: TwoCaching) -> None:
    here, there = two.cache(keep="off"), two.cache(cluster="east", keep="off")
    two.pass_time(minutes=2)

    def choose(session: Session, cluster: str | None) -> Cache:
        return two.keeping.choose(session, "team-a", V3, None, cluster)

    with pytest.raises(UserError) as caught:
        two.do(lambda session: choose(session, None))
    assert f"{caught.value.message} {caught.value.hint}" == (
        "chest-xray@v3 has several caches: chest-xray@v3 on standard of cluster east,"
        " chest-xray@v3 on standard of cluster default. Name the version, the class and the"
        " cluster, for example chest-xray@v3 --class standard --cluster east."
    )
    by, now = two.caller(), two.clock.now()
    two.do(lambda s: two.keeping.evict(s, by, choose(s, "east"), now).id)
    two.pass_time(minutes=2)
    assert (two.found(there).phase, two.found(here).phase) == ("evicted", "ready")
    assert two.places() == [("default", "datasets")]


def test_the_next_sweep_names_a_new_cluster(two: TwoCaching) -> None:
    two.policy = settings()
    cache_id = two.cache()
    two.pass_time(minutes=2)
    title = two.shown(cache_id).splitlines()[0]
    assert title == "✅ chest-xray@v3 on standard · Ready"
    two.policy = policy()
    two.do(lambda session: look_through(two.policy, session, two.clock.now()))
    two.pass_time(minutes=1)
    title = two.shown(cache_id).splitlines()[0]
    assert title == "✅ chest-xray@v3 on standard of cluster default · Ready"


def test_usage_is_shown_for_each_cluster(two: TwoCaching) -> None:
    two.cache(cluster="east")
    two.pass_time(minutes=2)
    now = two.clock.now()
    found = two.do(lambda session: two.usage.usage(session, "team-a", now))
    lines = as_text(Reply(card=usage_card(found, now, may_clean=False))).splitlines()
    assert [" ".join(each.split()) for each in lines[-5:]] == [
        "Cluster Class Caches Committed Data Free Limit",
        "default spare 0 0 bytes 0 bytes 1 TiB 1 TiB (budget)",
        "default standard 0 0 bytes 0 bytes unknown unknown",
        "east fast 0 0 bytes 0 bytes unknown unknown",
        "east standard 1 257 GiB 250 GB 143 GiB 400 GiB (budget)",
    ]


def test_leftovers_are_found_in_each_cluster(two: TwoCaching) -> None:
    cache_id = two.cache(cluster="east")
    two.pass_time(minutes=2)

    def forget(session: Session) -> None:
        row = session.get_one(Cache, cache_id)
        row.phase, row.ended_at, row.is_cleared = CachePhase.EVICTED, two.clock.now(), True
        session.add(row)

    two.do(forget)
    two.leap(hours=2)
    two.do(lambda session: look_for_orphans(two.policy, session, two.clock.now()))
    two.pass_time(minutes=1)
    now = two.clock.now()
    found = two.do(lambda session: two.usage.usage(session, None, now))
    left = [(each.cluster, each.kind) for each in found.orphans]
    assert left == [("east", "PersistentVolumeClaim")]
    lines = as_text(Reply(card=usage_card(found, now, may_clean=True))).splitlines()
    (claim,) = (each for each in lines if each.startswith("PersistentVolumeClaim"))
    assert claim.endswith("` of cluster east: 257 GiB on standard, created 2h 3m ago.")


def test_a_run_says_where_it_is_not_cached(two: TwoCaching) -> None:
    two.cache()
    with pytest.raises(UserError) as caught:
        take(two, user("east"))
    assert f"{caught.value.message} {caught.value.hint}" == (
        "chest-xray@v3 is not cached on cluster east. `/dataset cache chest-xray@v3 --cluster east`"
        " copies it to fast storage, once for everyone. Submit again as soon as copying has"
        " started: it waits for the copy."
    )
    with pytest.raises(UserError) as caught:
        take(two, user("lab", reach=("lab", "east", "default")))
    assert (caught.value.message, caught.value.hint) == (
        "Datasets are cached on clusters default and east, but this is for cluster lab.",
        "Add `--cluster default`.",
    )


def push(two: TwoCaching, person: str = ALICE, channel: str = TEAM_A, cluster: str = "") -> Push:
    two.hear_claims()
    pushes = PushService(two.settings, two.clusters, two.words)
    asked = PushRequest("results", "/run-7", "s3://lake/run-7/", cluster=cluster)
    by, now = two.caller(person, channel), two.clock.now()
    return two.do(lambda session: pushes.begin(session, by, asked, now))


def test_a_push_reads_in_its_cluster(two: TwoCaching) -> None:
    nfs = storage_class("nfs", seconds=0) | {"provisioner": "nfs.csi.k8s.io"}
    two.other.create("storageclasses", nfs)
    body = claim("results")
    body["spec"] |= {"accessModes": ["ReadWriteMany"], "storageClassName": "nfs"}
    two.other.create("persistentvolumeclaims", body, "team-a")
    two.look()
    with pytest.raises(UserError) as caught:
        push(two)
    assert caught.value.message == "There is no PVC results in namespace team-a."
    with pytest.raises(UserError) as caught:
        push(two, cluster="lab")
    said = f"{caught.value.message} {caught.value.hint}"
    assert said == (
        "Datasets are in clusters default and east, not in cluster lab. Push from a PVC there."
    )
    made = push(two, cluster="east")
    assert (made.cluster, made.namespace) == ("east", "datasets-east")
    two.pass_time(minutes=1)
    assert two.places("jobs") == [("east", "datasets-east")]
    (job,) = two.other.list("jobs", "datasets-east")
    assert job["spec"]["template"]["spec"]["serviceAccountName"] == "fills"


def test_the_doctor_looks_into_each_cluster(two: TwoCaching) -> None:
    datasets = two.policy.datasets
    assert datasets is not None
    two.other.delete("storageclasses", "fast")
    two.other.delete("secrets", "lake-keys", "datasets-east")
    found = list(checks(two.policy, datasets.at("east"), two.east))
    assert [each.about for each in found if each.state == "ok"] == [
        *("datasets rights", "datasets namespace", "datasets pushing", "datasets sharing"),
        *("cache class standard", "store state"),
    ]
    missing = "the cluster has no storage class of that name"
    remedy = "Create storage class fast, or remove it from datasets.clusters.east.classes."
    gone = "Secret datasets-east/lake-keys does not exist"
    create = "Create it with access-key-id and secret-access-key, or set stores.lake.secret."
    assert [each for each in found if each.state != "ok"] == [
        Finding("cache class fast", "failed", missing, remedy),
        Finding("store lake", "failed", gone, create),
    ]


def test_one_being_evicted_elsewhere_is_no_obstacle(two: TwoCaching) -> None:
    here, there = two.cache(), two.cache(cluster="east")

    def evict(session: Session) -> None:
        row = session.get_one(Cache, there)
        row.wanted = CacheIntent.EVICT
        session.add(row)

    two.do(evict)
    assert take(two, user("default")) == here
    assert refusal(two, cluster="east") == (
        "chest-xray@v3 is being evicted from standard of cluster east. Cache it again when its"
        " card shows Evicted."
    )
