"""What the doctor says of teams that are created from Slack."""

from pathlib import Path

from bot.findings import Finding
from bot.teams.checking import check_rights, settings_with_teams
from tests.bot.teams.teaming import Teaming

RUNAI = {
    "url": "https://acme.run.ai",
    "cluster_id": "71f69d83-ba66-4822-adf5-55ce55efd210",
    "client_id": "quartermaster",
    "client_secret_file": "/run/secrets/runai/client-secret",
}


def rights(rig: Teaming) -> list[Finding]:
    return list(check_rights(rig.policy, rig.cluster, "cluster default"))


def test_rights_are_checked_where_it_is_on(teaming: Teaming) -> None:
    about = "cluster default team creation"
    assert rights(teaming) == [Finding(about, "ok", "all rights are granted")]
    teaming.world.app.access.forbidden |= {("delete", "namespaces"), ("bind", "clusterroles")}
    remedy = "Upgrade the Helm release, or apply deploy/kubernetes/team-creation."
    says = "missing for `/team create`: delete namespaces, bind ClusterRole quartermaster-team"
    assert rights(teaming) == [Finding(about, "failed", says, remedy)]
    teaming.policy = teaming.told(team_creation=None)
    assert rights(teaming) == []


def test_rights_for_projects_are_not_kubernetes(teaming: Teaming) -> None:
    teaming.world.app.access.forbidden |= {("delete", "namespaces"), ("create", "projects")}
    teaming.policy = teaming.told(clusters={"default": {"engine": "runai", "runai": RUNAI}})
    (found,) = rights(teaming)
    assert found.says == "missing for `/team create`: delete namespaces"


def test_teams_of_slack_are_listed(teaming: Teaming) -> None:
    teaming.created(channel="C0VISION")
    database = {"url": str(teaming.database._write.url)}
    found, findings = settings_with_teams(teaming.told(database=database))
    assert list(found.teams) == ["team-a", "vision"]
    assert list(findings) == [Finding("teams", "ok", "created in Slack: vision")]
    teams = {"other": {"channels": ["C0VISION"], "namespace": "other", "queue": "other"}}
    found, findings = settings_with_teams(teaming.told(database=database, teams=teams))
    assert list(found.teams) == ["other"]
    says = (
        "Team vision, created in Slack, is left out: C0VISION already belongs to other; a channel"
        " belongs to one team"
    )
    remedy = "Change quartermaster.yaml, or remove the team with `/team remove`."
    assert list(findings)[1:] == [Finding("teams", "failed", says, remedy)]


def test_database_that_fails_adds_nothing(teaming: Teaming, tmp_path: Path) -> None:
    database = {"url": f"sqlite:///{tmp_path}/none.db"}
    found, findings = settings_with_teams(teaming.told(database=database))
    assert (list(found.teams), list(findings)) == (["team-a"], [])


def test_team_named_twice_says_what_counts(teaming: Teaming) -> None:
    teaming.created(channel="C0VISION")
    database = {"url": str(teaming.database._write.url)}
    for handed_over, says in {
        False: "vision is in quartermaster.yaml and in Slack; Slack's cluster, namespace, queue,"
        " channels count",
        True: "vision was handed over from Slack to quartermaster.yaml",
    }.items():
        vision = {"namespace": "vision", "queue": "vision", "handed_over": handed_over}
        told = teaming.told(database=database, teams={"vision": vision})
        _, findings = settings_with_teams(told)
        assert list(findings)[1:] == [Finding("teams", "ok", says)]


def test_team_elsewhere_is_not_called_handed_over(teaming: Teaming) -> None:
    teaming.created(channel="C0VISION")
    database = {"url": str(teaming.database._write.url)}
    vision = {"namespace": "vision", "queue": "gpus", "handed_over": True}
    _, findings = settings_with_teams(teaming.told(database=database, teams={"vision": vision}))
    assert [(each.state, each.says) for each in findings] == [
        ("ok", "created in Slack: vision"),
        (
            "failed",
            (
                "Team vision, created in Slack, is not handed over: quartermaster.yaml has queue"
                " gpus, not vision"
            ),
        ),
        (
            "ok",
            (
                "vision is in quartermaster.yaml and in Slack; Slack's cluster, namespace, queue,"
                " channels count"
            ),
        ),
    ]
