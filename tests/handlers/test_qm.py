"""/qm whoami, status and audit: what each person learns, and what is kept from them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlmodel import Session

from bot.audit import Actor, record
from bot.reconcile.due import wake
from bot.slack.messages import Message
from tests.bot.cluster.api.api_server import eventually
from tests.handlers.command_client import (
    ALICE,
    APPROVALS,
    BOB,
    CAROL,
    ELSEWHERE,
    ERIN,
    TEAM_A,
    TEAM_B,
    CommandClient,
)

SUBMIT = "/train submit lane --gpus 1 --image ghcr.io/acme/train:7 -- python train.py"
MEMBER = (
    "`run` submit, read, stop; `gpu` read, digest; `quota` read, request; `team` read; `dataset`"
    " read, add, version, remove, cache, push, evict, pin, usage; `pvc` read; `anf` read;"
    " `snapshot` read, create, restore; `vote`; `notices`; `whoami`; `status`"
)


def told(client: CommandClient, person: str, channel: str, text: str) -> list[str]:
    """The answer line by line, without the space that aligns it."""
    return [" ".join(line.split()) for line in client.says(person, channel, text).splitlines()]


def test_members_learn_their_rights_and_what_is_missing(client: CommandClient) -> None:
    assert told(client, ALICE, TEAM_A, "/qm whoami") == [
        "You are Alice",
        "Here a team's channel",
        "Team team-a",
        "Roles member",
        "Teams team-a (member)",
        f"You may {MEMBER}",
        (
            "Requires lead or admin `run` submit_costly, stop_any; `quota` revoke_any; `dataset`"
            " remove_any, unpin_any; `pvc` resize, copy, delete; `anf` change;"
            " `snapshot` delete_any; `gpu` digest_post; `audit` read"
        ),
        (
            "Requires admin `quota` set; `team` change; `dataset` clean; `anf` repair, pool_change;"
            " `gpu` digest_set; `break_glass`"
        ),
        "Requires lead, admin or approver `anf` pools",
        "Requires approver `decide`",
        "`/qm help` lists the commands that you can use here.",
    ]


def test_channels_of_no_team_say_where_to_go(client: CommandClient) -> None:
    answer = told(client, CAROL, ELSEWHERE, "/qm whoami")
    assert [line for line in answer if not line.startswith("Not in this channel")] == [
        "You are Carol",
        "Here a channel of no team",
        "Team none",
        "Roles admin, approver",
        "Teams none",
        (
            "You may `gpu` digest, digest_post, digest_set; `decide`; `vote`; `notices`; `whoami`;"
            " `status`"
        ),
        "Use your team's channel or a direct message.",
        "`/qm help` lists the commands that you can use here.",
    ]


def test_a_mention_answers_as_the_command_does(client: CommandClient) -> None:
    mention = replace(client.incoming(ALICE, TEAM_A, words="whoami"), kind="mention")
    said = client.answer(mention)
    assert said.splitlines()[0] == "You are Alice"
    assert said.splitlines()[-1] == (
        "`@Quartermaster help` lists the commands that you can use here."
    )


def test_a_misspelled_verb_is_suggested(client: CommandClient) -> None:
    assert client.says(ALICE, TEAM_A, "/qm stauts").splitlines() == [
        "There is no command `/qm stauts`.",
        "Did you mean `/qm status`? `/qm help` lists the commands you can use here.",
    ]


def test_status_shows_what_works(client: CommandClient) -> None:
    eventually(lambda: client.application.clusters["default"].view.synced)
    first, cluster, *rest = told(client, ALICE, TEAM_A, "/qm status")
    assert first == "✅ Quartermaster 0.1.0 · working"
    assert cluster.startswith("Cluster default engine kueue, last heard ")
    assert rest == ["Messages all sent", "Overdue none"]


def test_status_counts_what_does_not_work(client: CommandClient) -> None:
    eventually(lambda: client.application.clusters["default"].view.synced)
    client.application.database.transaction(_trouble)
    said = told(client, ALICE, TEAM_A, "/qm status")
    assert said[0] == "⚠️ Quartermaster 0.1.0 · 3 problems"
    assert said[2:] == [
        "Messages 1 to send, 1 of them after a failed attempt, 1 could not be delivered",
        "Overdue run 3h 5m",
    ]
    assert "C0GONE" not in " ".join(said)
    assert told(client, CAROL, TEAM_A, "/qm status")[4:] == [
        "Not delivered to About Since (UTC) Why",
        "C0GONE run 2026-11-20 08:00 not_in_channel",
        (
            "Invite the bot to those channels, or remove them from quartermaster.yaml."
            " `quartermaster doctor` checks each channel."
        ),
    ]


def _trouble(session: Session) -> None:
    now = datetime.now(UTC)
    wake(session, "run", "r1", "default", now - timedelta(hours=3, minutes=5))
    for channel, is_dead in (("C0TEAMA", False), ("C0GONE", True)):
        session.add(
            Message(
                workspace_id="T0QM",
                subject_kind="run",
                subject_id="r1",
                purpose="card",
                channel=channel,
                created_at=datetime(2026, 11, 20, 8, tzinfo=UTC),
                attempts=1,
                is_dead=is_dead,
                trouble="not_in_channel" if is_dead else None,
            )
        )


def test_leads_see_what_their_team_did(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    client.says(ERIN, TEAM_A, "/train stop lane")
    title, header, *rows = told(client, ERIN, TEAM_A, "/qm audit")
    assert title == "Audit log of team-a, the last 7d"
    assert header == "When (UTC) Who What About Details"
    assert [row.split(" ", 2)[2] for row in rows] == [
        "Erin run.stop lane -",
        (
            "Alice run.submit lane image=ghcr.io/acme/train:7, command=python train.py, gpus=1,"
            " cpu=8, memory=72Gi"
        ),
    ]
    assert told(client, BOB, TEAM_B, "/qm audit") == [
        "Audit log of team-b, the last 7d",
        "There is no such line in the audit log.",
    ]


@pytest.mark.parametrize(
    ("options", "verbs"),
    [
        ("--person <@U0ALICE>", ["run.submit"]),
        ("--verb run", ["run.stop", "run.submit"]),
        ("--verb run.stop", ["run.stop"]),
        ("--verb run.st", []),
        ("--about lane", ["run.stop", "run.submit"]),
        ("--about other", []),
        ("--about r-old --since 30d", ["quota.set"]),
        ("--since 1h", ["run.stop", "run.submit"]),
    ],
)
def test_lines_are_found_by_what_is_known(
    client: CommandClient, options: str, verbs: list[str]
) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    client.says(ERIN, TEAM_A, "/train stop lane")
    client.application.database.transaction(_long_ago)
    rows = told(client, ERIN, TEAM_A, f"/qm audit {options}")[2:]
    assert [row.split(" ")[3] for row in rows] == verbs


def _long_ago(session: Session) -> None:
    actor = Actor("T0QM", CAROL, TEAM_A, "team-a")
    at = datetime.now(UTC) - timedelta(days=20)
    record(session, actor, "quota.set", ("override", "r-old"), {"change": "8"}, at=at)


def test_admins_alone_see_every_team(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    assert told(client, CAROL, APPROVALS, "/qm audit")[0] == "Audit log of all teams, the last 7d"
    assert len(told(client, CAROL, TEAM_B, "/qm audit --all")) == 3
    assert client.says(ERIN, TEAM_A, "/qm audit --all").splitlines() == [
        "Only admins can see the audit log of every team.",
        "Leave out `--all` to see your team's audit log.",
    ]
    assert client.says(ALICE, TEAM_A, "/qm audit").splitlines() == [
        "This requires the right audit.read, which you do not have here.",
        "Roles with this right: admin, lead.",
    ]


def test_the_whole_log_comes_as_csv(client: CommandClient) -> None:
    def work(session: Session) -> None:
        for number in range(30):
            actor = Actor("T0QM", ALICE, TEAM_A, "team-a")
            at = datetime(2026, 11, 20, 8, number, tzinfo=UTC)
            record(session, actor, "run.submit", ("run", f"r{number}"), {"name": "l,1"}, at=at)

    client.application.database.transaction(work)
    card = told(client, ERIN, TEAM_A, "/qm audit --since 300d")
    assert len(card) == 2 + 25 + 1
    assert card[-1] == "These are the newest. `/qm audit --since 300d --csv` sends all of them."
    lines = client.says(ERIN, TEAM_A, "/qm audit --since 300d --csv").splitlines()
    assert lines[1:3] == [
        "at,person,team,channel,verb,kind,id,facts",
        '2026-11-20T08:29:00Z,U0ALICE,team-a,C0TEAMA,run.submit,run,r29,"name=l,1"',
    ]
    assert len(lines) == 2 + 30
