"""The bot is killed between the objects of a group of pods; the story ends the same."""

import asyncio

import pytest

from playground.ledger import Fault
from playground.world import Options
from tests.world.telling import before_and_after, ends_same

_KINDS = ("secrets", "services", "deployments")
# Its Job comes first: without the workers the launcher's pod is no whole group, and waits.
_CREATES = (("create jobs", 1), *((f"create {each}", 1) for each in _KINDS))
_DELETES = tuple((f"delete {each}", 1) for each in _KINDS)
KILLS = {
    "created": before_and_after(_CREATES),
    "deleted": before_and_after(_DELETES),
    "unheard": dict.fromkeys((*_CREATES, *_DELETES), Fault.KILL_AFTER),
}


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_groups_of_pods_outlive_kills(options: Options) -> None:
    asyncio.run(ends_same("pod-group", options, KILLS))
