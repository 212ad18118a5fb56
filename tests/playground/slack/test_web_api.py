"""Who is let in, how often, and what lists and look-ups answer."""

import base64
from typing import Any

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from playground.slack.page import page
from playground.slack.people import User
from playground.slack.rates import POSTING, TIER_3, Rates
from tests.playground.slack.served import Served, Stage

TEAM_A = "C0TEAMA"
PNG = b"\x89PNG\r\n\x1a\n and so on"
ALICE, DAN = "U0ALICE", "U0DAN"


def refused(slack: Served, method: str, **arguments: Any) -> SlackApiError:
    """The error of a call that must fail."""
    with pytest.raises(SlackApiError) as caught:
        slack.bot.api_call(method, json=arguments)
    return caught.value


def test_bot_learns_who_it_is(slack: Served) -> None:
    answer = slack.bot.auth_test()
    assert answer.data == {
        "ok": True,
        "url": "https://acme.slack.example/",
        "team": "Acme",
        "user": "quartermaster",
        "team_id": "T0QM",
        "user_id": "U0QM",
        "bot_id": "B0QM",
        "is_enterprise_install": False,
    }
    assert "chat:write" in answer.headers["x-oauth-scopes"].split(",")


@pytest.mark.parametrize(("token", "error"), [("xoxb-wrong", "invalid_auth"), ("", "not_authed")])
def test_wrong_token_is_refused(slack: Served, token: str, error: str) -> None:
    with pytest.raises(SlackApiError) as caught:
        WebClient(token, base_url=slack.api).auth_test()
    assert caught.value.response["error"] == error


def test_missing_scope_names_needed_and_provided(slack: Served) -> None:
    slack.workspace.scopes = {"chat:write", "users:read"}
    answer = refused(slack, "reactions.add", channel=TEAM_A, timestamp="1.1", name="x").response
    assert answer.data == {
        "ok": False,
        "error": "missing_scope",
        "needed": "reactions:write",
        "provided": "chat:write,users:read",
    }
    assert answer.headers["x-oauth-scopes"] == "chat:write,users:read"


def test_reading_history_needs_the_scope_of_the_kind(slack: Served) -> None:
    slack.workspace.scopes.discard("channels:history")
    error = refused(slack, "conversations.history", channel=TEAM_A).response
    assert (error["error"], error["needed"]) == ("missing_scope", "channels:history")


def test_unknown_method_is_refused(slack: Served) -> None:
    assert refused(slack, "chat.sing").response["error"] == "unknown_method"


def test_form_and_json_bodies_mean_the_same(slack: Served) -> None:
    as_form = slack.bot.api_call("chat.postMessage", params={"channel": TEAM_A, "text": "a"})
    as_json = slack.bot.api_call("chat.postMessage", json={"channel": TEAM_A, "text": "b"})
    assert (as_form["ok"], as_json["ok"]) == (True, True)
    assert slack.texts(ALICE, TEAM_A) == ["a", "b"]


def test_listing_everybody_is_a_violation(slack: Served) -> None:
    slack.bot.users_list()
    slack.bot.conversations_list()
    assert slack.workspace.violations == ["users.list", "conversations.list"]


def test_user_info_tells_guests_and_strangers(slack: Served) -> None:
    stranger = User("U0EVE", "eve", "Eve", is_stranger=True, team_id="T0OTHER")
    slack.workspace.users["U0EVE"] = stranger
    dan, eve = (slack.bot.users_info(user=user)["user"] for user in (DAN, "U0EVE"))
    assert (dan["is_restricted"], dan["tz"], "is_stranger" in dan) == (True, "Europe/Berlin", False)
    assert (eve["is_stranger"], eve["team_id"]) == (True, "T0OTHER")
    assert "email" not in dan["profile"]
    assert refused(slack, "users.info", user="U0NOBODY").response["error"] == "user_not_found"


def test_groups_are_listed_with_members_on_request(slack: Served) -> None:
    [group] = slack.bot.usergroups_list(include_users=True)["usergroups"]
    assert (group["handle"], group["users"]) == ("gpu-admins", ["U0CAROL"])
    assert slack.bot.usergroups_users_list(usergroup="S0ADMINS")["users"] == ["U0CAROL"]
    error = refused(slack, "usergroups.users.list", usergroup="S0X").response["error"]
    assert error == "no_such_subteam"


def test_bot_sees_its_own_channels_and_their_members(slack: Served) -> None:
    slack.call(lambda: slack.workspace.remove_bot("C0DAILY"))
    mine = slack.bot.users_conversations(types="public_channel")["channels"]
    assert [channel["name"] for channel in mine] == ["team-a", "team-b", "gpu-approvals"]
    members = slack.bot.conversations_members(channel=TEAM_A, limit=2)
    assert members["members"] == ["U0ALICE", "U0CAROL"]
    assert members["response_metadata"]["next_cursor"] == "next:2"


