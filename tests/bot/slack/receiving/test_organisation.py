"""Where the app is installed to a whole organisation, all of its people reach the dispatcher."""

from typing import Any

import pytest

from bot.slack.card import Reply
from bot.slack.forms.form import Field, FieldKind, Form, FormPlace
from bot.slack.home.tabs import HomeOpened
from bot.slack.receiving.incoming import Incoming
from playground.slack import organisation, payloads
from playground.slack.people import PARTNER, SISTER, User
from tests.bot.slack.conftest import Open
from tests.bot.slack.receiving.dispatchers import RecordingDispatcher, say
from tests.playground.slack.served import GRACE, Served

TEAM_A = "C0TEAMA"
EVE = User("U0EVE", "eve", "Eve Castell", team_id=PARTNER)
BUTTON: dict[str, Any] = {
    "type": "actions",
    "elements": [
        {"type": "button", "action_id": "stop", "text": {"type": "plain_text", "text": "Stop"}}
    ],
}


@pytest.fixture
def grid(slack: Served) -> Served:
    slack.grow_into_organisation()
    return slack


def with_form(incoming: Incoming) -> Reply:
    if incoming.kind != "command":
        return say("Done.")
    place = FormPlace("train", "submit", incoming.channel)
    fields = [
        Field("name", "Name", FieldKind.LINE),
        Field("pvc", "PVC", FieldKind.SEARCH),
        Field("kind", "Kind", FieldKind.LINE, is_watched=True),
    ]
    return Reply(form=Form("/train submit", "Submit", place, fields))


def heard(dispatcher: RecordingDispatcher) -> list[tuple[str, str, str]]:
    return [(each.kind, each.person, each.channel) for each in dispatcher.seen]


def test_colleagues_type_click_and_write(grid: Served, opened: Open) -> None:
    dispatcher, workspace = RecordingDispatcher(reply=lambda _: say("Done.")), grid.workspace
    grid.bot.chat_postMessage(channel=TEAM_A, text="lane", blocks=[BUTTON])
    message = workspace.channels[TEAM_A].messages[0]
    with opened(dispatcher):
        grid.act(workspace.slash(GRACE, TEAM_A, "/train list"))
        grid.act(workspace.click(GRACE, message, "Stop"))
        grid.act(workspace.shortcut(GRACE, "Show log", message))
        grid.act(workspace.mention(GRACE, TEAM_A, "train list"))
        grid.until(lambda: len(dispatcher.seen) == 4)
    assert heard(dispatcher) == [
        ("command", GRACE, TEAM_A),
        ("button", GRACE, TEAM_A),
        ("shortcut", GRACE, TEAM_A),
        ("mention", GRACE, TEAM_A),
    ]


def test_colleagues_fill_and_send_forms(grid: Served, opened: Open) -> None:
    dispatcher, workspace = RecordingDispatcher(reply=with_form), grid.workspace
    with opened(dispatcher):
        grid.act(workspace.slash(GRACE, TEAM_A, "/train submit"))
        grid.until(lambda: workspace.views.top(GRACE))
        view = workspace.views.top(GRACE)
        assert view is not None
        grid.act(workspace.search_options(GRACE, view, "pvc", "data"))
        grid.act(workspace.change_field(GRACE, view, "kind", "mpi"))
        assert grid.act(workspace.submit_view(GRACE, view, {"name": "lane"})) == {}
    assert heard(dispatcher) == [
        (kind, GRACE, TEAM_A) for kind in ("command", "options", "form-change", "form")
    ]


def test_colleagues_open_their_home_tabs(grid: Served, opened: Open) -> None:
    dispatcher = RecordingDispatcher()
    with opened(dispatcher):
        grid.act(grid.workspace.open_home(GRACE))
        grid.until(lambda: dispatcher.homes)
    assert dispatcher.homes == [HomeOpened(GRACE, "D0GRACE", is_blank=True)]


def from_elsewhere(slack: Served) -> list[tuple[str, dict[str, Any]]]:
    """A command, a shortcut and an event of another company, by the kind of their delivery."""
    token, place = slack.workspace.credentials.verification, slack.workspace.channels[TEAM_A]
    used = {"callback_id": "submit-training", "trigger_id": "1.7.2", "action_ts": "1.1"}
    of_theirs = {"id": PARTNER, "domain": "globex"}
    inner = {"type": "app_mention", "user": EVE.id, "channel": TEAM_A, "ts": "1.1", "text": "hi"}
    event = payloads.event(token, inner, 0, is_shared=False)
    (ours,) = event["authorizations"]
    event["authorizations"] = [{**ours, "team_id": PARTNER}]
    typed = {"trigger_id": "1.7.1", "response_url": "http://127.0.0.1:9/"}
    return [
        ("slash_commands", payloads.slash(token, EVE, place, "/train", "list") | typed),
        ("interactive", payloads.interaction("shortcut", token, EVE) | used | {"team": of_theirs}),
        ("events_api", event),
    ]


def in_organisation(kind: str, payload: dict[str, Any], enterprise: str) -> dict[str, Any]:
    """The payload as one of an app that another organisation installed."""
    if kind == "slash_commands":
        return {**organisation.slash(payload), "enterprise_id": enterprise}
    if kind == "interactive":
        other = {"id": enterprise, "name": "Globex"}
        return {**organisation.interaction(payload), "enterprise": other}
    made = organisation.event(payload)
    made["authorizations"][0]["enterprise_id"] = enterprise
    return {**made, "enterprise_id": enterprise, "context_enterprise_id": enterprise}


def delivered(slack: Served, made: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    """What Slack is answered."""
    courier, answers = slack.workspace.courier, []
    for kind, payload in made:
        if kind == "events_api":
            slack.call(lambda payload=payload: courier.publish(payload))  # type: ignore[misc]  # now
            slack.until(lambda: courier.is_idle)
        else:
            answers += slack.act(courier.interact(kind, payload))
    return answers


REFUSED = {"response_type": "ephemeral", "text": "Quartermaster does not serve this workspace."}


def test_other_workspaces_are_refused(slack: Served, opened: Open) -> None:
    dispatcher = RecordingDispatcher()
    with opened(dispatcher):
        command, *others = delivered(slack, from_elsewhere(slack))
    assert (command, any(others), dispatcher.seen) == (REFUSED, False, [])


def test_other_organisations_are_refused(grid: Served, opened: Open) -> None:
    dispatcher = RecordingDispatcher()
    made = [(kind, in_organisation(kind, each, "E0GLOBEX")) for kind, each in from_elsewhere(grid)]
    with opened(dispatcher):
        command, *others = delivered(grid, made)
    assert (command, any(others), dispatcher.seen) == (REFUSED, False, [])


def test_the_organisation_must_be_set(slack: Served, opened: Open) -> None:
    """Without the setting, only the workspace is served, wherever the app is installed."""
    dispatcher = RecordingDispatcher()
    typed = {"trigger_id": "1.7.1", "response_url": "http://127.0.0.1:9/"}
    grace = User(GRACE, "grace", "Grace Lindqvist", team_id=SISTER)
    place, token = slack.workspace.channels[TEAM_A], slack.workspace.credentials.verification
    payload = organisation.slash(payloads.slash(token, grace, place, "/train", "list") | typed)
    with opened(dispatcher):
        answers = delivered(slack, [("slash_commands", payload)])
    assert (answers, dispatcher.seen) == ([REFUSED], [])
