"""What goes wrong with fills: said in words, cleaned up, and asked for again."""

import pytest

from bot.datasets.caches.tables import CachePhase
from playground.cluster.story import storage_class
from tests.bot.datasets.caches.filling import DONE, Filling, settings
from tests.bot.datasets.caches.rows import DIGEST
from tests.bot.ground import ALICE, DENIAL

CHANGED = {
    "event": "failed",
    "reason": "changed",
    "message": "labels.csv is not the object that was recorded.",
    "hint": "Record a new version.",
    "keys": ["labels.csv"],
}


def first_lines(filling: Filling, cache_id: str) -> list[str]:
    return filling.shown(cache_id).partition("\n  Files")[0].splitlines()


def nothing_is_left(filling: Filling) -> bool:
    return (filling.claims(), filling.jobs(), filling.world.list("persistentvolumes")) == (
        [], [], filling.others,
    )  # fmt: skip


def test_content_that_changed_offers_a_version(filling: Filling) -> None:
    filling.fills(last=CHANGED, seconds=10, code=65)
    cache_id = filling.cache()
    filling.pass_time(minutes=5)
    cache = filling.found(cache_id)
    assert (cache.phase, cache.stage, cache.is_cleared) == (CachePhase.FAILED, "changed", True)
    assert first_lines(filling, cache_id) == [
        "❌ chest-xray@v3 on standard · Not cached",
        "labels.csv is not the object that was recorded.",
        "Record a new version.",
        "First keys: `labels.csv`",
    ]
    assert filling.shown(cache_id).splitlines()[-1] == "  [Record a new version]"
    assert filling.notes(cache_id) == {
        "failed": f"<@{ALICE}> chest-xray@v3 was not cached."
        " labels.csv is not the object that was recorded.\n"
        "First keys affected: labels.csv.\n"
        "Record a new version.\n"
        "Its source now holds a different version: `/dataset version chest-xray` records it."
    }
    assert nothing_is_left(filling)


@pytest.mark.parametrize("reason", ["no_room", "bad_keys", "corrupt", "no_access"])
def test_what_the_worker_says_is_told(filling: Filling, reason: str) -> None:
    said = CHANGED | {"reason": reason, "message": "It went wrong.", "hint": "", "keys": []}
    filling.fills(last=said, seconds=10, code=65)
    cache_id = filling.cache()
    filling.pass_time(minutes=5)
    assert first_lines(filling, cache_id)[1:] == ["It went wrong."]
    assert nothing_is_left(filling)


def test_what_failed_can_be_cached_again(filling: Filling) -> None:
    filling.fills(last=CHANGED, seconds=10, code=65)
    first = filling.cache()
    filling.pass_time(minutes=5)
    filling.fills()
    again = filling.cache()
    filling.pass_time(minutes=3)
    assert first != again
    assert filling.found(again).phase == CachePhase.READY


def test_a_store_that_is_down_is_tried_again(filling: Filling) -> None:
    said = CHANGED | {"reason": "store_down", "message": "The store does not answer.", "hint": ""}
    filling.fills(last=said | {"keys": []}, seconds=10, code=75)
    cache_id = filling.cache()
    filling.pass_time(seconds=50)
    assert first_lines(filling, cache_id)[0].startswith("⚠️ chest-xray@v3 on standard · Copying")
    assert "The store does not answer. Retrying." in first_lines(filling, cache_id)
    filling.pass_time(minutes=30)
    assert filling.found(cache_id).reason == "The store does not answer."
    assert nothing_is_left(filling)


@pytest.mark.parametrize(
    ("plural", "said"),
    [
        ("jobs", "Its Job was deleted outside Quartermaster."),
        ("persistentvolumeclaims", "Its PVC is being deleted"),
    ],
)
def test_deleted_objects_are_told_and_final(filling: Filling, plural: str, said: str) -> None:
    cache_id = filling.cache()
    filling.pass_time(seconds=20)
    filling.world.delete(plural, filling.found(cache_id).job_name, "datasets")
    filling.pass_time(minutes=2)
    assert first_lines(filling, cache_id)[1].startswith(said)
    assert first_lines(filling, cache_id)[2] == "Cache it again."
    assert nothing_is_left(filling)


