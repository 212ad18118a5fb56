"""Evicting: marked, looked at again, and then gone for good, or kept and said why."""

from datetime import timedelta
from typing import Any

import pytest

from bot.audit import lines_about
from bot.cluster.resources import PVCS, SNAPSHOTS, VOLUMES
from bot.datasets.caches.tables import CacheIntent, CachePhase
from bot.errors import ConflictError
from playground.cluster.story import storage_class
from playground.ledger import Fault
from tests.bot.datasets.caches.keeping import SNAPSHOT_CRD, Keeping
from tests.bot.datasets.caches.rows import CAPACITY
from tests.bot.ground import ALICE, BOB


def refused(keeping: Keeping, cache_id: str) -> str:
    with pytest.raises(ConflictError) as caught:
        keeping.mark(cache_id)
    return caught.value.message


def test_what_nobody_uses_is_evicted_for_good(keeping: Keeping) -> None:
    cache_id = keeping.cache()
    keeping.mark(cache_id)
    keeping.pass_time(minutes=1)
    cache = keeping.get(cache_id)
    assert (cache.phase, cache.freed_bytes, cache.is_cleared) == (
        CachePhase.EVICTED,
        CAPACITY,
        True,
    )
    assert keeping.cluster.list(VOLUMES, fields=f"metadata.name={cache.volume_name}") == []
    assert keeping.gone()
    assert keeping.notes(cache_id) == {
        "evicted": "Evicted chest-xray@v3 from standard. Freed 300 GiB."
    }
    lines = keeping.do(lambda session: lines_about(session, cache_id))
    assert [(line.verb, line.person) for line in lines] == [("dataset.evict", ALICE)]


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_a_lost_answer_evicts_all_the_same(keeping: Keeping, fault: Fault) -> None:
    cache_id = keeping.cache()
    keeping.outside.ledger.by_name["delete persistentvolumeclaims"] = [fault]
    keeping.mark(cache_id)
    keeping.pass_time(minutes=5)
    assert (keeping.get(cache_id).phase, keeping.gone()) == (CachePhase.EVICTED, True)
    assert list(keeping.notes(cache_id)) == ["evicted"]


def test_runs_and_pins_refuse_it_by_name(keeping: Keeping) -> None:
    cache_id = keeping.cache()
    keeping.hold(cache_id)
    until = keeping.clock.now() + timedelta(days=14)
    keeping.hold(cache_id, subject_kind="pin", subject_id=BOB, why="CVPR", until=until)
    assert refused(keeping, cache_id) == (
        "chest-xray@v3 cannot be evicted from standard. It is needed by run lane of team-a."
        f" <@{BOB}> has pinned it for another 14d: CVPR."
    )
    keeping.release()
    keeping.pass_time(days=15)
    keeping.mark(cache_id)
    keeping.pass_time(minutes=1)
    assert keeping.get(cache_id).phase == CachePhase.EVICTED


def test_a_pod_found_afterwards_calls_it_off(keeping: Keeping) -> None:
    cache_id = keeping.cache()
    keeping.mount(cache_id)
    keeping.mark(cache_id)
    keeping.pass_time(minutes=1)
    cache = keeping.get(cache_id)
    assert (cache.phase, cache.wanted, keeping.effects()) == (
        CachePhase.READY,
        CacheIntent.READY,
        [],
    )
    (said,) = keeping.notes(cache_id).values()
    assert said == (
        "chest-xray@v3 stays on standard. Its eviction was cancelled: it is in use."
        " Pod loader in namespace datasets mounts it."
    )
    keeping.unmount()
    keeping.pass_time(minutes=1)
    keeping.mark(cache_id)
    keeping.pass_time(minutes=1)
    assert keeping.get(cache_id).phase == CachePhase.EVICTED


def test_a_pod_that_mounts_a_share_counts(keeping: Keeping) -> None:
    cache_id = keeping.cache()
    keeping.share(cache_id)
    claim = keeping.claim(keeping.get(cache_id))
    keeping.world.create("persistentvolumeclaims", claim | {"spec": claim["spec"]}, "team-a")
    keeping.mount(cache_id, namespace="team-a")
    keeping.mark(cache_id)
    keeping.pass_time(minutes=1)
    assert keeping.get(cache_id).called_off == (
        "Its eviction was cancelled: it is in use. Pod loader in namespace team-a mounts it."
    )
    keeping.unmount(namespace="team-a")
    keeping.pass_time(minutes=1)
    keeping.mark(cache_id)
    keeping.pass_time(minutes=1)
    assert keeping.get(cache_id).phase == CachePhase.EVICTED


def test_what_keeps_a_share_is_told(keeping: Keeping) -> None:
    cache_id = keeping.cache()
    keeping.share(cache_id)
    keeping.stick("PersistentVolume pv-1 of it is still Released; its reclaim policy is Retain.")
    keeping.mark(cache_id)
    keeping.pass_time(minutes=1)
    assert keeping.get(cache_id).obstacle == (
        "Its shares are deleted first: team-a. PersistentVolume pv-1 of it is still"
        " Released; its reclaim"
        " policy is Retain."
    )
    keeping.stick("")
    keeping.pass_time(minutes=1)
    assert keeping.get(cache_id).phase == CachePhase.EVICTED


