"""/quota and /approval as people use them: asked, decided, ended, refused."""

import re
from decimal import Decimal
from pathlib import Path

import pytest
from sqlmodel import select

from bot.approvals import Approval
from bot.quotas.tables import ManagedQuota, Override
from tests.handlers.command_client import (
    ALICE,
    APPROVALS,
    BOB,
    CAROL,
    DAN,
    TEAM_A,
    TEAM_B,
    CommandClient,
    opened,
)
from tests.playground.cluster.served import Served

REQUEST = '/quota request +8 --for 3d --reason "CVPR deadline"'
OWN = "You cannot decide your own request.\nAnother approver has to decide it."
NO_APPROVER = (
    "You are not an approver of this request.\nThe configuration names the approvers; ask a"
    " platform admin."
)
GUEST = (
    "Guests and people from other workspaces cannot use Quartermaster.\n"
    "Ask a full member of the team to do this for you."
)
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d UTC"


def approval_of(client: CommandClient) -> str:
    return client.application.database.read(lambda s: s.exec(select(Approval)).one().id)


def number_of(client: CommandClient) -> str:
    return client.application.database.read(lambda s: s.exec(select(Override)).one().id)[-6:]


def asked(number: str) -> str:
    what = "nominal quota 4 → 12 GPUs of h100"
    return f"`{number}` team-a: {what} (CVPR deadline), requested by @U0ALICE TIME"


def test_status_shows_the_channels_team(client: CommandClient) -> None:
    assert client.says(ALICE, TEAM_A, "/quota status").splitlines() == [
        "GPU quota of team-a",
        "  GPU type  Nominal  In use  Borrowed  Free to borrow  Pending",
        "  h100      4        0       0         8               0",
        "  [Share]",
    ]


def test_status_of_all_teams_side_by_side(client: CommandClient) -> None:
    for person, channel, text in (
        (ALICE, TEAM_A, "/quota status --all"),
        (CAROL, APPROVALS, "/quota status"),
    ):
        assert client.says(person, channel, text).splitlines() == [
            "GPU quota of all teams",
            "  Team    GPU type  Nominal  In use  Borrowed  Free to borrow  Pending",
            "  team-a  h100      4        0       0         8               0",
            "  team-b  h100      8        0       0         4               0",
            "  [Share]",
        ]


@pytest.mark.parametrize(
    ("button", "answer"),
    [
        ("adopt", "The base of Queue team-a is now the external value."),
        ("rewrite", "Setting Queue team-a back to the expected value."),
    ],
)
def test_answers_name_the_queue_as_kai_does(
    tmp_path: Path, served: Served, button: str, answer: str
) -> None:
    quota = ManagedQuota(
        workspace_id="T0QM",
        cluster="default",
        queue="team-a",
        flavor="any",
        resource="nvidia.com/gpu",
        field="nominalQuota",
        baseline=Decimal(4),
        external_value=Decimal(6),
    )
    value = f"{quota.id}:6"
    url = f"sqlite:///{tmp_path}/test.db"
    with opened(tmp_path, url, served, engine="kai") as client:
        client.application.database.transaction(lambda session: session.add(quota))
        assert client.clicks(CAROL, APPROVALS, f"quota.{button}", value) == answer


def test_request_is_received_with_its_way_back(client: CommandClient) -> None:
    answer = client.says(ALICE, TEAM_A, REQUEST)
    number = number_of(client)
    assert re.sub(TIME, "TIME", answer).splitlines() == [
        "Requested for team-a: nominal quota 4 → 12 GPUs of h100, for 3d.",
        "Approvers can decide in #C0APPROVE until TIME.",
        f"Use `/quota revoke {number}` to withdraw it.",
    ]
    assert re.sub(TIME, "TIME", client.says(ALICE, TEAM_A, "/quota history")).splitlines() == [
        "Quota overrides of team-a",
        f"{asked(number)}, pending.",
    ]
    assert client.says(ALICE, TEAM_A, f"/quota revoke {number}") == (
        "Revoked: Quota override for team-a: +8 h100. It had not started."
    )


@pytest.mark.parametrize(
    ("person", "answer"),
    [
        (CAROL, "You approved this request."),
        (ALICE, OWN),
        (BOB, NO_APPROVER),
        (DAN, GUEST),
    ],
)
def test_only_approvers_can_approve(client: CommandClient, person: str, answer: str) -> None:
    client.says(ALICE, TEAM_A, REQUEST)
    assert client.clicks(person, APPROVALS, "approval.approve", approval_of(client)) == answer


def test_nobody_approves_what_they_asked_for(client: CommandClient) -> None:
    client.says(CAROL, TEAM_A, '/quota set 8 --team team-a --reason "new nodes"')
    assert client.clicks(CAROL, APPROVALS, "approval.approve", approval_of(client)) == OWN


def test_denying_answers_and_lists_nothing_more(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, REQUEST)
    waiting = client.says(CAROL, APPROVALS, "/approval list")
    assert re.sub(TIME, "TIME", waiting).splitlines() == [
        "Pending requests",
        asked(number_of(client)),
    ]
    approval = approval_of(client)
    assert client.clicks(CAROL, APPROVALS, "approval.deny", approval) == (
        "You denied this request. Nothing was changed."
    )
    assert client.clicks(CAROL, APPROVALS, "approval.deny", approval) == (
        "This request is already denied by @U0CAROL.\nYour click changed nothing."
    )


def test_setting_a_base_is_for_admins(client: CommandClient) -> None:
    assert client.says(BOB, TEAM_B, "/quota set 12") == (
        "This requires the right quota.set, which you do not have here.\nRoles with this right:"
        " admin."
    )


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("/quota request +8", "`--reason TEXT` is missing."),
        ("/quota statsu", "`/quota statsu` is not a command."),
    ],
)
def test_wrong_words_are_answered_with_right_ones(
    client: CommandClient, text: str, answer: str
) -> None:
    assert client.says(ALICE, TEAM_A, text).splitlines()[0] == answer


@pytest.mark.parametrize("minus", ["-", "\u2212", "\u2013", "\u2014"])
def test_any_minus_asks_for_fewer(client: CommandClient, minus: str) -> None:
    client.says(ALICE, TEAM_A, f'/quota request {minus}2 --reason "we go home"')
    row = client.application.database.read(lambda s: s.exec(select(Override)).one())
    assert (int(row.amount), int(row.shown_from)) == (-2, 4)
