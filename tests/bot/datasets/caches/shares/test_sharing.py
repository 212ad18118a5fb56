"""Caches in other namespaces: by a volume of the same handle, by Trident, or refused with why."""

from typing import Any

import pytest

from bot.database.database import Database
from bot.datasets.caches.shares import service
from bot.datasets.caches.tables import CachePhase, SharePhase
from playground.ledger import Fault
from tests.bot.datasets.caches.shares.sharing import CLAIMS, NFS, TRIDENT, Sharing
from tests.bot.ground import START, Outside

MAKE_VOLUME, MAKE_CLAIM = "create persistentvolumes", "create persistentvolumeclaims"
DELETE_CLAIM, DELETE_VOLUME = "delete persistentvolumeclaims", "delete persistentvolumes"
NOTE, REFER = "patch persistentvolumeclaims", "create tridentvolumereferences"
SHARED_TO = "trident.netapp.io/shareToNamespace"


@pytest.fixture
def rig(own_database: Database, outside: Outside) -> Sharing:
    return Sharing(own_database, outside)


def user(rig: Sharing, share_id: str) -> None:
    """A pod of team-b that mounts the share."""
    claim = {"claimName": rig.get(share_id).claim_name}
    body = {
        "metadata": {"name": "reader"},
        "spec": {
            "containers": [{"name": "main", "image": "ghcr.io/acme/lane:3.1"}],
            "volumes": [{"name": "data", "persistentVolumeClaim": claim}],
        },
    }
    rig.world.create("pods", body, "team-b")


def test_another_namespace_has_the_same_handle(rig: Sharing) -> None:
    cache = rig.cache()
    share_id = rig.share(cache)
    rig.pass_time(seconds=10)
    share, claim = rig.get(share_id), rig.claim(share_id)
    assert (share.phase, share.form, share.volume_name) == ("ready", "static", share.claim_name)
    assert rig.effects() == [MAKE_VOLUME, MAKE_CLAIM]
    assert claim["spec"] | {"volumeMode": ""} == {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "300Gi"}},
        "storageClassName": "",
        "volumeName": share.claim_name,
        "volumeMode": "",
    }
    volume = rig.volume(share.claim_name)
    original = rig.volume(rig.source(cache)["spec"]["volumeName"])
    assert volume["spec"]["csi"] == original["spec"]["csi"]
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert volume["spec"]["mountOptions"] == ["ro"]
    assert volume["status"]["phase"] == claim["status"]["phase"] == "Bound"
    assert volume["metadata"]["labels"]["quartermaster.dev/dataset-share"] == share_id


def test_trident_beside_other_drivers_needs_no_rights(rig: Sharing) -> None:
    rig.world.install("trident")
    rig.world.forbid("get", "tridentvolumereferences")
    share_id = rig.share(rig.cache())
    rig.pass_time(seconds=10)
    assert rig.get(share_id).phase == SharePhase.READY


def test_trident_shares_its_volume_by_notes(rig: Sharing) -> None:
    rig.world.install("trident")
    cache = rig.cache(TRIDENT)
    note = {"metadata": {"annotations": {SHARED_TO: "somebody"}}}
    rig.world.patch(CLAIMS, cache.claim_name, note, "datasets")
    first, second = rig.share(cache), rig.share(cache, "team-c")
    rig.world.create("namespaces", {"metadata": {"name": "team-c"}})
    rig.pass_time(seconds=30)
    assert (rig.get(first).phase, rig.get(second).phase) == ("ready", "ready")
    told = rig.source(cache)["metadata"]["annotations"][SHARED_TO]
    assert sorted(told.split(",")) == ["somebody", "team-b", "team-c"]
    claim = rig.claim(first)
    notes = claim["metadata"]["annotations"]
    assert notes["trident.netapp.io/shareFromPVC"] == f"datasets/{cache.claim_name}"
    assert claim["spec"]["storageClassName"] == "fast"
    assert sorted(rig.effects()) == sorted(2 * [NOTE, REFER, MAKE_CLAIM])
    rig.leave(cache)
    rig.pass_time(minutes=1)
    assert (rig.get(first).phase, rig.get(second).phase) == ("gone", "gone")
    assert rig.source(cache)["metadata"]["annotations"][SHARED_TO] == "somebody"
    assert (rig.world.list("tridentvolumereferences"), rig.claim(first)) == ([], None)
    assert rig.volumes() == [f"datasets/{cache.claim_name}"]


def test_a_retained_volume_ends_its_share(rig: Sharing) -> None:
    rig.world.install("trident")
    cache = rig.cache(TRIDENT, policy="Retain")
    share_id = rig.share(cache)
    rig.pass_time(seconds=30)
    volume = rig.get(share_id).volume_name
    rig.leave(cache)
    rig.pass_time(minutes=1)
    share = rig.get(share_id)
    stays = (
        f"PersistentVolume {volume} of namespace team-b is kept because its reclaimPolicy is"
        " Retain: an admin must delete it and its volume in Trident."
    )
    assert (share.phase, share.trouble) == ("gone", stays)
    assert rig.do(lambda session: service.remains(session, cache.id)) == stays
    assert SHARED_TO not in rig.source(cache)["metadata"].get("annotations", {})
    assert (rig.world.list("tridentvolumereferences"), rig.claim(share_id)) == ([], None)


