"""Where nothing can be boosted that is said, with the reason, before anything is filled."""

from datetime import timedelta

import pytest

from bot.config import Settings
from bot.datasets.caches.answers import CacheOffer
from bot.datasets.caches.tables import CachePhase
from bot.errors import UserError
from tests.bot.datasets.caches.boosting import Boosting
from tests.bot.ground import ERIN


def refusal(boosting: Boosting) -> str:
    with pytest.raises(UserError) as caught:
        boosting.offer()
    return f"{caught.value.message} {caught.value.hint}"


def test_automatic_qos_behind_trident_is_refused(boosting: Boosting) -> None:
    boosting.arm.tuned.qos = "Auto"
    boosting.look_at_azure()
    assert refusal(boosting) == (
        "Pool tuned has automatic QoS, so only a move to another pool would make the volume"
        " faster. A move changes its Azure id, and Trident, which created it, would not learn"
        " the new id. Without --boost it is filled at its current throughput. Volumes in pools"
        " with manual QoS can be boosted."
    )
    assert isinstance(boosting.ask(ERIN), CacheOffer)


def test_pool_without_throughput_boosts_nothing(boosting: Boosting) -> None:
    other = boosting.arm.estate.add_volume(boosting.arm.tuned, "other", 2**40)
    other.own_throughput = 130
    boosting.look_at_azure()
    assert refusal(boosting) == (
        "Pool tuned has no throughput left for a boost: 1.1 MiB/s for this volume, of 131.1"
        " MiB/s. Without --boost it is filled at its current throughput. `/anf pools` shows the"
        " throughput of pools."
    )


def test_volumes_of_other_drivers_are_refused(boosting: Boosting) -> None:
    classes = {"standard": {"throughput_mib_per_tib": 16}}
    told = boosting.policy.model_dump(exclude_unset=True)
    told["datasets"] |= {"classes": classes, "default_class": "standard"}
    boosting.has(Settings.model_validate(told))
    assert refusal(boosting) == (
        "Volumes of storage class standard are created by csi.playground. Whether they are on"
        " Azure NetApp Files is unknown, so they cannot be boosted. Omit --boost, or choose a"
        " Trident class with --class."
    )


def test_nothing_is_boosted_that_is_not_set_up(boosting: Boosting) -> None:
    told = boosting.policy.model_dump(exclude_unset=True)
    anf = {key: value for key, value in told["anf"].items() if key != "changes"}
    boosting.policy = Settings.model_validate(told | {"anf": anf})
    assert refusal(boosting).startswith(
        "Changing levels and throughput is not enabled, so nothing can be boosted."
    )
    boosting.policy = Settings.model_validate({k: v for k, v in told.items() if k != "anf"})
    assert refusal(boosting).startswith("Azure NetApp Files is not configured.")


def test_pools_that_nobody_saw_boost_nothing(boosting: Boosting) -> None:
    boosting.outside.clock.moment += timedelta(hours=2)
    assert refusal(boosting) == (
        "The capacity pool of storage class azurenetappfiles is unknown, so its volumes cannot"
        " be boosted. A platform admin can name it in anf.classes in quartermaster.yaml. Azure"
        " is checked every ten minutes."
    )


def test_class_that_left_the_settings_boosts_nothing(boosting: Boosting) -> None:
    boosting.fills(seconds=1000)
    boosting.begin(boosting.ask(ERIN), ERIN)
    boosting.pass_time(minutes=5)
    told = boosting.policy.model_dump(exclude_unset=True)
    told["datasets"] |= {"classes": {"standard": {}}, "default_class": "standard"}
    boosting.policy = Settings.model_validate(told)
    assert refusal(boosting) == (
        "Storage class azurenetappfiles is no longer used for caching. Leave out --boost:"
        " caches in progress there are still completed."
    )


def test_pool_that_changed_since_is_told(boosting: Boosting) -> None:
    boosting.fills(seconds=900)
    cache_id = boosting.boost()
    boosting.arm.tuned.qos = "Auto"
    boosting.pass_time(minutes=5)
    assert boosting.boost_told(cache_id).startswith("none. Pool tuned has automatic QoS")
    assert boosting.found(cache_id).phase == CachePhase.FILLING
    boosting.pass_time(minutes=15)
    assert boosting.found(cache_id).phase == CachePhase.READY
    assert boosting.asked_of_azure() == []


def test_pool_that_changed_before_the_button(boosting: Boosting) -> None:
    offer = boosting.offer()
    boosting.arm.tuned.qos = "Auto"
    boosting.look_at_azure()
    with pytest.raises(UserError) as caught:
        boosting.begin(offer, ERIN)
    assert caught.value.message.startswith("Pool tuned has automatic QoS")
    assert boosting.claims() == []
