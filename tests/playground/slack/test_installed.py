"""An app sees what its manifest names, and Slack refuses a manifest that contradicts itself."""

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs

import pytest

from playground.slack.errors import PersonError
from playground.slack.installed import Installed, ManifestError, installed
from playground.slack.people import PARTNER, User
from tests.playground.slack.bots import Incoming, listening
from tests.playground.slack.served import Served, usual_manifest

TEAM_A = "C0TEAMA"
ALICE = "U0ALICE"
KINDS = ("channel_shared", "app_mention", "channel_unshared")
NO_ANSWER: tuple[int, str, dict[str, str]] = (200, "", {})


def events(arrived: list[Incoming]) -> list[dict[str, Any]]:
    return [each.json["event"] for each in arrived]


def told(slack: Served, act: Callable[[], object]) -> list[dict[str, Any]]:
    """The events that an act leads to, and one of a mention, which ends them."""
    with listening(slack, lambda _: NO_ANSWER) as arrived:
        act()
        slack.act(slack.workspace.mention(ALICE, TEAM_A, "that was all"))
        slack.until(lambda: arrived and slack.workspace.courier.is_idle)
    return [each for each in events(arrived) if "that was all" not in each.get("text", "")]


def types(found: list[dict[str, Any]]) -> list[tuple[str, str | None]]:
    return [(each["type"], each.get("subtype")) for each in found]


def writes_to_the_bot(slack: Served, text: str) -> Callable[[], object]:
    return lambda: slack.act(slack.workspace.mention(ALICE, ALICE, text))


def without(slack: Served, event: str) -> None:
    app = slack.workspace.app
    slack.workspace.app = replace(app, events=app.events - {event})


def manifest_with(*shortcuts: dict[str, Any]) -> dict[str, Any]:
    manifest = copy.deepcopy(usual_manifest())
    manifest["features"]["shortcuts"] = list(shortcuts)
    return manifest


SHORTCUT = {"name": "Stop", "type": "message", "callback_id": "stop", "description": "Stops it"}


