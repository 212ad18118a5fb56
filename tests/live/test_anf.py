"""Azure NetApp Files is read and changed as the bot does it, and left as it was."""

from datetime import timedelta
from typing import Any

import pytest

from bot.volumes.changes.service import ChangeButton
from bot.volumes.changes.tables import ChangeKind
from bot.volumes.deadline import Deadline
from bot.volumes.resources import AnfVolume
from tests.live.azure import CLAIM, Live

_WHILE = 3600


def asked(kind: ChangeKind, **more: Any) -> ChangeButton:
    return ChangeButton(
        team="team-a", cluster="default", claim=CLAIM, kind=kind, seconds=_WHILE, **more
    )


def is_as(before: AnfVolume, now: AnfVolume) -> bool:
    """Whether it has its place and its throughput again; what is in it may change."""
    return (before.id, before.level, before.throughput_mibps, before.quota_bytes) == (
        now.id, now.level, now.throughput_mibps, now.quota_bytes,
    )  # fmt: skip


def test_volume_and_pools_are_read(live: Live) -> None:
    estate = live.files.estate(Deadline(60))
    pools = {each.name.lower(): each for each in estate.pools}
    assert {live.at.pool.lower(), live.at.lower_pool.lower()} <= pools.keys()
    both = (live.at.pool, live.at.lower_pool)
    assert [pools[name.lower()].qos for name in both] == ["Manual", "Manual"]
    assert live.volume.id in {each.id for each in estate.volumes}
    assert live.volume.addresses
    assert (live.volume.throughput_mibps or 0) >= 1
    assert live.volume.quota_bytes <= pools[live.at.pool.lower()].size_bytes


def test_throughput_is_set_and_given_back(live: Live) -> None:
    with live.leaves_it_as_it_is() as before:
        mibps = (before.throughput_mibps or 0) - 1
        row_id = live.change(asked(ChangeKind.THROUGHPUT, mibps=mibps))
        assert live.volume.throughput_mibps == mibps
        assert live.volume.id == before.id
        live.give_back(row_id)
        assert is_as(before, live.volume)


def test_level_is_lowered_and_given_back(live: Live) -> None:
    with live.leaves_it_as_it_is() as before:
        lower = live.lower
        row_id = live.change(asked(ChangeKind.LEVEL, level=lower.level, pool=lower.name))
        there = live.volume
        assert there.level == lower.level
        assert (there.path, there.file_system) == (before.path, before.file_system)
        assert there.id != before.id
        live.give_back(row_id)
        assert is_as(before, live.volume)


def test_what_is_broken_off_is_put_back(live: Live) -> None:
    before, lower = live.volume, live.lower

    def is_broken_off() -> None:
        with live.leaves_it_as_it_is():
            row_id = live.begin(asked(ChangeKind.LEVEL, level=lower.level, pool=lower.name))
            live.until(row_id, lambda row: bool(row.operation))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        is_broken_off()
    live.later(timedelta(minutes=2))
    assert is_as(before, live.volume)
