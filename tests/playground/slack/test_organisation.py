"""An app for a whole organisation gets the payloads that Slack documents for such apps."""

import json
from typing import Any
from urllib.parse import parse_qs

import pytest
from slack_sdk.errors import SlackApiError

from playground.slack.errors import PersonError
from playground.slack.installed import ManifestError
from playground.slack.people import ORGANISATION, PARTNER, SISTER, User
from tests.playground.slack.bots import Incoming, listening
from tests.playground.slack.served import GRACE, Served

TEAM_A = "C0TEAMA"
ALICE = "U0ALICE"
INSTALLED: dict[str, Any] = {
    "team": None,
    "enterprise": {"id": "E0ACME", "name": "Acme"},
    "is_enterprise_install": True,
}
BUTTON = {
    "type": "actions",
    "elements": [
        {"type": "button", "action_id": "stop", "text": {"type": "plain_text", "text": "Stop"}}
    ],
}


@pytest.fixture
def grid(slack: Served) -> Served:
    slack.grow_into_organisation()
    return slack


def taken(_request: Incoming) -> tuple[int, str, dict[str, str]]:
    return 200, "", {}


def interaction(request: Incoming) -> Any:
    return json.loads(parse_qs(request.body)["payload"][0])


def refusal(slack: Served, method: str, **arguments: str) -> str:
    with pytest.raises(SlackApiError) as caught:
        slack.bot.api_call(method, params=arguments)
    return str(caught.value.response["error"])


def test_an_organisation_needs_a_fitting_manifest(slack: Served) -> None:
    with pytest.raises(ManifestError, match=r"^/settings/org_deploy_enabled: must be true$"):
        slack.call(slack.workspace.install_org_wide)


def test_the_token_is_of_the_organisation(grid: Served) -> None:
    assert grid.bot.auth_test().data == {
        "ok": True,
        "url": "https://acme.slack.example/",
        "team": "Acme",
        "user": "quartermaster",
        "team_id": "E0ACME",
        "user_id": "U0QM",
        "bot_id": "B0QM",
        "enterprise_id": "E0ACME",
        "is_enterprise_install": True,
    }


def test_commands_say_which_organisation_they_are_of(grid: Served) -> None:
    with listening(grid, taken) as arrived:
        grid.act(grid.workspace.slash(GRACE, TEAM_A, "/train list"))
    fields = {name: values[0] for name, values in parse_qs(arrived[0].body).items()}
    del fields["response_url"], fields["trigger_id"]
    assert fields == {
        "token": grid.workspace.credentials.verification,
        "team_id": SISTER,
        "team_domain": "acme",
        "enterprise_id": ORGANISATION,
        "enterprise_name": "Acme",
        "channel_id": TEAM_A,
        "channel_name": "team-a",
        "user_id": GRACE,
        "user_name": "grace",
        "command": "/train",
        "text": "list",
        "api_app_id": "A0QM",
        "is_enterprise_install": "true",
    }


def test_clicks_and_shortcuts_name_no_workspace(grid: Served) -> None:
    grid.bot.chat_postMessage(channel=TEAM_A, text="lane", blocks=[BUTTON])
    [message] = grid.workspace.channels[TEAM_A].messages
    with listening(grid, taken) as arrived:
        grid.act(grid.workspace.click(GRACE, message, "Stop"))
        grid.act(grid.workspace.shortcut(GRACE, "Submit training"))
    grace = {"id": GRACE, "username": "grace", "name": "grace", "team_id": SISTER}
    for payload in map(interaction, arrived):
        assert {name: payload[name] for name in INSTALLED} == INSTALLED
        assert payload["user"] == grace


def test_events_are_authorized_for_the_organisation(grid: Served) -> None:
    with listening(grid, taken) as arrived:
        grid.act(grid.workspace.mention(GRACE, TEAM_A, "train list"))
        grid.until(lambda: arrived)
    payload = arrived[0].json
    assert payload["enterprise_id"] == ORGANISATION
    assert payload["authorizations"] == [
        {
            "enterprise_id": ORGANISATION,
            "team_id": None,
            "user_id": "U0QM",
            "is_bot": True,
            "is_enterprise_install": True,
        }
    ]


def test_colleagues_are_described_with_their_organisation(grid: Served) -> None:
    grace = grid.bot.users_info(user=GRACE)["user"]
    assert (grace["team_id"], grace.get("is_stranger")) == (SISTER, None)
    assert grace["enterprise_user"] == {
        "id": GRACE,
        "enterprise_id": ORGANISATION,
        "enterprise_name": "Acme",
        "is_admin": False,
        "is_owner": False,
        "teams": [SISTER],
    }


def test_a_channel_may_be_shared_inside(grid: Served) -> None:
    seen = grid.bot.conversations_info(channel=TEAM_A)["channel"]
    shared = ("is_shared", "is_org_shared", "is_ext_shared", "shared_team_ids")
    assert [seen[name] for name in shared] == [True, True, False, ["T0QM", SISTER]]


def test_lists_are_of_one_named_workspace(grid: Served) -> None:
    group = {"usergroup": "S0ADMINS"}
    assert refusal(grid, "usergroups.users.list", **group) == "missing_argument"
    error = refusal(grid, "usergroups.users.list", **group, team_id=PARTNER)
    assert error == "team_access_not_granted"
    found = grid.bot.api_call("usergroups.users.list", params={**group, "team_id": "T0QM"})
    assert found["users"] == ["U0CAROL"]


def test_the_workspaces_own_token_ignores_it(slack: Served) -> None:
    params = {"usergroup": "S0ADMINS", "team_id": PARTNER}
    found = slack.bot.api_call("usergroups.users.list", params=params)
    assert found["users"] == ["U0CAROL"]


def test_another_company_has_no_such_app(grid: Served) -> None:
    mallory = User("U0MALLORY", "mallory", "Mallory Reyes", is_stranger=True, team_id=PARTNER)
    grid.workspace.users[mallory.id] = mallory
    grid.call(lambda: grid.workspace.share(TEAM_A, mallory.id))
    [message] = grid.act(grid.workspace.slash(mallory.id, TEAM_A, "/train list"))
    assert message.text == "`/train` is not a valid command."
    with pytest.raises(PersonError):
        grid.act(grid.workspace.shortcut(mallory.id, "Submit training"))
