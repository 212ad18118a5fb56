"""Added to a channel, the bot says once whose channel it is and what works there."""

import pytest
from sqlmodel import col, select

from bot.slack.messages import Message
from tests.handlers.command_client import APPROVALS, ELSEWHERE, TEAM_A, CommandClient

FIRST, SECOND = "Ev01", "Ev02"


def said(client: CommandClient, channel: str) -> list[str]:
    """What the bot posts there, oldest first."""
    rows = client.application.database.read(
        lambda session: session.exec(
            select(Message).where(col(Message.channel) == channel).order_by(col(Message.id))
        ).all()
    )
    return ["\n".join(row.content or ()) for row in rows]


TEAM_LINES = """\
This channel belongs to team-a.
`/train submit` starts a run, `/quota status` shows the team's GPUs, and `/qm help` lists all \
commands."""
APPROVAL_LINES = """\
Requests for approval are posted in this channel.
`/approval list` shows those that are open."""
OTHER_LINES = (
    "This channel belongs to no team, so commands about a team's runs, data and quota are refused"
    " here. Digests and notices can be posted here.\n"
    "For a team's channel, a platform admin adds `C0RANDOM` to `teams.NAME.channels` in"
    " quartermaster.yaml; that takes effect within seconds."
)


@pytest.mark.parametrize(
    ("channel", "lines"),
    [(TEAM_A, TEAM_LINES), (APPROVALS, APPROVAL_LINES), (ELSEWHERE, OTHER_LINES)],
)
def test_it_says_whose_channel_it_is(client: CommandClient, channel: str, lines: str) -> None:
    client.application.dispatcher.bot_joined(channel, FIRST)
    assert said(client, channel) == [lines]


def test_a_repeated_event_is_answered_once(client: CommandClient) -> None:
    for event in (FIRST, FIRST, SECOND):
        client.application.dispatcher.bot_joined(TEAM_A, event)
    assert len(said(client, TEAM_A)) == 2
