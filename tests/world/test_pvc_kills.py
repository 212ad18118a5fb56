"""The bot is killed at each thing it does to a team's PVCs; the story ends the same."""

import asyncio

import pytest

from playground.ledger import Fault
from playground.world import Options
from tests.world.telling import before_and_after, ends_same

_TAKE, _MAKE = "create volumesnapshots", "create persistentvolumeclaims"
_GROW, _DELETE = "patch persistentvolumeclaims", "delete persistentvolumeclaims"
KILLS = {
    "cluster": before_and_after(((_TAKE, 1), (_MAKE, 1), (_GROW, 1), (_TAKE, 3), (_DELETE, 1))),
    "copy": before_and_after(((_MAKE, 2), ("create jobs", 2), ("delete jobs", 1))),
    "posts": {("chat.postMessage", number): Fault.KILL_AFTER for number in range(1, 7)},
}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_changes_of_claims_outlive_kills(options: Options) -> None:
    asyncio.run(ends_same("pvcs", options, KILLS))
