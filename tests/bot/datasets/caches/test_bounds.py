"""Versions are cached and read only while their owner may use the place they come from."""

import pytest

from bot.datasets.caches.using import User, take
from bot.datasets.finding import Reference
from bot.errors import NotAllowedError
from tests.bot.datasets.caches.filling import Filling
from tests.bot.datasets.caches.fsx.fsx_filling import Importing
from tests.bot.datasets.rig import with_places

SAID = "team-a may not read s3://lake/chest-xray/."


def revoke(filling: Filling) -> None:
    """An admin gives the team another place."""
    filling.policy = with_places(filling.policy, {"team-a": ["s3://lake/chest-xray-2/"]})


def test_versions_out_of_bounds_are_not_cached(filling: Filling) -> None:
    offer = filling.ask()
    revoke(filling)
    with pytest.raises(NotAllowedError, match="may not read"):
        filling.ask()
    with pytest.raises(NotAllowedError, match="may not read"):
        filling.begin(offer)


def test_a_fill_begins_where_allowed_still(filling: Filling) -> None:
    cache_id = filling.cache()
    revoke(filling)
    filling.pass_time(minutes=1)
    cache = filling.found(cache_id)
    assert (cache.phase, cache.reason) == ("failed", SAID)
    assert (filling.jobs(), filling.claims()) == ([], [])


def test_a_fill_under_way_goes_on(filling: Filling) -> None:
    cache_id = filling.cache()
    filling.pass_time(seconds=15)
    revoke(filling)
    filling.pass_time(minutes=2)
    assert filling.found(cache_id).phase == "ready"


def test_nothing_out_of_bounds_is_imported(importing: Importing) -> None:
    cache_id = importing.cache()
    revoke(importing)
    importing.pass_time(minutes=10)
    assert importing.failed(cache_id)[0] == SAID
    assert importing.tasks() == []


def test_runs_read_nothing_out_of_bounds(filling: Filling) -> None:
    filling.cache()
    filling.pass_time(minutes=2)
    revoke(filling)
    user = User(
        ("run", "run-1"),
        "run lane",
        "team-b",
        "default",
        "team-b",
        ("default",),
        (),
        filling.policy,
    )
    wanted, now = [Reference("chest-xray", "v3")], filling.clock.now()
    with pytest.raises(NotAllowedError, match="may not read"):
        filling.do(lambda session: take(session, wanted, user, filling.words, now))
