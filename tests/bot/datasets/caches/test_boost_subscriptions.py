"""A cache whose pool is in a second subscription is boosted there, and put back."""

import pytest

from bot.config import Settings
from bot.datasets.caches.answers import CacheOffer
from bot.datasets.caches.replies import offered
from bot.slack.text import as_text
from bot.volumes.changes.tables import ChangePhase
from playground.arm.estate import ACCOUNT, FURTHER, GROUP, TIB, Pool
from playground.arm.trident import CLASS, employ
from tests.bot.datasets.caches.boosting import Boosting, settings_of

OURS = f"{GROUP}/{ACCOUNT}"


@pytest.fixture
def lab(boosting: Boosting) -> Pool:
    """Where Trident makes volumes: a pool with manual QoS, named as one of the first."""
    account = boosting.arm.estate.add_account(subscription=FURTHER)
    pool = boosting.arm.estate.add_pool(account, "tuned", "Premium", 4)
    pool.qos = "Manual"
    employ(boosting.world, boosting.arm.estate, pool)
    told = settings_of(boosting.arm).model_dump(exclude_unset=True)
    told["anf"] |= {
        "other_subscriptions": {FURTHER: [OURS]},
        "classes": {CLASS: [f"{FURTHER}/{OURS}/tuned"]},
    }
    boosting.has(Settings.model_validate(told))
    return pool


@pytest.mark.usefixtures("lab")
def test_room_and_boost_are_of_its_own_pool(boosting: Boosting) -> None:
    offer = boosting.offer()
    assert isinstance(offer, CacheOffer)
    told = as_text(offered(offer))
    assert "  Free space  4 TiB of 4 TiB (pool tuned)" in told
    assert "  Boost       4 MiB/s → about 133 MiB/s (pool tuned)" in told


def test_boost_is_set_in_its_subscription(boosting: Boosting, lab: Pool) -> None:
    boosting.fills(seconds=600)
    cache_id = boosting.boost()
    boosting.pass_time(minutes=2)
    (volume,) = boosting.arm.estate.volumes_of(lab)
    assert volume.throughput == 139
    assert boosting.change(cache_id).subscription == FURTHER
    boosting.pass_time(minutes=15)
    assert (volume.throughput, boosting.change(cache_id).phase) == (16, ChangePhase.RETURNED)
    assert (lab.size, list(boosting.arm.estate.volumes_of(boosting.arm.tuned))) == (4 * TIB, [])


def test_refusing_subscription_delays_no_fill(boosting: Boosting, lab: Pool) -> None:
    boosting.fills(seconds=600)
    cache_id = boosting.boost()
    boosting.arm.app.routes.permissions_in(lab.account.subscription).actions = []
    boosting.pass_time(minutes=30)
    assert boosting.found(cache_id).phase == "ready"
    assert boosting.change(cache_id).phase == ChangePhase.WITHDRAWN
