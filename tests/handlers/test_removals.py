"""Above a limit, no button removes anything: each requests an approval of another person."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.handlers.command_client import CAROL, TEAM_A
from tests.handlers.furnished import Furnished, furnished
from tests.playground.cluster.served import Served

LIMIT = "leftovers: {approve_above_gib: 0, approve_above: 0}\n"
REQUESTED = {"approvals", "audit", "messages", "removal_requests"}
REMOVING = {
    "pvc.delete": "pvc",
    "snapshot.delete": "snapshot",
    "dataset.evict": "cache",
    "dataset.remove_orphan": "object",
}


@pytest.fixture
def limited(tmp_path: Path, served: Served) -> Iterator[Furnished]:
    with furnished(tmp_path, served, LIMIT) as found:
        yield found


@pytest.mark.parametrize("action", REMOVING)
def test_buttons_above_a_limit_only_request(limited: Furnished, action: str) -> None:
    before = limited.effects()
    told = limited.client.clicks(CAROL, TEAM_A, action, limited.values[action])
    assert "Requested an approval to remove" in told
    after = limited.effects()
    assert {table for table in after if after[table] != before.get(table)} == REQUESTED
    new = [row for row in after["removal_requests"] if row not in before["removal_requests"]]
    assert [row["kind"] for row in new] == [REMOVING[action]]
