"""/gpu digest: for one person, for a channel, and who may set it."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlmodel import select

from bot.audit import AuditLine
from bot.gpus.digests.tables import Digest
from bot.slack.text import as_text
from tests.handlers.command_client import (
    ALICE,
    BOB,
    CAROL,
    DAN,
    ELSEWHERE,
    ERIN,
    TEAM_A,
    TEAM_B,
    CommandClient,
)
from tests.handlers.gpu_past import HELD, held, sampled

DAILY = "C0DAILY"


def shown(client: CommandClient, person: str, channel: str, text: str) -> list[str]:
    """The digest that follows the acknowledgement."""
    name, _, words = text.removeprefix("/").partition(" ")
    asked = client.incoming(person, channel, command=name, words=words)
    reply = client.application.dispatcher.answer(asked)
    assert reply is not None
    assert reply.later is not None, as_text(reply)
    return as_text(reply.later()).splitlines()


def told(client: CommandClient, person: str, channel: str, text: str) -> list[str]:
    return client.says(person, channel, text).splitlines()


def test_digest_is_shown_to_the_asker(client: CommandClient) -> None:
    yesterday = datetime.now(UTC) - timedelta(days=1)
    day = f"{yesterday:%A} {yesterday.day} {yesterday:%B %Y}"
    assert shown(client, ALICE, TEAM_A, "/gpu digest") == [
        f"GPUs, {day}",
        "Allocation is unknown: there are no samples for this time.",
        "Samples of default cover 0 % of the time; the figures exclude the rest.",
        "Figures are in GPU-hours; the day is in UTC.",
    ]
    assert shown(client, ALICE, TEAM_A, "/gpu digest --week")[0].count(" to ") == 1
    assert shown(client, CAROL, ELSEWHERE, "/gpu digest")[0] == f"GPUs, {day}"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (
            "/gpu digest --day 2126-01-01",
            "There are no figures for 2126-01-01.",
        ),
        (
            "/gpu digest --at 09:00",
            "These options only work with `set`.",
        ),
        (
            "/gpu digest --dm --post",
            "`--post` and `--dm` cannot be combined.",
        ),
        (
            "/gpu digest list --week",
            "`--day`, `--week`, `--post` and `--dm` only work with `show`.",
        ),
    ],
)
def test_options_that_do_not_fit_are_refused(client: CommandClient, text: str, answer: str) -> None:
    assert told(client, ALICE, TEAM_A, text)[0] == answer


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("/gpu digest set --at 9", "a time of day such as"),
        ("/gpu digest set --zone Mars", "a time zone such as"),
        ("/gpu digest --day yesterday", "a date such as"),
        ("/gpu digest set --sections all,idle", "one or more of"),
        ("/gpu digest set --channel daily", "a channel such as"),
    ],
)
def test_wrong_words_are_told_the_right(client: CommandClient, text: str, form: str) -> None:
    assert form in client.says(CAROL, TEAM_A, text)


def test_admins_set_when_a_channel_is_told(client: CommandClient) -> None:
    said = told(
        client, CAROL, TEAM_A,
        "/gpu digest set --channel #C0DAILY --at 08:30 --zone Europe/Berlin --weekly mon"
        " --sections idle,teams",
    )  # fmt: skip
    assert said == [
        "#C0DAILY gets a digest every day at 08:30 Europe/Berlin: teams, idle.",
        (
            "#C0DAILY gets a digest of the previous week every Monday at 08:30 Europe/Berlin:"
            " teams, idle."
        ),
        "If I am not in the channel yet, invite me.",
    ]
    again = told(client, CAROL, TEAM_A, "/gpu digest set --channel #C0DAILY --daily off")
    assert again[0].startswith("#C0DAILY gets a digest of the previous week every Monday")
    assert len(again) == 2
    listed = told(client, ALICE, TEAM_A, "/gpu digest list")
    assert len(listed) == 1
    assert " Next: " in listed[0]
    assert told(client, CAROL, TEAM_A, "/gpu digest off --channel #C0DAILY") == [
        "GPU digests for #C0DAILY are off."
    ]
    assert told(client, ALICE, TEAM_A, "/gpu digest list")[0] == ("No channel has a GPU digest.")
    assert told(client, CAROL, TEAM_A, "/gpu digest off --channel #C0DAILY")[0] == (
        "That channel has no digest."
    )
    lines = client.application.database.read(lambda s: list(s.exec(select(AuditLine))))
    assert [(line.verb, line.subject_id, line.person) for line in lines] == [
        ("gpu.digest.set", DAILY, CAROL),
        ("gpu.digest.set", DAILY, CAROL),
        ("gpu.digest.off", DAILY, CAROL),
    ]


def test_neither_daily_nor_weekly_is_refused(client: CommandClient) -> None:
    assert told(client, CAROL, TEAM_A, "/gpu digest set --daily off") == [
        "Nothing would be posted: daily and weekly are both off.",
        "Turn the digest off with `digest off`, or add, for example, `--weekly mon`.",
    ]


def test_only_those_allowed_set_and_post(client: CommandClient) -> None:
    refused = "This requires the right gpu.digest_set, which you do not have here."
    assert told(client, ERIN, TEAM_A, "/gpu digest set --at 09:00")[0] == refused
    assert told(client, ERIN, TEAM_A, "/gpu digest off")[0] == refused
    assert told(client, ALICE, TEAM_A, "/gpu digest --post")[0] == (
        "This requires the right gpu.digest_post, which you do not have here."
    )
    assert "Guests" in told(client, DAN, TEAM_A, "/gpu digest")[0]
    assert told(client, BOB, TEAM_A, "/gpu digest")[0].startswith("You are not a member of team-a.")
    assert "belongs to no team" in told(client, ALICE, ELSEWHERE, "/gpu digest")[0]


def test_digest_is_posted_once_a_minute(client: CommandClient) -> None:
    assert told(client, BOB, TEAM_B, "/gpu digest --post") == ["Posting the digest here."]
    assert told(client, BOB, TEAM_B, "/gpu digest --post") == [
        "This digest was posted there less than a minute ago.",
        "Wait a minute to post it again.",
    ]
    rows = client.application.database.read(lambda s: list(s.exec(select(Digest))))
    assert [(row.channel, row.team) for row in rows] == [(TEAM_B, "team-b")]


def test_anybody_gets_their_own_directly(client: CommandClient) -> None:
    answer = ["Sending the digest as a direct message."]
    assert told(client, ALICE, TEAM_A, "/gpu digest --dm --week") == answer
    assert told(client, CAROL, ELSEWHERE, "/gpu digest --dm") == answer
    assert told(client, ALICE, TEAM_A, "/gpu digest --dm --week")[0] == (
        "This digest was posted there less than a minute ago."
    )
    rows = client.application.database.read(lambda s: list(s.exec(select(Digest))))
    assert sorted((row.channel, row.team, row.period) for row in rows) == [
        (ALICE, "team-a", "week"),
        (CAROL, None, "day"),
    ]


def test_words_for_pictures_say_where_these_are(client: CommandClient) -> None:
    series = held(client, "lane", team="team-a")
    sampled(client, 1500, {series: HELD})
    lines = shown(client, ALICE, TEAM_A, "/gpu digest")
    assert lines[-1] == (
        "Some charts are shown as text here; `/gpu digest --dm` sends you the images."
    )