@pytest.mark.parametrize(
    ("shortcuts", "said"),
    [
        ([SHORTCUT, SHORTCUT], "/features/shortcuts/0/callback_id: stop is there twice"),
        ([SHORTCUT | {"type": "card"}], "/features/shortcuts/0/type: must be global or message"),
        (
            [SHORTCUT | {"name": "n" * 25}],
            "/features/shortcuts/0/name: must have 1 to 24 characters",
        ),
        (
            [SHORTCUT | {"callback_id": str(number)} for number in range(11)],
            "/features/shortcuts: must have at most 10 entries",
        ),
    ],
)
def test_slack_refuses_such_shortcuts(shortcuts: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(ManifestError) as caught:
        installed(manifest_with(*shortcuts))
    assert said.replace("/0/callback_id", "/1/callback_id") in str(caught.value)


def test_people_use_the_shortcuts_of_the_app(slack: Served) -> None:
    of_text = SHORTCUT | {"callback_id": "submit", "name": "Submit", "type": "global"}
    slack.workspace.app = installed(manifest_with(SHORTCUT, of_text))
    with listening(slack, lambda _: NO_ANSWER) as arrived:
        message = slack.act(slack.workspace.mention(ALICE, TEAM_A, "hello"))
        slack.act(slack.workspace.shortcut(ALICE, "Stop", message))
        slack.act(slack.workspace.shortcut(ALICE, "Submit"))
        with pytest.raises(PersonError, match="there is no shortcut Submit; there is: Stop"):
            slack.act(slack.workspace.shortcut(ALICE, "Submit", message))
    bodies = [parse_qs(each.body).get("payload") for each in arrived]
    payloads = [json.loads(body[0]) for body in bodies if body]
    told = [(each["type"], each["callback_id"], each.get("channel")) for each in payloads]
    channel = {"id": TEAM_A, "name": "team-a"}
    assert told == [("message_action", "stop", channel), ("shortcut", "submit", None)]


def test_unsubscribed_direct_messages_reach_nobody(slack: Served) -> None:
    without(slack, "message.im")
    assert told(slack, writes_to_the_bot(slack, "train list")) == []
    assert told(slack, writes_to_the_bot(slack, "@quartermaster train list")) == []


def test_unsubscribed_mentions_reach_nobody(slack: Served) -> None:
    without(slack, "app_mention")
    with listening(slack, lambda _: NO_ANSWER) as arrived:
        slack.act(slack.workspace.mention(ALICE, TEAM_A, "train list"))
        writes_to_the_bot(slack, "that was all")()
        slack.until(lambda: arrived and slack.workspace.courier.is_idle)
    assert types(events(arrived)) == [("message", None)]


def test_events_need_their_scope_as_well(slack: Served) -> None:
    slack.workspace.scopes.discard("im:history")
    assert told(slack, writes_to_the_bot(slack, "train list")) == []


def test_another_company_in_a_channel_is_told(slack: Served) -> None:
    slack.workspace.users["U0EVE"] = User("U0EVE", "eve", "Eve", team_id=PARTNER)
    with listening(slack, lambda _: NO_ANSWER) as arrived:
        slack.call(lambda: slack.workspace.share(TEAM_A, "U0EVE"))
        slack.act(slack.workspace.mention("U0EVE", TEAM_A, "train list"))
        slack.until(lambda: len(arrived) == 2)
        slack.call(lambda: slack.workspace.share(TEAM_A, is_shared=False))
        slack.until(lambda: len(arrived) == 3)
    came, said, left = (next(e for e in events(arrived) if e["type"] == kind) for kind in KINDS)
    assert (came["channel"], came["connected_team_id"]) == (TEAM_A, PARTNER)
    assert (said["channel"], said["user"], said["team"]) == (TEAM_A, "U0EVE", PARTNER)
    assert (left["previously_connected_team_id"], left["is_ext_shared"]) == (PARTNER, False)
    by_kind = {each.json["event"]["type"]: each.json["is_ext_shared_channel"] for each in arrived}
    assert by_kind == {"channel_shared": True, "app_mention": True, "channel_unshared": False}
    assert "U0EVE" not in slack.workspace.channels[TEAM_A].members


def test_sharing_is_told_only_to_subscribers(slack: Served) -> None:
    without(slack, "channel_shared")
    assert told(slack, lambda: slack.call(lambda: slack.workspace.share(TEAM_A))) == []


def test_strangers_have_no_commands_of_ours(slack: Served) -> None:
    workspace = slack.workspace
    workspace.users["U0EVE"] = User("U0EVE", "eve", "Eve", team_id=PARTNER)
    workspace.channels[TEAM_A].members.append("U0EVE")
    with pytest.raises(PersonError, match="team-a is not shared with the company of Eve"):
        slack.act(workspace.mention("U0EVE", TEAM_A, "train list"))
    slack.call(lambda: workspace.share(TEAM_A))
    [said] = slack.act(workspace.slash("U0EVE", TEAM_A, "/train list"))
    assert (said.user, said.text) == ("USLACKBOT", "`/train` is not a valid command.")


def test_direct_messages_of_the_bot_come_back(slack: Served) -> None:
    def posts_and_edits() -> None:
        place = slack.bot.conversations_open(users=ALICE)["channel"]["id"]
        ts = slack.bot.chat_postMessage(channel=place, text="hello")["ts"]
        slack.bot.chat_update(channel=place, ts=ts, text="hello again")
        slack.bot.chat_delete(channel=place, ts=ts)

    found = told(slack, posts_and_edits)
    assert sorted(types(found), key=str) == [
        ("message", "message_changed"),
        ("message", "message_deleted"),
        ("message", None),
    ]
    [own] = [each for each in found if "subtype" not in each]
    assert (own["bot_id"], own["user"], own["channel_type"]) == ("B0QM", "U0QM", "im")


def test_answers_for_one_person_are_no_events(slack: Served) -> None:
    place = slack.workspace.im(ALICE).id

    def whispers() -> None:
        slack.bot.chat_postEphemeral(channel=place, user=ALICE, text="only you")

    assert told(slack, whispers) == []


def test_an_edited_mention_is_told_again(slack: Served) -> None:
    with listening(slack, lambda _: NO_ANSWER) as arrived:
        message = slack.act(slack.workspace.mention(ALICE, TEAM_A, "train lits"))
        slack.act(slack.workspace.rewrite(ALICE, message, "train list"))
        slack.until(lambda: len(arrived) == 2)
    edited = next(each for each in events(arrived) if "edited" in each)
    assert (edited["ts"], edited["text"]) == (message.ts, "<@U0QM> train list")


def test_a_mention_in_direct_messages_may_come_twice(slack: Served) -> None:
    slack.workspace.faults.mentions_in_direct_messages = True
    found = told(slack, writes_to_the_bot(slack, "@quartermaster train list"))
    assert sorted(types(found), key=str) == [("app_mention", None), ("message", None)]


def test_nobody_writes_where_messages_are_off(slack: Served) -> None:
    slack.workspace.app = replace(slack.workspace.app, takes_messages=False)
    with pytest.raises(PersonError, match="has been turned off"):
        slack.act(slack.workspace.mention(ALICE, ALICE, "train list"))
    with pytest.raises(PersonError, match="has been turned off"):
        slack.act(slack.workspace.slash(ALICE, ALICE, "/train list"))


def test_clicks_need_interactivity_in_the_manifest(slack: Served) -> None:
    slack.workspace.app = replace(slack.workspace.app, has_interactivity=False)
    button = {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Go"}}
    blocks = [{"type": "actions", "block_id": "b", "elements": [button]}]
    ts = slack.bot.chat_postMessage(channel=TEAM_A, text="card", blocks=blocks)["ts"]
    message = slack.workspace.message(TEAM_A, ts)
    assert message is not None
    with listening(slack, lambda _: NO_ANSWER) as arrived:
        slack.act(slack.workspace.click(ALICE, message, "Go"))
    assert arrived == []


def test_nothing_works_before_an_app_is_installed(slack: Served) -> None:
    slack.workspace.app, slack.workspace.scopes = Installed(), set()
    assert slack.act(slack.workspace.slash(ALICE, TEAM_A, "/train list"))[0].text == (
        "`/train` is not a valid command."
    )


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (
            lambda made: made["oauth_config"]["scopes"]["bot"].remove("im:history"),
            "/settings/event_subscriptions/bot_events: message.im requires the scope im:history",
        ),
        (
            lambda made: made["oauth_config"]["scopes"]["bot"].remove("commands"),
            (
                "/features/slash_commands: requires the scope commands\n"
                "/features/shortcuts: requires the scope commands"
            ),
        ),
        (
            lambda made: made["settings"]["event_subscriptions"]["bot_events"].append("message.dm"),
            "/settings/event_subscriptions/bot_events: message.dm is not an event",
        ),
        (
            lambda made: made["features"]["slash_commands"][0].update(command="/Train"),
            "/features/slash_commands/0/command: /Train is not a command, or is there twice",
        ),
        (
            lambda made: made["display_information"].update(long_description="short"),
            "/display_information/long_description: must have 174 to 4000 characters",
        ),
    ],
)
def test_manifests_that_contradict_themselves_are_refused(
    spoil: Callable[[dict[str, Any]], object], said: str
) -> None:
    made = copy.deepcopy(usual_manifest())
    spoil(made)
    with pytest.raises(ManifestError) as caught:
        installed(made)
    assert str(caught.value) == said
