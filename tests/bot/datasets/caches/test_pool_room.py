"""The room of a capacity pool decides what is cached, whatever a budget says."""

from datetime import timedelta

import pytest
from sqlmodel import Session

from bot.config import Anf
from bot.datasets.caches.answers import CacheOffer
from bot.errors import LimitError
from bot.volumes.tables import SeenPool
from tests.bot.datasets.caches.filling import Filling, settings
from tests.bot.ground import START

GIB = 2**30
ANF = Anf(subscription="00000000-0000-0000-0000-000000000000", classes={"standard": ("premium-1",)})


def know(filling: Filling, size: int, taken: int, age: timedelta) -> None:
    """Has a pool been looked at some time ago."""
    filling.policy = settings(classes={"standard": {"budget": "20Ti"}}).model_copy(
        update={"anf": ANF}
    )

    def work(session: Session) -> None:
        seen_at = START - age
        row = SeenPool(
            id="a", name="premium-1", size_bytes=size, taken_bytes=taken, seen_at=seen_at
        )
        session.add(row)

    filling.do(work)


def test_full_pool_refuses_a_cache(filling: Filling) -> None:
    know(filling, 1024 * GIB, 900 * GIB, timedelta(minutes=5))
    with pytest.raises(LimitError) as caught:
        filling.ask()
    assert "124 GiB of 1 TiB are free (pool premium-1)." in caught.value.message


def test_old_figures_leave_it_to_the_budget(filling: Filling) -> None:
    know(filling, 1024 * GIB, 900 * GIB, timedelta(hours=1))
    found = filling.ask()
    assert isinstance(found, CacheOffer)
    assert found.estimate.source == "budget"