def test_a_ready_volume_that_vanishes_is_told(filling: Filling) -> None:
    cache_id = filling.cache()
    filling.pass_time(minutes=3)
    filling.world.delete("persistentvolumeclaims", filling.found(cache_id).claim_name, "datasets")
    filling.pass_time(hours=2)
    assert first_lines(filling, cache_id)[:2] == [
        "❌ chest-xray@v3 on standard · No longer cached",
        "Its PVC was deleted outside Quartermaster.",
    ]
    assert filling.notes(cache_id)["failed"] == (
        f"<@{ALICE}> chest-xray@v3 is no longer cached. Its PVC was deleted outside"
        " Quartermaster.\n"
        "Cache it again."
    )


def test_a_provisioner_that_fails_is_quoted(filling: Filling) -> None:
    filling.world.nature.break_provisioner("standard", "no capacity pools found")
    cache_id = filling.cache()
    filling.pass_time(minutes=16)
    quoted = (
        'Its volume is not created: failed to provision volume with StorageClass "standard":'
        " no capacity pools found."
    )
    state, obstacle = first_lines(filling, cache_id)
    assert state == "⚠️ chest-xray@v3 on standard · Starting"
    assert obstacle == f"Late: its volume has not been created after 15m 12s. {quoted}"
    filling.pass_time(hours=1)
    assert filling.found(cache_id).reason == f"Its pod did not start within 1h. {quoted}"
    assert nothing_is_left(filling)


def test_a_volume_may_take_a_minute(filling: Filling) -> None:
    filling.world.create("storageclasses", storage_class("slow", seconds=150))
    filling.policy = settings(classes={"slow": {}}, default_class="slow")
    cache_id = filling.cache()
    filling.pass_time(seconds=50)
    assert first_lines(filling, cache_id) == ["⏳ chest-xray@v3 on slow · Starting"]
    filling.pass_time(seconds=40)
    obstacle = (
        "Its pod cannot be scheduled: 0/2 nodes are available: pod has unbound immediate"
        " PersistentVolumeClaims. preemption: 0/2 nodes are available: 2 Preemption is not helpful"
        " for scheduling."
    )
    assert first_lines(filling, cache_id) == ["⚠️ chest-xray@v3 on slow · Starting", obstacle]
    filling.pass_time(minutes=5)
    assert filling.found(cache_id).phase == CachePhase.READY


def test_a_missing_secret_is_named_in_time(filling: Filling) -> None:
    filling.world.delete("secrets", "lake-keys", "datasets")
    cache_id = filling.cache()
    filling.pass_time(minutes=16)
    assert first_lines(filling, cache_id)[1] == (
        "Late: its pod is not running after 15m 12s. Kubernetes warns: MountVolume.SetUp"
        ' failed for volume "keys-0" : secret "lake-keys" not found.'
    )


def test_a_fill_that_stalls_is_late(filling: Filling) -> None:
    filling.fills(seconds=36_000, stalls_after=60)
    cache_id = filling.cache()
    filling.pass_time(minutes=2)
    filling.leap(minutes=16)
    assert filling.found(cache_id).is_late
    assert first_lines(filling, cache_id)[-1].startswith("Late: nothing has been copied for 1")


def test_a_fill_ends_after_its_time(filling: Filling) -> None:
    filling.policy = settings(classes={"standard": {"throughput_mib_per_tib": 6400}})
    filling.fills(seconds=200_000)
    cache_id = filling.cache()
    filling.pass_time(seconds=10)
    filling.leap(hours=4)
    assert first_lines(filling, cache_id)[-1] == (
        "Late for chest-xray@v3, which takes 2m 28s at best. The fill is given up in 8h 7m."
    )
    filling.leap(hours=8, minutes=30)
    cache = filling.found(cache_id)
    assert (cache.phase, cache.stage) == (CachePhase.FAILED, "deadline")
    assert cache.reason == "It was not filled within 12h 7m."
    filling.pass_time(minutes=1)
    assert nothing_is_left(filling)


