"""Forms and Home tabs, through Bolt and the real view methods."""

from dataclasses import replace
from typing import Any

import pytest
from slack_bolt import Ack, App
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from playground.slack.errors import PersonError, SlackError
from playground.slack.triggers import Triggers
from playground.slack.views import View
from tests.playground.slack.bots import bolt_app, over_http
from tests.playground.slack.served import Served

TEAM_A = "C0TEAMA"
ALICE = "U0ALICE"
Payload = dict[str, Any]


def form(**changes: Any) -> Payload:
    """A form with a required name and an optional size."""
    return {
        "type": "modal",
        "callback_id": "submit",
        "title": {"type": "plain_text", "text": "Submit"},
        "submit": {"type": "plain_text", "text": "Send"},
        "notify_on_close": True,
        "blocks": [
            {
                "type": "input",
                "block_id": "name",
                "label": {"type": "plain_text", "text": "Name"},
                "element": {"type": "plain_text_input", "action_id": "text", "max_length": 8},
            },
            {
                "type": "input",
                "block_id": "size",
                "optional": True,
                "label": {"type": "plain_text", "text": "Size"},
                "element": {
                    "type": "static_select",
                    "action_id": "pick",
                    "options": [{"text": {"type": "plain_text", "text": "Big"}, "value": "8"}],
                },
            },
        ],
        **changes,
    }


def asking(slack: Served) -> App:
    """An app whose /train opens the form."""
    app = bolt_app(slack)

    @app.command("/train")
    def train(ack: Ack, command: Payload, client: WebClient) -> None:
        client.views_open(trigger_id=command["trigger_id"], view=form())
        ack()

    return app


def opened(slack: Served) -> View:
    """The form Alice gets for /train."""
    slack.act(slack.workspace.slash(ALICE, TEAM_A, "/train submit"))
    view = slack.workspace.views.top(ALICE)
    assert view is not None
    return view


def test_sent_form_reaches_the_bot_with_values(slack: Served) -> None:
    app, got = asking(slack), []

    @app.view("submit")
    def submitted(ack: Ack, view: Payload) -> None:
        got.append(view["state"]["values"])
        ack()

    with over_http(slack, app):
        view = opened(slack)
        errors = slack.act(
            slack.workspace.submit_view(ALICE, view, {"Name": "lane", "size": "Big"})
        )
    assert errors == {}
    assert not view.is_open
    option = {"text": {"type": "plain_text", "text": "Big"}, "value": "8"}
    assert got == [
        {
            "name": {"text": {"type": "plain_text_input", "value": "lane"}},
            "size": {"pick": {"type": "static_select", "selected_option": option}},
        }
    ]


def test_form_stays_open_with_errors_beside_fields(slack: Served) -> None:
    app = asking(slack)

    @app.view("submit")
    def submitted(ack: Ack) -> None:
        ack(response_action="errors", errors={"name": "already taken"})

    with over_http(slack, app):
        view = opened(slack)
        errors = slack.act(slack.workspace.submit_view(ALICE, view, {"Name": "lane"}))
    assert errors == {"name": "already taken"}
    assert view.is_open


def test_answer_can_update_and_push_forms(slack: Served) -> None:
    app = asking(slack)
    answers = iter(["update", "push"])

    @app.view("submit")
    def submitted(ack: Ack) -> None:
        title = {"type": "plain_text", "text": "Next"}
        ack(response_action=next(answers), view=form(title=title))

    with over_http(slack, app):
        first = opened(slack)
        slack.act(slack.workspace.submit_view(ALICE, first, {"Name": "lane"}))
        slack.act(slack.workspace.submit_view(ALICE, first, {"Name": "lane"}))
    top = slack.workspace.views.top(ALICE)
    assert top is not None
    assert (top.previous_id, top.body["title"]["text"]) == (first.id, "Next")


