"""Pushes from volumes that Trident does not find any more."""

import pytest

from bot.errors import ConflictError
from tests.bot.datasets.pushes.pushing import Pushing
from tests.bot.volumes.losing import lose, said


def test_push_from_a_lost_volume_is_refused(rig: Pushing) -> None:
    rig.snapshot()
    lose(rig, "results")
    for options in ({}, {"claim": "", "snapshot": "monday"}):
        with pytest.raises(ConflictError) as caught:
            rig.ask(**options)
        assert (caught.value.message, caught.value.hint) == said("results", "pushed")
