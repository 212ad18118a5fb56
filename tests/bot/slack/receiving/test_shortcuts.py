"""A shortcut of no channel opens at once, and shows the form of the person's direct messages."""

import pytest

from bot.slack.card import Reply
from bot.slack.forms.form import Field, FieldKind, Form, FormPlace
from bot.slack.receiving.incoming import Incoming
from playground.ledger import Fault
from tests.bot.slack.conftest import Open
from tests.bot.slack.receiving.dispatchers import RecordingDispatcher, say
from tests.playground.slack.served import Served

ALICE = "U0ALICE"


def with_form(incoming: Incoming) -> Reply:
    place = FormPlace("train", "submit", incoming.channel)
    field = Field("name", "Name", FieldKind.LINE)
    return Reply(form=Form("/train submit", "Submit", place, [field]))


def used(slack: Served, opened: Open, dispatcher: RecordingDispatcher) -> list[str]:
    """What Alice sees at last, line by line: the title, texts and names of fields."""
    workspace = slack.workspace
    with opened(dispatcher):
        slack.act(workspace.shortcut(ALICE, "Submit training"))
        slack.until(lambda: workspace.courier.is_idle and seen(slack)[1:] != ["Loading ..."])
    return seen(slack)


def seen(slack: Served) -> list[str]:
    view = slack.workspace.views.top(ALICE)
    if view is None:
        return ["", "Loading ..."]
    texts = [each.get("text", each.get("label"))["text"] for each in view.body["blocks"]]
    return [view.body["title"]["text"], *texts]


def test_its_form_is_of_the_direct_messages(slack: Served, opened: Open) -> None:
    dispatcher = RecordingDispatcher(with_form)
    assert used(slack, opened, dispatcher) == ["/train submit", "Name"]
    (asked,) = dispatcher.seen
    assert (asked.kind, asked.command, asked.channel) == (
        "shortcut",
        "submit-training",
        slack.workspace.im(ALICE).id,
    )


def test_a_refusal_stands_in_its_place(slack: Served, opened: Open) -> None:
    dispatcher = RecordingDispatcher(lambda _: say("You are in no team."))
    assert used(slack, opened, dispatcher) == ["Quartermaster", "You are in no team."]


def test_a_lost_answer_keeps_no_form_away(slack: Served, opened: Open) -> None:
    slack.workspace.ledger.by_name["views.open"] = [Fault.LOSE_ANSWER]
    assert used(slack, opened, RecordingDispatcher(with_form)) == ["/train submit", "Name"]


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_no_form_keeps_loading_for_ever(slack: Served, opened: Open, fault: Fault) -> None:
    slack.workspace.ledger.by_name["conversations.open"] = [fault]
    assert used(slack, opened, RecordingDispatcher(with_form)) == [
        "Quartermaster",
        "Slack did not open your direct messages with the bot. Try again.",
    ]