def test_objects_of_somebody_else_stay(filling: Filling) -> None:
    offer = filling.begin(filling.ask())
    name = offer.cache.claim_name
    spec = {
        "accessModes": ["ReadWriteMany"],
        "storageClassName": "standard",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    filling.world.create(
        "persistentvolumeclaims", {"metadata": {"name": name}, "spec": spec}, "datasets"
    )
    filling.pass_time(minutes=1)
    assert first_lines(filling, offer.cache.id)[1] == (
        f"Namespace datasets already has PVC {name}, which belongs to something else, so nothing"
        " was changed."
    )
    assert (filling.effects(), len(filling.claims())) == ([], 1)


def test_a_strange_job_leaves_ready_caches_alone(filling: Filling) -> None:
    cache_id = filling.cache()
    filling.pass_time(minutes=3)
    cache = filling.found(cache_id)
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "x", "image": "x"}]}}
    job = {"metadata": {"name": cache.job_name}, "spec": {"template": template}}
    filling.world.create("jobs", job, "datasets")
    filling.pass_time(hours=2)
    assert (filling.found(cache_id).phase, len(filling.claims())) == (CachePhase.READY, 1)


def test_a_quota_that_is_full_is_told(filling: Filling) -> None:
    offer = filling.ask()
    quota = {"metadata": {"name": "storage"}, "spec": {"hard": {"requests.storage": "10Gi"}}}
    filling.world.create("resourcequotas", quota, "datasets")
    cache_id = filling.begin(offer).cache.id
    filling.pass_time(minutes=1)
    cache = filling.found(cache_id)
    assert cache.reason.startswith("The namespace's ResourceQuota has no capacity for it. Creating")
    assert (cache.phase, cache.is_cleared, filling.claims()) == (CachePhase.FAILED, True, [])


def test_another_version_is_never_ready(filling: Filling) -> None:
    other = "sha256:" + 64 * "b"
    filling.fills(last=DONE | {"digest": other})
    cache_id = filling.cache()
    filling.pass_time(minutes=5)
    cache = filling.found(cache_id)
    assert (cache.phase, cache.reason) == (
        CachePhase.FAILED,
        f"The copied data is {other}, not {DIGEST}.",
    )


def test_a_volume_that_is_retained_is_named(filling: Filling) -> None:
    filling.retain("standard")
    filling.fills(last=CHANGED, seconds=10, code=65)
    cache_id = filling.cache()
    filling.pass_time(minutes=5)
    cache = filling.found(cache_id)
    assert cache.is_cleared
    assert cache.unblock == (
        f"Record a new version. Its volume {cache.volume_name} is kept because its"
        " reclaimPolicy is Retain: an admin must delete it."
    )


def test_a_claim_that_stays_is_for_admins(filling: Filling) -> None:
    filling.fills(last=CHANGED, seconds=10, code=65)
    cache_id = filling.cache()
    claim = filling.found(cache_id).claim_name
    filling.pass_time(seconds=5)
    held = {"metadata": {"finalizers": ["acme.example/holds"]}}
    filling.world.patch("persistentvolumeclaims", claim, held, "datasets")
    filling.pass_time(minutes=5)
    assert (filling.found(cache_id).phase, filling.found(cache_id).is_cleared) == ("failed", False)
    filling.leap(hours=25)
    filling.pass_time(minutes=1)
    cache = filling.found(cache_id)
    assert (cache.is_cleared, cache.unblock) == (
        True,
        (
            f"Record a new version. After 1d its PVC {claim} still exists and is being"
            " deleted. An admin must check why; `/dataset usage` lists it."
        ),
    )


def test_a_store_taken_away_waits_for_it(filling: Filling) -> None:
    cache_id = filling.cache()
    configured = filling.policy
    filling.policy = configured.model_copy(update={"stores": {}})
    filling.pass_time(seconds=30)
    assert filling.found(cache_id).trouble == (
        "quartermaster.yaml no longer has stores.lake and stores.state."
    )
    filling.policy = configured
    filling.pass_time(minutes=10)
    assert filling.found(cache_id).phase == CachePhase.READY


@pytest.mark.parametrize("made", ["jobs", "persistentvolumeclaims"])
def test_a_policy_that_denies_ends_it(filling: Filling, made: str) -> None:
    filling.deny(made)
    cache_id = filling.cache()
    filling.pass_time(minutes=10)
    cache = filling.found(cache_id)
    assert (cache.phase, DENIAL in cache.reason) == (CachePhase.FAILED, True)
    assert (filling.claims(), filling.jobs()) == ([], [])
