"""A volume that Trident did not make is boosted by a move to a faster pool, and back in time."""

from bot.config import Settings
from bot.datasets.caches.answers import CacheOffer
from bot.datasets.caches.replies import offered
from bot.datasets.caches.tables import CachePhase
from bot.slack.text import as_text
from bot.volumes.changes.tables import ChangePhase as Change
from playground.arm.estate import GIB, Volume
from tests.bot.datasets.caches.boosting import Boosting, settings_of

CLASS = "by-hand"


def by_hand(boosting: Boosting) -> Volume:
    """A class without a provisioner, and a volume in pool standard, exported by hand for it."""
    body = {"metadata": {"name": CLASS}, "provisioner": "kubernetes.io/no-provisioner"}
    boosting.world.create("storageclasses", body)
    made = boosting.arm.estate.add_volume(boosting.arm.standard, "export-1", 512 * GIB)
    spec = {
        "capacity": {"storage": "512Gi"},
        "accessModes": ["ReadWriteMany"],
        "storageClassName": CLASS,
        "persistentVolumeReclaimPolicy": "Retain",
        "nfs": {"server": made.address, "path": f"/{made.path}"},
    }
    boosting.world.create("persistentvolumes", {"metadata": {"name": "export-1"}, "spec": spec})
    told = settings_of(boosting.arm).model_dump(exclude_unset=True)
    told["datasets"] |= {"classes": {CLASS: {"throughput_mib_per_tib": 16}}, "default_class": CLASS}
    told["clusters"] = {"default": {"access_modes": {CLASS: "ReadWriteMany"}}}
    told["anf"] |= {"classes": {CLASS: ["standard"]}}
    boosting.has(Settings.model_validate(told))
    return made


def test_move_is_offered_where_it_is_harmless(boosting: Boosting) -> None:
    by_hand(boosting)
    offer = boosting.offer()
    assert isinstance(offer, CacheOffer)
    told = as_text(offered(offer)).splitlines()
    assert told[2] == (
        "Azure lowers the level of a volume at the earliest 1d after it was raised: the"
        " boost is put back then."
    )
    assert "  Boost       4.1 MiB/s → about 32.9 MiB/s (Ultra, pool ultra) until it is filled," in (
        "\n".join(told)
    )
    assert "  Bill        unchanged: no pool changes its size" in told


def test_moved_volume_goes_back_after_the_wait(boosting: Boosting) -> None:
    volume = by_hand(boosting)
    boosting.fills(seconds=1800)
    cache_id = boosting.boost()
    boosting.pass_time(minutes=10)
    assert volume.pool is boosting.arm.ultra
    assert boosting.boost_told(cache_id).startswith(
        "8.2 MiB/s → 65.5 MiB/s on Ultra until it is filled and Azure allows a lower level:"
    )
    boosting.pass_time(hours=1)
    assert boosting.found(cache_id).phase == CachePhase.READY
    assert (volume.pool, boosting.change(cache_id).phase) == (boosting.arm.ultra, Change.HELD)
    boosting.pass_time(hours=24)
    assert volume.pool is boosting.arm.standard
    assert boosting.change(cache_id).phase == Change.RETURNED