def test_a_driver_that_cannot_is_named(rig: Sharing) -> None:
    share_id = rig.share(rig.cache("disk.csi.azure.com", phase=CachePhase.FILLING))
    rig.pass_time(minutes=1)
    share = rig.get(share_id)
    assert (share.phase, rig.effects()) == (SharePhase.FAILED, [])
    assert share.reason == (
        "It is on a volume of driver disk.csi.azure.com, which is not known to let"
        " several namespaces"
        " mount one volume."
    )
    assert share.unblock == (
        "If it does, a platform admin can add the driver to datasets.static_drivers."
        " Otherwise cache it on another storage class."
    )


def test_nothing_is_shared_before_it_is_ready(rig: Sharing) -> None:
    share_id = rig.share(rig.cache(phase=CachePhase.FILLING))
    rig.pass_time(minutes=10)
    assert (rig.get(share_id).phase, rig.effects()) == (SharePhase.ASKED, [])


def test_a_failed_cache_takes_its_shares(rig: Sharing) -> None:
    share_id = rig.share(rig.cache(phase=CachePhase.FAILED, ended_at=START))
    rig.pass_time(seconds=10)
    assert (rig.get(share_id).phase, rig.effects()) == (SharePhase.GONE, [])


def test_a_share_leaves_claim_first(rig: Sharing) -> None:
    cache = rig.cache()
    share_id = rig.share(cache)
    rig.pass_time(seconds=10)
    rig.leave(cache)
    rig.pass_time(minutes=1)
    assert rig.get(share_id).phase == SharePhase.GONE
    assert rig.effects()[2:] == [DELETE_CLAIM, DELETE_VOLUME]
    assert rig.volumes() == [f"datasets/{cache.claim_name}"]
    again = rig.share(cache)
    rig.pass_time(seconds=10)
    assert (again != share_id, rig.get(again).phase) == (True, SharePhase.READY)


def test_a_share_stays_while_pods_mount_it(rig: Sharing) -> None:
    cache = rig.cache()
    share_id = rig.share(cache)
    rig.pass_time(seconds=10)
    user(rig, share_id)
    rig.leave(cache)
    rig.pass_time(minutes=5)
    assert (rig.get(share_id).phase, len(rig.effects())) == (SharePhase.LEAVING, 2)
    assert rig.get(share_id).trouble == "In namespace team-b it is mounted by Pod reader."
    rig.world.delete("pods", "reader", "team-b")
    rig.pass_time(minutes=1)
    assert (rig.get(share_id).phase, rig.get(share_id).trouble) == (SharePhase.GONE, "")


def test_a_deleted_claim_is_made_again(rig: Sharing) -> None:
    share_id = rig.share(rig.cache())
    rig.pass_time(seconds=10)
    rig.world.delete(CLAIMS, rig.get(share_id).claim_name, "team-b")
    rig.world.settle()
    rig.do(lambda s: rig.wake(s, share_id))
    rig.pass_time(minutes=1)
    assert rig.get(share_id).phase == SharePhase.READY
    assert rig.effects()[2:] == [DELETE_VOLUME, MAKE_VOLUME, MAKE_CLAIM]


def test_what_is_not_ours_is_not_touched(rig: Sharing) -> None:
    cache = rig.cache()
    share_id = rig.share(cache)
    name = rig.get(share_id).claim_name
    body: dict[str, Any] = {
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "fast",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    rig.world.create(CLAIMS, body, "team-b")
    rig.pass_time(seconds=10)
    share = rig.get(share_id)
    assert (share.phase, rig.effects()) == (SharePhase.FAILED, [])
    assert share.reason == (
        f"It already has PVC {name}, which belongs to something else and was not changed."
    )
    assert rig.claim(share_id) is not None


def test_a_claim_that_stays_unbound_fails(rig: Sharing) -> None:
    rig.world.install("trident")
    cache = rig.cache(TRIDENT)
    share_id = rig.share(cache)
    rig.world.inside.claims.failures["fast"] = "no room"
    rig.pass_time(minutes=6)
    late = f"Late: PVC {rig.get(share_id).claim_name} is not bound yet."
    assert rig.get(share_id).trouble.startswith(f"{late} Kubernetes warns: failed to provision")
    rig.pass_time(minutes=30)
    assert rig.get(share_id).phase == SharePhase.FAILED
    assert "was not bound within 30m. Kubernetes warns: failed to" in rig.get(share_id).reason
    assert (rig.claim(share_id), rig.world.list("tridentvolumereferences")) == (None, [])


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
@pytest.mark.parametrize("driver", [NFS, TRIDENT])
def test_each_request_may_be_lost(rig: Sharing, driver: str, fault: Fault) -> None:
    rig.world.install("trident")
    cache = rig.cache(driver)
    made = [NOTE, REFER, MAKE_CLAIM] if driver == TRIDENT else [MAKE_VOLUME, MAKE_CLAIM]
    for name in (*made, DELETE_CLAIM, DELETE_VOLUME, "delete tridentvolumereferences"):
        rig.outside.ledger.by_name[name] = [fault]
    share_id = rig.share(cache)
    rig.pass_time(minutes=2)
    assert rig.get(share_id).phase == SharePhase.READY
    rig.leave(cache)
    rig.pass_time(minutes=2)
    assert rig.get(share_id).phase == SharePhase.GONE
    assert rig.volumes() == [f"datasets/{cache.claim_name}"]
    assert SHARED_TO not in (rig.source(cache)["metadata"].get("annotations") or {})