def test_a_snapshot_keeps_its_volume(keeping: Keeping) -> None:
    cache_id = keeping.cache()
    keeping.world.create("customresourcedefinitions", SNAPSHOT_CRD)
    keeping.pass_time(seconds=2)
    source = {"source": {"persistentVolumeClaimName": keeping.get(cache_id).claim_name}}
    snapshot = {"metadata": {"name": "before-cleaning"}, "spec": source}
    keeping.cluster.create(SNAPSHOTS, snapshot, "datasets")
    keeping.mark(cache_id)
    keeping.pass_time(minutes=1)
    assert keeping.get(cache_id).called_off == (
        "Its eviction was cancelled: it is in use."
        " VolumeSnapshot before-cleaning in namespace datasets was taken of it."
    )


@pytest.mark.parametrize(
    "how",
    [
        {"dataSourceRef": True},
        {
            "trident.netapp.io/cloneFromPVC": "NAME",
            "trident.netapp.io/cloneFromNamespace": "datasets",
        },
        {"trident.netapp.io/shareFromPVC": "datasets/NAME"},
    ],
)
def test_a_clone_keeps_its_volume(keeping: Keeping, how: dict[str, Any]) -> None:
    cache_id = keeping.cache()
    cache = keeping.get(cache_id)
    source = {"kind": "PersistentVolumeClaim", "name": cache.claim_name}
    by_source = "dataSourceRef" in how
    spec = {"dataSource": source, "dataSourceRef": source} if by_source else {}
    clone = keeping.claim(cache, "mine", **spec)
    if not by_source:
        notes = {key: value.replace("NAME", cache.claim_name) for key, value in how.items()}
        clone["metadata"]["annotations"] = notes
    namespace = "datasets" if by_source else "team-b"
    keeping.world.create("persistentvolumeclaims", clone, namespace)
    keeping.mark(cache_id)
    keeping.pass_time(minutes=1)
    assert keeping.get(cache_id).called_off == (
        "Its eviction was cancelled: it is in use."
        f" PVC mine in namespace {namespace} is a clone or share of it."
    )


def test_a_retained_volume_is_not_free(keeping: Keeping) -> None:
    kept = storage_class("kept", seconds=0) | {"reclaimPolicy": "Retain"}
    keeping.world.create("storageclasses", kept)
    cache_id = keeping.cache(storage_class="kept")
    keeping.mark(cache_id)
    keeping.pass_time(minutes=1)
    cache = keeping.get(cache_id)
    assert (cache.phase, cache.freed_bytes) == (CachePhase.EVICTED, 0)
    assert cache.reason == (
        f"Its volume {cache.volume_name} is kept because its reclaimPolicy is Retain: 300"
        " GiB are freed only when an admin deletes it."
    )


def test_space_counts_only_without_the_volume(keeping: Keeping) -> None:
    cache_id = keeping.cache()
    name = keeping.get(cache_id).volume_name
    hold = {"metadata": {"finalizers": ["example.com/array-is-busy"]}}
    keeping.world.patch("persistentvolumes", name, hold)
    keeping.mark(cache_id)
    keeping.pass_time(minutes=10)
    cache = keeping.get(cache_id)
    assert (cache.phase, cache.freed_bytes) == (CachePhase.EVICTING, None)
    assert cache.obstacle == (
        f"Its PVC is deleted, but volume {name} is still Bound: 300 GiB are not freed yet."
    )
    keeping.world.patch("persistentvolumes", name, {"metadata": {"finalizers": []}})
    keeping.pass_time(minutes=1)
    assert (keeping.get(cache_id).phase, keeping.get(cache_id).freed_bytes) == (
        CachePhase.EVICTED,
        CAPACITY,
    )


def test_what_is_not_ours_is_left_alone(keeping: Keeping) -> None:
    cache_id = keeping.cache()
    cache = keeping.get(cache_id)
    keeping.world.delete("persistentvolumeclaims", cache.claim_name, "datasets")
    other = keeping.claim(cache, cache.claim_name)
    keeping.world.create("persistentvolumeclaims", other, "datasets")
    keeping.mark(cache_id)
    keeping.pass_time(minutes=5)
    assert keeping.cluster.get(PVCS, cache.claim_name, "datasets") is not None
    assert keeping.effects() == []


def test_a_fill_under_way_is_evicted_too(keeping: Keeping) -> None:
    cache_id = keeping.cache(phase=CachePhase.FILLING, ready_at=None)
    cache = keeping.get(cache_id)
    marks = keeping.claim(cache)["metadata"]["labels"]
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": cache.claim_name}}]
    container = {"name": "worker", "image": "busybox", "command": ["sleep", "infinity"]}
    pod = {"restartPolicy": "Never", "containers": [container], "volumes": volumes}
    template = {"metadata": {"labels": marks}, "spec": pod}
    job = {"metadata": {"name": cache.job_name, "labels": marks}, "spec": {"template": template}}
    keeping.world.create("jobs", job, "datasets")
    keeping.world.settle()
    keeping.mark(cache_id)
    keeping.pass_time(minutes=3)
    assert (keeping.get(cache_id).phase, keeping.gone()) == (CachePhase.EVICTED, True)
    assert keeping.effects() == ["delete jobs", "delete persistentvolumeclaims"]


def test_it_is_marked_only_once(keeping: Keeping) -> None:
    cache_id = keeping.cache()
    keeping.mark(cache_id)
    assert refused(keeping, cache_id) == "chest-xray@v3 is already being evicted."


def test_nothing_is_deleted_while_nobody_answers(keeping: Keeping) -> None:
    cache_id = keeping.cache()
    keeping.mark(cache_id)
    keeping.outside.cluster.admit_bot("bot-token", ())
    keeping.run()
    assert (keeping.get(cache_id).phase, keeping.effects()) == (CachePhase.READY, [])
    assert "403" in keeping.get(cache_id).trouble