def test_closed_form_tells_the_bot(slack: Served) -> None:
    app, closed = asking(slack), []

    @app.view_closed("submit")
    def gone(ack: Ack, view: Payload) -> None:
        closed.append(view["id"])
        ack()

    with over_http(slack, app):
        view = opened(slack)
        slack.act(slack.workspace.close_view(ALICE, view))
    assert closed == [view.id]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "Name: please complete this required field"),
        ({"Name": "much too long"}, "Name: must be at most 8 characters"),
        ({"Name": "lane", "Size": "Small"}, "Size: no option Small"),
        ({"Colour": "red"}, "the form has no field Colour"),
    ],
)
def test_slack_itself_refuses_wrong_values(slack: Served, values: Payload, said: str) -> None:
    with over_http(slack, asking(slack)):
        view = opened(slack)
        with pytest.raises(PersonError, match=said):
            slack.act(slack.workspace.submit_view(ALICE, view, values))


def test_form_belongs_to_one_person(slack: Served) -> None:
    with over_http(slack, asking(slack)):
        view = opened(slack)
    with pytest.raises(PersonError, match="Carol does not see this form"):
        slack.act(slack.workspace.submit_view("U0CAROL", view, {"Name": "lane"}))


def refused(slack: Served, method: str, **arguments: Any) -> str:
    """The error code of a call that must fail."""
    with pytest.raises(SlackApiError) as caught:
        slack.bot.api_call(method, json=arguments)
    return str(caught.value.response["error"])


def test_trigger_works_only_once(slack: Served) -> None:
    trigger = slack.workspace.triggers.issue(ALICE)
    slack.bot.views_open(trigger_id=trigger, view=form())
    assert refused(slack, "views.open", trigger_id=trigger, view=form()) == "exchanged_trigger_id"
    assert refused(slack, "views.open", trigger_id="1.2.3", view=form()) == "invalid_trigger_id"


def test_trigger_expires_after_three_seconds() -> None:
    now = [0.0]
    triggers = Triggers(lambda: now[0])
    trigger = triggers.issue(ALICE)
    now[0] = 3.1
    with pytest.raises(SlackError, match="expired_trigger_id"):
        triggers.exchange(trigger)


def test_fourth_form_on_the_stack_is_refused(slack: Served) -> None:
    workspace = slack.workspace
    view = slack.bot.views_open(trigger_id=workspace.triggers.issue(ALICE), view=form())["view"]
    for _ in range(2):
        trigger = workspace.triggers.issue(ALICE, view["id"])
        slack.bot.views_push(trigger_id=trigger, view=form())
    trigger = workspace.triggers.issue(ALICE, view["id"])
    assert refused(slack, "views.push", trigger_id=trigger, view=form()) == "push_limit_reached"


def test_update_with_an_old_hash_conflicts(slack: Served) -> None:
    trigger = slack.workspace.triggers.issue(ALICE)
    view = slack.bot.views_open(trigger_id=trigger, view=form())["view"]
    slack.bot.views_update(view_id=view["id"], hash=view["hash"], view=form())
    again = refused(slack, "views.update", view_id=view["id"], hash=view["hash"], view=form())
    assert again == "hash_conflict"


def test_update_of_a_closed_form_finds_nothing(slack: Served) -> None:
    trigger = slack.workspace.triggers.issue(ALICE)
    view = slack.bot.views_open(trigger_id=trigger, view=form())["view"]
    slack.act(slack.workspace.close_view(ALICE, slack.workspace.views.all[view["id"]]))
    assert refused(slack, "views.update", view_id=view["id"], view=form()) == "not_found"


def test_external_id_is_used_by_one_form(slack: Served) -> None:
    for user in (ALICE, "U0CAROL"):
        trigger = slack.workspace.triggers.issue(user)
        arguments = {"trigger_id": trigger, "view": form(external_id="x")}
        if user == ALICE:
            slack.bot.api_call("views.open", json=arguments)
        else:
            assert refused(slack, "views.open", **arguments) == "duplicate_external_id"


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"private_metadata": "x" * 3001}, "invalid_arguments"),
        ({"title": {"type": "plain_text", "text": "x" * 25}}, "invalid_arguments"),
        ({"callback_id": "x" * 256}, "invalid_arguments"),
        ({"submit": None}, "invalid_arguments"),
        ({"blocks": [{"type": "divider"}] * 101}, "invalid_arguments"),
        ({"private_metadata": "x" * 250_000}, "view_too_large"),
        ({"type": "home"}, "invalid_arguments"),
    ],
)
def test_view_beyond_a_limit_is_refused(slack: Served, changes: Payload, error: str) -> None:
    trigger = slack.workspace.triggers.issue(ALICE)
    assert refused(slack, "views.open", trigger_id=trigger, view=form(**changes)) == error


