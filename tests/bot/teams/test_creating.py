"""Teams that are created: dry run, approval, then one object at a time, never another's."""

from typing import Any

import pytest

from bot.approvals import Verdict
from bot.audit import lines_about
from bot.errors import UserError
from bot.teams.tables import ChangePhase
from playground.ledger import Fault
from tests.bot.ground import CAROL, INSTALLATION, TEAM_A
from tests.bot.teams.teaming import VISION, OnKai, OnNone, Teaming, labels_of
from tests.databases import ON_BOTH

CREATES = [
    "create namespaces",
    "create rolebindings",
    "create clusterqueues",
    "create localqueues",
]
DRY = ["create namespaces", "create clusterqueues"]


def refusal(rig: Teaming, **asked: Any) -> tuple[str, str]:
    with pytest.raises(UserError) as caught:
        rig.create(**asked)
    return caught.value.message, caught.value.hint


def test_dry_run_shows_what_would_be_created(teaming: Teaming) -> None:
    row_id = teaming.create(above="gpus", channel=VISION, members=("U0ALICE", "S0GROUP"))
    teaming.pass_time(seconds=10)
    assert teaming.card(row_id) == [
        "⏳ Create team vision · Waiting for approval",
    ]
    assert "vision" not in teaming.names("namespaces")
    assert "vision" not in teaming.names("clusterqueues")


def test_approved_team_is_there_and_usable(teaming: Teaming) -> None:
    row_id = teaming.created(above="gpus", channel=VISION, members=("U0ALICE",))
    assert teaming.card(row_id) == [""]
