"""New teams and the settings of others: what fits when it is requested may not fit at the end."""

from functools import partial

import pytest

from bot.errors import UserError
from bot.quotas.engines.registry import Engines
from bot.teams.service import TeamRequest, TeamService
from bot.teams.tables import ChangePhase
from tests.bot.teams.teaming import VISION, Teaming


def test_channel_taken_meanwhile_ends_the_request(teaming: Teaming) -> None:
    first = teaming.create(channel=VISION)
    second = teaming.create("speech", channel=VISION)
    teaming.pass_time(seconds=10)
    teaming.decides(second)
    teaming.pass_time(seconds=30)
    teaming.decides(first)
    teaming.pass_time(seconds=30)
    row = teaming.row(first)
    assert (row.phase, row.reason, row.unblock) == (
        ChangePhase.FAILED,
        (
            "Team vision no longer fits the settings: C0VISION already belongs to speech; a channel"
            " belongs to one team. Nothing was created."
        ),
        "Request it again with what fits, for example another channel.",
    )
    assert list(teaming.settings().teams) == ["team-a", "speech"]
    assert "vision" not in teaming.names("namespaces")


def test_file_that_names_it_meanwhile_wins(teaming: Teaming) -> None:
    row_id = teaming.create()
    teaming.pass_time(seconds=10)
    teaming.decides(row_id)
    while "vision" not in teaming.names("clusterqueues"):
        teaming.pass_time(seconds=1)
    other = {"namespace": "vision-prod", "queue": "vision"}
    in_file = {name: team.model_dump() for name, team in teaming.policy.teams.items()}
    teaming.policy = teaming.told(teams={**in_file, "vision": other})
    teaming.pass_time(seconds=30)
    row = teaming.row(row_id)
    assert (row.phase, row.reason) == (
        ChangePhase.FAILED,
        (
            "Team vision no longer fits the settings: there is a team vision now, with another"
            " cluster, namespace or queue. All objects were created, and stay."
        ),
    )
    assert teaming.settings().teams["vision"].namespace == "vision-prod"


def test_file_with_the_same_team_adds_to_it(teaming: Teaming) -> None:
    row_id = teaming.create(members=("U0ALICE",))
    in_file = {name: team.model_dump() for name, team in teaming.policy.teams.items()}
    same = {"namespace": "vision", "queue": "vision", "limits": {"gpus_per_run": 4}}
    teaming.policy = teaming.told(teams={**in_file, "vision": same})
    teaming.pass_time(seconds=10)
    teaming.decides(row_id)
    teaming.pass_time(seconds=30)
    assert teaming.row(row_id).phase == ChangePhase.DONE
    team = teaming.settings().teams["vision"]
    assert (team.limits.gpus_per_run, team.members.people) == (4, ("U0ALICE",))


def test_replica_with_old_settings_sees_the_rows(teaming: Teaming) -> None:
    old = teaming.settings()
    teaming.created(channel=VISION)
    teams = TeamService(
        lambda: old, lambda: teaming.policy, teaming.access, teaming.approvals,
        Engines(teaming.settings, teaming.clusters), (),
    )  # fmt: skip
    for asked, said in {
        TeamRequest("vision", 2): "There is already a team vision.",
        TeamRequest("speech", 2, channel=VISION): "C0VISION already belongs to vision",
        TeamRequest("speech", 2, namespace="vision"): "Namespace vision belongs to team vision.",
    }.items():
        with pytest.raises(UserError, match=said):
            teaming.do(partial(teams.plan, asked=asked))


def test_team_left_out_is_not_made_again(teaming: Teaming) -> None:
    teaming.created(channel=VISION)
    teaming.policy = teaming.told(
        teams={"team-a": {**teaming.policy.teams["team-a"].model_dump(), "channels": [VISION]}}
    )
    with pytest.raises(UserError) as caught:
        teaming.create()
    assert (caught.value.message, caught.value.hint) == (
        "Team vision was created from Slack, and does not fit quartermaster.yaml.",
        "`quartermaster doctor` says why. Change the file, or `/team remove vision`.",
    )
