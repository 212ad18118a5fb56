"""New teams and the settings of others: what fits when it is requested may not fit at the end."""

from functools import partial

import pytest

from bot.config import with_slack_teams
from bot.errors import UserError
from bot.quotas.engines.registry import Engines
from bot.teams.record import teams_of_slack
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


def in_both(rig: Teaming, **said: object) -> None:
    """The file names the team, too."""
    team_a = rig.policy.teams["team-a"].model_dump()
    vision = {"namespace": "vision", "queue": "vision", "channels": ["C0NEW"], **said}
    rig.policy = rig.told(teams={"team-a": team_a, "vision": vision})


def test_file_takes_over_when_it_says_so(teaming: Teaming) -> None:
    teaming.created(channel=VISION, members=("U0ALICE",))
    in_both(teaming)
    assert teaming.settings().teams["vision"].channels == (VISION,)
    in_both(teaming, handed_over=True)
    team = teaming.settings().teams["vision"]
    assert (team.channels, team.members.people) == (("C0NEW",), ())
    with pytest.raises(UserError, match=r"quartermaster\.yaml names vision, too\."):
        teaming.remove()
    in_both(teaming, handed_over=False)
    assert teaming.settings().teams["vision"].members.people == ("U0ALICE",)


@pytest.mark.parametrize(
    ("said", "differs"),
    [
        ({"namespace": "vision-2"}, "namespace vision-2, not vision."),
        ({"queue": "gpus"}, "queue gpus, not vision."),
        ({"cluster": "lab"}, "cluster lab, not default."),
    ],
)
def test_file_with_another_place_takes_nothing_over(
    teaming: Teaming, said: dict[str, str], differs: str
) -> None:
    teaming.created(channel=VISION)
    team_a = teaming.policy.teams["team-a"].model_dump()
    vision = {"namespace": "vision", "queue": "vision", "handed_over": True, **said}
    clusters = {"default": {"engine": "kueue"}, "lab": {"engine": "kueue"}}
    teaming.policy = teaming.told(teams={"team-a": team_a, "vision": vision}, clusters=clusters)
    rows = teaming.do(lambda session: teams_of_slack(session, "T0QM"))
    settings, problems = with_slack_teams(teaming.policy, rows)
    assert problems == (
        f"Team vision, created in Slack, is not handed over: quartermaster.yaml has {differs}",
    )
    team = settings.teams["vision"]
    assert (team.cluster, team.namespace, team.queue, team.channels) == (
        "default", "vision", "vision", (VISION,),
    )  # fmt: skip
    assert not team.handed_over
