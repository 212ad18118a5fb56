"""Requests for teams that are withdrawn, before their approval and while objects are created."""

import pytest

from bot.errors import UserError
from bot.teams.tables import ChangePhase
from playground.ledger import Fault
from tests.bot.ground import CAROL
from tests.bot.teams.teaming import Teaming
from tests.bot.teams.test_creating import TRIALS


def withdraw(rig: Teaming, row_id: str) -> None:
    """Carol withdraws."""
    by, now = rig.caller(CAROL, "C0APPROVE"), rig.clock.now()
    rig.do(lambda s: rig.teams.withdraw(s, by, rig.teams.get(s, row_id), now))


def test_withdrawn_team_is_not_created(teaming: Teaming) -> None:
    row_id = teaming.create()
    teaming.pass_time(seconds=10)
    withdraw(teaming, row_id)
    teaming.pass_time(seconds=30)
    assert teaming.card(row_id)[0] == "⏹️ Create team vision · Withdrawn"
    assert teaming.effects() == TRIALS


def begun(rig: Teaming) -> str:
    """A team of which the namespace and the binding exist; the cluster then fails."""
    row_id = rig.create()
    rig.pass_time(seconds=10)
    rig.decides(row_id)
    while "quartermaster-team" not in rig.names("rolebindings", "vision"):
        rig.pass_time(seconds=1)
    return row_id


def test_team_that_is_being_created_is_withdrawn(teaming: Teaming) -> None:
    row_id = begun(teaming)
    teaming.outside.ledger.by_name["create clusterqueues"] = [Fault.REFUSE] * 9
    assert teaming.card(row_id)[-1] == "[Withdraw]"
    withdraw(teaming, row_id)
    with pytest.raises(UserError, match="has already been withdrawn"):
        withdraw(teaming, row_id)
    teaming.pass_time(minutes=2)
    row = teaming.row(row_id)
    assert (row.phase, row.withdrawn_by) == (ChangePhase.WITHDRAWN, CAROL)
    assert teaming.notes(row_id)["ended"] == (
        f"<@{CAROL}> The request to create team vision was withdrawn. Created so far: Namespace"
        " vision, RoleBinding vision/quartermaster-team.\n"
        "What was created stays. Request the same team again to use it, or delete it by hand."
    )
    assert "vision" not in teaming.settings().teams
    assert "vision" not in teaming.names("clusterqueues")
    teaming.outside.ledger.by_name.clear()
    assert teaming.row(teaming.created()).phase == ChangePhase.DONE


def test_nothing_stays_before_the_first_object(teaming: Teaming) -> None:
    row_id = teaming.create()
    teaming.pass_time(seconds=10)
    teaming.outside.ledger.by_name["create namespaces"] = [Fault.REFUSE] * 9
    teaming.decides(row_id)
    teaming.pass_time(seconds=5)
    assert teaming.row(row_id).phase == ChangePhase.MAKING
    withdraw(teaming, row_id)
    teaming.pass_time(minutes=2)
    assert teaming.notes(row_id)["ended"] == (
        f"<@{CAROL}> The request to create team vision was withdrawn. Nothing was created."
    )


def test_withdrawal_does_not_wait_for_the_cluster(teaming: Teaming) -> None:
    row_id = begun(teaming)
    teaming.clusters.clear()
    withdraw(teaming, row_id)
    teaming.pass_time(seconds=10)
    row = teaming.row(row_id)
    assert (row.phase, row.reason) == (
        ChangePhase.WITHDRAWN,
        "What was created is unknown: Cluster default is no longer in quartermaster.yaml.",
    )
