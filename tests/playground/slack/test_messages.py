from typing import Any

import pytest
from slack_sdk.errors import SlackApiError

from tests.playground.slack.served import Served

TEAM_A, TEAM_B = "C0TEAMA", "C0TEAMB"
ALICE, BOB = "U0ALICE", "U0BOB"


def refused(slack: Served, method: str, **arguments: Any) -> str:
    """The error code of a call that must fail."""
    with pytest.raises(SlackApiError) as caught:
        slack.bot.api_call(method, json=arguments)
    return str(caught.value.response["error"])


def test_posted_message_is_seen_by_members(slack: Served) -> None:
    answer = slack.bot.chat_postMessage(channel=TEAM_A, text="hello <@U0ALICE>")
    assert answer["message"]["ts"] == answer["ts"]
    assert slack.texts(ALICE, TEAM_A) == ["hello @Alice"]


def test_posting_twice_makes_two_messages(slack: Served) -> None:
    stamps = [slack.bot.chat_postMessage(channel=TEAM_A, text="x")["ts"] for _ in range(2)]
    assert slack.texts(ALICE, TEAM_A) == ["x", "x"]
    assert stamps[0] < stamps[1]


def test_new_message_notifies_mentioned_members_only(slack: Served) -> None:
    slack.bot.chat_postMessage(channel=TEAM_A, text="<@U0ALICE> and <@U0BOB>")
    assert slack.workspace.transcript.entries[-1].notified == (ALICE,)


def test_edited_message_notifies_nobody(slack: Served) -> None:
    ts = slack.bot.chat_postMessage(channel=TEAM_A, text="x")["ts"]
    slack.bot.chat_update(channel=TEAM_A, ts=ts, text="now <@U0ALICE>")
    assert slack.workspace.transcript.entries[-1].notified == ()
    assert slack.texts(ALICE, TEAM_A) == ["now @Alice"]


def test_direct_message_notifies_its_person(slack: Served) -> None:
    channel = slack.bot.conversations_open(users=ALICE)["channel"]["id"]
    slack.bot.chat_postMessage(channel=channel, text="psst")
    assert slack.workspace.transcript.entries[-1].notified == (ALICE,)


def test_mention_inside_blocks_notifies_group_members(slack: Served) -> None:
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": "hi <!subteam^S0ADMINS>"}}]
    slack.bot.chat_postMessage(channel=TEAM_A, text="hi", blocks=blocks)
    assert slack.workspace.transcript.entries[-1].notified == ("U0CAROL",)


def test_update_keeps_blocks_and_metadata_not_given(slack: Served) -> None:
    blocks = [{"type": "divider", "block_id": "d"}]
    metadata = {"event_type": "card", "event_payload": {"id": "1"}}
    posted = slack.bot.chat_postMessage(channel=TEAM_A, text="x", blocks=blocks, metadata=metadata)
    updated = slack.bot.chat_update(channel=TEAM_A, ts=posted["ts"], text="y")
    assert updated["message"]["blocks"] == blocks
    assert updated["message"]["metadata"] == metadata


def test_update_of_somebody_elses_message_is_refused(slack: Served) -> None:
    message = slack.act(slack.workspace.mention(ALICE, TEAM_A, "hello"))
    assert refused(slack, "chat.update", channel=TEAM_A, ts=message.ts, text="x") == (
        "cant_update_message"
    )


def test_update_of_an_ephemeral_finds_no_message(slack: Served) -> None:
    ts = slack.bot.chat_postEphemeral(channel=TEAM_A, user=ALICE, text="psst")["message_ts"]
    assert refused(slack, "chat.update", channel=TEAM_A, ts=ts, text="x") == "message_not_found"


def test_ephemeral_is_visible_to_one_person(slack: Served) -> None:
    slack.bot.chat_postEphemeral(channel=TEAM_A, user=ALICE, text="psst")
    assert slack.texts(ALICE, TEAM_A) == ["psst"]
    assert slack.texts("U0CAROL", TEAM_A) == []
    history = slack.bot.conversations_history(channel=TEAM_A)
    assert history["messages"] == []


def test_ephemeral_needs_its_reader_in_the_channel(slack: Served) -> None:
    assert refused(slack, "chat.postEphemeral", channel=TEAM_A, user=BOB, text="x") == (
        "user_not_in_channel"
    )


def test_deleted_message_is_gone(slack: Served) -> None:
    ts = slack.bot.chat_postMessage(channel=TEAM_A, text="x")["ts"]
    slack.bot.chat_delete(channel=TEAM_A, ts=ts)
    assert slack.texts(ALICE, TEAM_A) == []
    assert refused(slack, "chat.update", channel=TEAM_A, ts=ts, text="y") == "message_not_found"


def test_reply_to_deleted_parent_lands_in_channel(slack: Served) -> None:
    ts = slack.bot.chat_postMessage(channel=TEAM_A, text="x")["ts"]
    slack.bot.chat_delete(channel=TEAM_A, ts=ts)
    answer = slack.bot.chat_postMessage(channel=TEAM_A, text="y", thread_ts=ts)
    assert "thread_ts" not in answer["message"]