def test_home_tab_is_published_when_opened(slack: Served) -> None:
    app = bolt_app(slack)
    home = {"type": "home", "blocks": [{"type": "divider"}]}

    @app.event("app_home_opened")
    def show(event: Payload, client: WebClient) -> None:
        client.views_publish(user_id=event["user"], view=home)

    with over_http(slack, app):
        slack.act(slack.workspace.open_home(ALICE))
        slack.until(lambda: ALICE in slack.workspace.views.homes)


def test_home_tab_that_is_off_is_refused(slack: Served) -> None:
    slack.workspace.app = replace(slack.workspace.app, has_home=False)
    home = {"type": "home", "blocks": [{"type": "divider"}]}
    assert refused(slack, "views.publish", user_id=ALICE, view=home) == "not_enabled"


def searching(slack: Served, answers: dict[str, Any], got: list[Payload]) -> App:
    """An app whose form has a field to search in; it answers each search from `answers`."""
    app = bolt_app(slack)
    block = {
        "type": "input",
        "block_id": "run",
        "dispatch_action": True,
        "label": {"type": "plain_text", "text": "Run"},
        "element": {"type": "external_select", "action_id": "pick", "min_query_length": 0},
    }

    @app.command("/train")
    def train(ack: Ack, command: Payload, client: WebClient) -> None:
        client.views_open(trigger_id=command["trigger_id"], view=form(blocks=[block]))
        ack()

    @app.options("pick")
    def search(ack: Ack, payload: Payload) -> None:
        ack(**answers.get(payload["value"], {"options": []}))

    @app.action("pick")
    def picked(ack: Ack, body: Payload) -> None:
        got.append(body)
        ack()

    return app


def option(value: str) -> Payload:
    return {"text": {"type": "plain_text", "text": f"{value} · running"}, "value": value}


def test_a_search_offers_what_the_bot_knows(slack: Served) -> None:
    got: list[Payload] = []
    with over_http(slack, searching(slack, {"la": {"options": [option("lane")]}}, got)):
        view, workspace = opened(slack), slack.workspace
        assert slack.act(workspace.search_options(ALICE, view, "Run", "la")) == [option("lane")]
        slack.act(workspace.change_field(ALICE, view, "run", "lane"))
    (body,) = got
    assert [each["selected_option"] for each in body["actions"]] == [option("lane")]
    assert body["view"]["state"]["values"] == {
        "run": {"pick": {"type": "external_select", "selected_option": option("lane")}}
    }
    assert "channel" not in body


def test_what_was_not_offered_cannot_be_chosen(slack: Served) -> None:
    with over_http(slack, searching(slack, {}, [])):
        view = opened(slack)
        with pytest.raises(PersonError, match="Run: no option lane"):
            slack.act(slack.workspace.submit_view(ALICE, view, {"run": "lane"}))


@pytest.mark.parametrize(
    "answer", [{"options": [option("v" * 151)]}, {"options": [option("v")] * 101}]
)
def test_options_beyond_slacks_limits_are_refused(slack: Served, answer: Payload) -> None:
    with over_http(slack, searching(slack, {"la": answer}, [])):
        view = opened(slack)
        with pytest.raises(PersonError, match="the options could not be loaded"):
            slack.act(slack.workspace.search_options(ALICE, view, "run", "la"))


def test_a_choice_stays_until_the_form_is_sent(slack: Served) -> None:
    sent: list[Payload] = []
    app = searching(slack, {"lane": {"options": [option("lane")]}}, [])

    @app.view("submit")
    def submitted(ack: Ack, view: Payload) -> None:
        sent.append(view["state"]["values"]["run"]["pick"]["selected_option"])
        ack()

    with over_http(slack, app):
        view, workspace = opened(slack), slack.workspace
        slack.act(workspace.change_field(ALICE, view, "run", "lane"))
        assert slack.act(workspace.submit_view(ALICE, view, {})) == {}
    assert sent == [option("lane")]
