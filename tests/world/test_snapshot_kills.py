"""The bot is killed at each thing it does for snapshots of runs; the story ends the same."""

import asyncio

import pytest

from playground.ledger import Fault
from playground.world import Options
from tests.world.telling import before_and_after, ends_same

_JOB, _TAKE, _MAKE = "create jobs", "create volumesnapshots", "create persistentvolumeclaims"
# The root of the first run, its snapshot, the PVC of the one that goes on from it, that one's
# root, and its own snapshot; of the roots the second is left alone.
KILLS = {
    "cluster": before_and_after(((_JOB, 1), (_TAKE, 1), (_MAKE, 1), (_JOB, 4), (_TAKE, 3))),
    "posts": {("chat.postMessage", number): Fault.KILL_AFTER for number in range(1, 12)},
}


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_snapshots_of_runs_outlive_kills(options: Options) -> None:
    asyncio.run(ends_same("snapshot-runs", options, KILLS))