def test_history_and_replies_divide_a_thread(slack: Served) -> None:
    ts = slack.bot.chat_postMessage(channel=TEAM_A, text="card")["ts"]
    slack.bot.chat_postMessage(channel=TEAM_A, text="quiet", thread_ts=ts)
    slack.bot.chat_postMessage(channel=TEAM_A, text="loud", thread_ts=ts, reply_broadcast=True)
    history = slack.bot.conversations_history(channel=TEAM_A)["messages"]
    assert [message["text"] for message in history] == ["loud", "card"]
    assert history[1]["reply_count"] == 2
    replies = slack.bot.conversations_replies(channel=TEAM_A, ts=ts)["messages"]
    assert [message["text"] for message in replies] == ["card", "quiet", "loud"]


def test_history_shows_metadata_only_when_asked(slack: Served) -> None:
    metadata = {"event_type": "card", "event_payload": {"id": "1"}}
    slack.bot.chat_postMessage(channel=TEAM_A, text="x", metadata=metadata)
    plain = slack.bot.conversations_history(channel=TEAM_A)["messages"][0]
    full = slack.bot.conversations_history(channel=TEAM_A, include_all_metadata=True)
    assert "metadata" not in plain
    assert full["messages"][0]["metadata"] == metadata


def test_history_is_read_in_pages(slack: Served) -> None:
    for number in range(3):
        slack.bot.chat_postMessage(channel=TEAM_A, text=str(number))
    first = slack.bot.conversations_history(channel=TEAM_A, limit=2)
    cursor = first["response_metadata"]["next_cursor"]
    second = slack.bot.conversations_history(channel=TEAM_A, limit=2, cursor=cursor)
    assert [m["text"] for m in [*first["messages"], *second["messages"]]] == ["2", "1", "0"]
    assert (first["has_more"], second["has_more"]) == (True, False)


def test_history_can_start_after_a_moment(slack: Served) -> None:
    stamps = [slack.bot.chat_postMessage(channel=TEAM_A, text=t)["ts"] for t in "abc"]
    found = slack.bot.conversations_history(channel=TEAM_A, oldest=stamps[0], latest=stamps[2])
    assert [message["text"] for message in found["messages"]] == ["b"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"channel": "C0NOWHERE", "text": "x"}, "channel_not_found"),
        ({"channel": TEAM_A}, "no_text"),
        ({"text": "x"}, "invalid_arguments"),
        ({"channel": TEAM_A, "text": "x" * 40_001}, "msg_too_long"),
        ({"channel": TEAM_A, "text": "x", "blocks": "{"}, "invalid_blocks_format"),
        ({"channel": TEAM_A, "text": "x", "metadata": {"a": 1}}, "invalid_metadata_format"),
        (
            {
                "channel": TEAM_A,
                "text": "x",
                "metadata": {"event_type": "e", "event_payload": {"a": "x" * 8000}},
            },
            "metadata_too_large",
        ),
    ],
)
def test_wrong_post_is_refused_in_slacks_words(
    slack: Served, arguments: dict[str, Any], error: str
) -> None:
    assert refused(slack, "chat.postMessage", **arguments) == error


def test_channel_states_refuse_posts(slack: Served) -> None:
    slack.call(lambda: slack.workspace.remove_bot(TEAM_A))
    slack.call(lambda: slack.workspace.archive(TEAM_B))
    slack.workspace.channels["C0DAILY"].is_read_only = True
    errors = [
        refused(slack, "chat.postMessage", channel=channel, text="x")
        for channel in (TEAM_A, TEAM_B, "C0DAILY")
    ]
    assert errors == ["not_in_channel", "is_archived", "restricted_action"]


def test_private_channel_hides_from_a_bot_outside(slack: Served) -> None:
    slack.workspace.channels[TEAM_A].is_private = True
    slack.call(lambda: slack.workspace.remove_bot(TEAM_A))
    assert refused(slack, "conversations.info", channel=TEAM_A) == "channel_not_found"
    assert refused(slack, "chat.postMessage", channel=TEAM_A, text="x") == "channel_not_found"


def test_long_update_is_refused(slack: Served) -> None:
    ts = slack.bot.chat_postMessage(channel=TEAM_A, text="x")["ts"]
    assert refused(slack, "chat.update", channel=TEAM_A, ts=ts, text="x" * 4001) == "msg_too_long"


def test_same_reaction_twice_is_refused(slack: Served) -> None:
    ts = slack.bot.chat_postMessage(channel=TEAM_A, text="x")["ts"]
    slack.bot.reactions_add(channel=TEAM_A, timestamp=ts, name="eyes")
    again = refused(slack, "reactions.add", channel=TEAM_A, timestamp=ts, name="eyes")
    assert again == "already_reacted"


def test_permalink_names_channel_and_message(slack: Served) -> None:
    ts = slack.bot.chat_postMessage(channel=TEAM_A, text="x")["ts"]
    link = slack.bot.chat_getPermalink(channel=TEAM_A, message_ts=ts)["permalink"]
    assert link == f"https://acme.slack.example/archives/{TEAM_A}/p{ts.replace('.', '')}"