def test_bot_joins_a_public_channel(slack: Served) -> None:
    slack.call(lambda: slack.workspace.remove_bot(TEAM_A))
    assert slack.bot.conversations_info(channel=TEAM_A)["channel"]["is_member"] is False
    slack.bot.conversations_join(channel=TEAM_A)
    assert slack.bot.conversations_info(channel=TEAM_A)["channel"]["is_member"] is True


def test_direct_messages_keep_their_channel(slack: Served) -> None:
    opened = [slack.bot.conversations_open(users=ALICE)["channel"]["id"] for _ in range(2)]
    posted = slack.bot.chat_postMessage(channel=ALICE, text="x")["channel"]
    assert [*opened, posted] == ["D0ALICE"] * 3


def test_fifth_post_at_once_waits(slack: Served) -> None:
    for _ in range(4):
        slack.bot.chat_postMessage(channel=TEAM_A, text="x")
    answer = refused(slack, "chat.postMessage", channel=TEAM_A, text="x").response
    assert (answer.status_code, answer["error"]) == (429, "ratelimited")
    assert 1 <= int(answer.headers["retry-after"]) <= 4
    slack.bot.chat_postMessage(channel="C0TEAMB", text="another channel has its own budget")


def test_fifty_first_update_in_a_minute_waits(stage: Stage) -> None:
    now = [0.0]
    with stage.workspace(lambda: now[0]) as slack:
        ts = slack.bot.chat_postMessage(channel=TEAM_A, text="x")["ts"]
        for _ in range(50):
            slack.bot.chat_update(channel=TEAM_A, ts=ts, text="y")
        answer = refused(slack, "chat.update", channel=TEAM_A, ts=ts, text="z").response
        assert answer.headers["retry-after"] == "60"
        now[0] = 60.0
        slack.bot.chat_update(channel=TEAM_A, ts=ts, text="z")


def test_windows_free_one_request_at_a_time() -> None:
    now = [0.0]
    rates = Rates(lambda: now[0])
    waits = []
    for moment in (0, 0, 1, 1, 1.5, 4, 4):
        now[0] = moment
        waits.append(rates.take("x", POSTING))
    assert waits == [0, 0, 0, 0, 3, 0, 0]
    assert rates.take("y", TIER_3) == 0


def uploaded(slack: Served, content: bytes = PNG) -> dict[str, object]:
    """An image block that shows a file with this content."""
    answer = slack.bot.files_upload_v2(content=content, filename="chart.png", title="GPUs")
    file_id = answer["files"][0]["id"]
    return {"type": "image", "alt_text": "chart", "slack_file": {"id": file_id}}


def test_unshared_file_is_shown_by_a_block(slack: Served) -> None:
    image = uploaded(slack)
    slack.bot.chat_postMessage(channel=TEAM_A, text="x", blocks=[image])
    assert [file.content for file in slack.workspace.files.values()] == [PNG]
    assert slack.texts(ALICE, TEAM_A) == ["[image: chart]"]
    shown = slack.call(lambda: page(slack.workspace, "x"))
    assert f"data:image/png;base64,{base64.b64encode(PNG).decode()}" in shown


def test_file_that_is_no_picture_is_refused(slack: Served) -> None:
    image = uploaded(slack, b"chart")
    answer = refused(slack, "chat.postMessage", channel=TEAM_A, text="x", blocks=[image])
    assert answer.response["error"] == "invalid_blocks"


def test_picture_is_refused_while_looked_at(slack: Served) -> None:
    image = uploaded(slack)
    slack.workspace.faults.looks_at_files = 1
    answer = refused(slack, "chat.postMessage", channel=TEAM_A, text="x", blocks=[image])
    said = ["[ERROR] invalid slack file [json-pointer:/blocks]"]
    assert answer.response["response_metadata"] == {"messages": said}
    slack.bot.chat_postMessage(channel=TEAM_A, text="x", blocks=[image])
    assert slack.texts(ALICE, TEAM_A) == ["[image: chart]"]


def test_alternative_text_of_files_is_limited(slack: Served) -> None:
    asked = {"filename": "chart.png", "length": 9, "alt_txt": "x" * 1001}
    assert refused(slack, "files.getUploadURLExternal", **asked).response["error"] == (
        "alt_txt_too_large"
    )


def test_block_with_an_unknown_file_is_refused(slack: Served) -> None:
    image = {"type": "image", "alt_text": "chart", "slack_file": {"id": "F0NONE"}}
    answer = refused(slack, "chat.postMessage", channel=TEAM_A, text="x", blocks=[image])
    assert answer.response["error"] == "invalid_blocks"


def test_sharing_a_file_needs_membership(slack: Served) -> None:
    slack.workspace.scopes.add("chat:write.public")
    slack.call(lambda: slack.workspace.remove_bot(TEAM_A))
    with pytest.raises(SlackApiError) as caught:
        slack.bot.files_upload_v2(content="chart", filename="chart.png", channel=TEAM_A)
    assert caught.value.response["error"] == "not_in_channel"
