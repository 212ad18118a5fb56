"""/team as people type it: what a team has, its quota, and manifests for GitOps."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlmodel import Session, select

from bot.audit import AuditLine
from bot.quotas.tables import Mode, Override
from bot.slack.text import as_text
from bot.teams.tables import SlackTeam, TeamChange
from tests.handlers.command_client import (
    ALICE,
    APPROVALS,
    BOB,
    CAROL,
    ERIN,
    FAY,
    TEAM_A,
    TEAM_B,
    CommandClient,
    opened,
)
from tests.playground.cluster.served import Served


@pytest.fixture
def client(tmp_path: Path, served: Served) -> Iterator[CommandClient]:
    with opened(tmp_path, f"sqlite:///{tmp_path}/test.db", served) as opened_client:
        yield opened_client


def lines(text: str) -> list[str]:
    return [" ".join(each.split()) for each in text.splitlines()]


def follows(client: CommandClient, person: str, channel: str, text: str) -> str:
    """What follows an answer once the cluster was read."""
    name, _, words = text.removeprefix("/").partition(" ")
    reply = client.application.dispatcher.answer(
        client.incoming(person, channel, command=name, words=words)
    )
    assert reply is not None
    assert reply.later is not None, as_text(reply)
    return as_text(reply.later())


def test_members_see_all_of_their_team(client: CommandClient) -> None:
    assert client.says(ALICE, TEAM_A, "/team show") == "Asking the cluster of team-a…"
    assert lines(follows(client, ALICE, TEAM_A, "/team show")) == [
        "✅ Team team-a · Ready",
        "Channels #C0TEAMA",
        "Members 2 people",
        "Leads 1 person",
        "Namespace `team-a`",
        "Cluster default, Kueue",
        "Queue `team-a`",
        "Quota approvers @U0CAROL",
        "Limits 64 GPUs per run, 200 live runs",
        "Set in quartermaster.yaml",
        "Cluster Queue GPU type Nominal In use",
        "default team-a h100 4 0",
    ]


def test_what_the_cluster_lacks_is_named(client: CommandClient, served: Served) -> None:
    served.cluster.delete("localqueues", "team-a", "team-a")
    served.cluster.app.access.forbidden.add(("create", "jobs"))
    told = lines(follows(client, ALICE, TEAM_A, "/team show"))
    assert told[:3] == [
        "⚠️ Team team-a · Incomplete",
        (
            "LocalQueue team-a/team-a is missing (default). Create LocalQueue team-a/team-a, or set"
            " teams.team-a.queue."
        ),
        (
            "The bot lacks rights in namespace team-a of default: create jobs. It needs a"
            " RoleBinding there."
        ),
    ]


def test_other_teams_are_for_platform_people(client: CommandClient) -> None:
    refused = "You are not a member of team-b.\nIts members and platform admins can see it."
    assert client.says(ALICE, TEAM_A, "/team show team-b") == refused
    assert client.says(BOB, TEAM_B, "/team show team-b") == "Asking the cluster of team-b…"
    assert client.says(CAROL, APPROVALS, "/team show team-b") == "Asking the cluster of team-b…"
    assert client.says(FAY, TEAM_A, "/team show").startswith("You are not a member of team-a.")
    assert client.says(ALICE, TEAM_A, "/team show visoin") == (
        "There is no team visoin.\nThe teams are: team-a."
    )


def add_vision(client: CommandClient, made: dict[str, Any]) -> None:
    """A team that was created from Slack."""

    def add(session: Session) -> None:
        said = {"cluster": "default", "namespace": "vision", "queue": "vision"}
        session.add(
            SlackTeam(workspace_id="T0QM", name="vision", said=said, objects=[made],
                      change_id="any", created_at=datetime.now(UTC))
        )  # fmt: skip

    client.application.database.transaction(add)
    client.application.settings.refresh()


def test_team_of_slack_shows_what_it_lost(client: CommandClient) -> None:
    add_vision(client, {"kind": "Namespace", "name": "vision", "namespace": None, "body": {}})
    told = lines(follows(client, CAROL, APPROVALS, "/team show vision"))
    assert "Set in Slack" in told
    assert "Namespace vision is missing; Quartermaster had created it." in told


def test_team_of_slack_is_handed_over(client: CommandClient) -> None:
    body = {"metadata": {"name": "vision"}}
    made: dict[str, Any] = {"kind": "Namespace", "name": "vision", "namespace": None, "body": body}
    add_vision(client, made)
    told = follows(client, CAROL, APPROVALS, "/team show vision --as-patch")
    assert told.endswith("\n#     handed_over: true")
    kept = client.application.database.read(lambda s: s.exec(select(AuditLine)).all())
    assert [(each.verb, each.person) for each in kept] == [("team.patch", CAROL)]
    assert client.says(ALICE, TEAM_A, "/team show --as-patch") == (
        "Team team-a is set in quartermaster.yaml, so there is nothing to hand over.\n"
        "Leave out `--as-patch`."
    )


def test_quota_is_changed_with_an_approval(client: CommandClient) -> None:
    told = client.says(CAROL, APPROVALS, "/team set team-a --gpus 12")
    assert told.startswith("Requested for team-a: nominal quota 4 → 12 GPUs of h100, permanently.")
    row = client.application.database.read(lambda s: s.exec(select(Override)).one())
    assert (row.team, row.mode, int(row.amount)) == ("team-a", str(Mode.BASE), 12)
    assert client.says(ERIN, TEAM_A, "/team set team-a --gpus 12").startswith(
        "This requires the right quota.set, which you do not have here."
    )
    assert client.says(CAROL, APPROVALS, "/team set visoin --gpus 12") == (
        "There is no team visoin.\nThe teams are: team-a, team-b."
    )


def test_new_team_is_checked_then_decided(client: CommandClient) -> None:
    text = "/team create vision --gpus 8 --cohort gpus --channel #C0VISION --members @U0ALICE"
    assert client.says(CAROL, APPROVALS, text) == (
        "Checking team vision by a dry run. Its card shows what would be created; an approver other"
        " than you decides then."
    )
    row = client.application.database.read(lambda s: s.exec(select(TeamChange)).one())
    assert (row.person, row.gpus, row.gpu_type, row.above) == (CAROL, 8, "h100", "gpus")
    assert row.said == {
        "cluster": "default", "namespace": "vision", "queue": "vision", "channels": ["C0VISION"],
        "members": {"people": [ALICE], "groups": []},
    }  # fmt: skip


def test_words_that_name_nothing_are_refused(client: CommandClient) -> None:
    assert client.says(CAROL, APPROVALS, "/team create vision --gpus 2 --members alice").startswith(
        "`--members` takes mentions of people or user groups, separated by commas"
    )
    assert client.says(CAROL, APPROVALS, "/team create vision --gpus 2 --channel vision") == (
        "`--channel` takes a mention of a channel, such as `#vision`, not `vision`.\n"
        "Write it like `--channel #C0VISION`. For example `/team create vision --gpus 8 --cohort"
        " gpus`."
    )


def test_patch_writes_manifests_and_changes_nothing(client: CommandClient) -> None:
    text = "/team create vision --gpus 8 --cohort gpus --as-patch"
    told = follows(client, CAROL, APPROVALS, text)
    before, _, document = told.partition("apiVersion")
    assert lines(before)[0] == "Manifests of team vision"
    found = list(yaml.safe_load_all(f"apiVersion{document}"))
    assert [(each["apiVersion"], each["kind"]) for each in found] == [
        ("v1", "Namespace"),
        ("rbac.authorization.k8s.io/v1", "RoleBinding"),
        ("kueue.x-k8s.io/v1beta2", "ClusterQueue"),
        ("kueue.x-k8s.io/v1beta2", "LocalQueue"),
    ]
    assert [each["metadata"].get("namespace") for each in found] == [None, "vision", None, "vision"]
    assert [each["metadata"].get("labels") for each in found] == [
        {
            "pod-security.kubernetes.io/enforce": "baseline",
            "pod-security.kubernetes.io/warn": "baseline",
        },
        None,
        None,
        None,
    ]
    assert "# teams:\n#   vision:\n#     cluster: default\n" in told
    assert client.application.database.read(lambda s: s.exec(select(TeamChange)).all()) == []


def test_new_quota_can_go_into_gitops(client: CommandClient) -> None:
    told = follows(client, CAROL, APPROVALS, "/team set team-a --gpus 12 --as-patch")
    before, _, document = told.partition("apiVersion")
    assert lines(before) == [
        "New quota of team team-a",
        (
            "Nothing was changed. Commit ClusterQueue team-a in place of yours: nominal quota 4 →"
            " 12 GPUs of h100."
        ),
    ]
    found = yaml.safe_load(f"apiVersion{document}")
    assert (found["kind"], found["metadata"]) == ("ClusterQueue", {"name": "team-a"})
    assert client.application.database.read(lambda s: s.exec(select(Override)).all()) == []
    assert client.says(ERIN, TEAM_A, "/team set team-a --gpus 12 --as-patch").startswith(
        "This requires the right quota.set, which you do not have here."
    )


def test_team_of_the_file_leaves_by_gitops(client: CommandClient) -> None:
    told = lines(follows(client, CAROL, APPROVALS, "/team remove team-b --as-patch"))
    assert told[0] == "Removal of team team-b"
    assert (
        "Remove `teams.team-b` from quartermaster.yaml first, so that nothing new starts." in told
    )
    assert [each for each in told if each.startswith("kind: ")] == [
        "kind: LocalQueue", "kind: ClusterQueue", "kind: Namespace",
    ]  # fmt: skip
    assert client.application.database.read(lambda s: s.exec(select(TeamChange)).all()) == []
    kept = client.application.database.read(lambda s: s.exec(select(AuditLine.verb)).all())
    assert kept == ["team.patch"]
    assert client.says(ERIN, TEAM_A, "/team remove team-b --as-patch").startswith(
        "This requires the right team.change, which you do not have here."
    )
