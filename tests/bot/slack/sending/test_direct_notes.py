"""Direct messages about a card: with a link to it, and told in its thread where Slack refuses."""

import pytest

from bot.slack.sending.sender import Sender
from playground.ledger import Fault
from tests.bot.slack.sending.senders import SenderRig

LINK = "https://acme.slack.example/archives/C0TEAMA/p{ts}"
DIRECT = "D0ALICE"


def told(post: SenderRig, purpose: str = "ended", text: str = "Run lane succeeded.") -> None:
    post.say(purpose, text, to="U0ALICE")


def goes_away(post: SenderRig, *, is_gone: bool = True) -> None:
    post.slack.call(lambda: setattr(post.slack.workspace.users["U0ALICE"], "deleted", is_gone))


def sends(post: SenderRig, sender: Sender | None = None) -> None:
    """Sends all there is, with a second between two messages of a channel."""
    for _ in range(5):
        (sender or post.sender).send_due()
        post.pass_time(1)


def thread(post: SenderRig) -> list[str]:
    """What stands under the card."""
    card, *replies = post.shown()
    assert all(each.thread_ts == card.ts for each in replies)
    return [each.text for each in replies]


def linked(post: SenderRig, text: str = "Run lane succeeded.") -> str:
    card = post.shown()[0]
    return f"{text}\n<{LINK.format(ts=card.ts.replace('.', ''))}|Its card> is in <#C0TEAMA>."


def test_direct_message_links_to_its_card(post: SenderRig) -> None:
    post.show()
    told(post)
    sends(post)
    assert [each.text for each in post.shown(DIRECT)] == [linked(post)]
    assert post.texts() == ["Run lane · Pending"]
    assert post.sender.depth() == 0


@pytest.mark.parametrize("fault", [Fault.REFUSE, Fault.LOSE_ANSWER])
@pytest.mark.parametrize("method", ["chat.getPermalink", "conversations.open", "chat.postMessage"])
def test_lost_answers_make_no_second_message(post: SenderRig, method: str, fault: Fault) -> None:
    post.show()
    post.sender.send_due()
    told(post)
    post.slack.workspace.ledger.by_name[method] = [fault]
    sends(post)
    post.pass_time(61)
    sends(post)
    assert [each.text for each in post.shown(DIRECT)] == [linked(post)]
    assert (post.texts(), post.sender.depth()) == (["Run lane · Pending"], 0)


def test_refused_message_is_told_in_the_thread(post: SenderRig) -> None:
    post.show()
    goes_away(post)
    told(post, "idle", "Run lane idles.")
    sends(post)
    told(post, "ended", "Run lane succeeded.")
    sends(post)
    assert thread(post) == [
        (
            "<@U0ALICE> Slack does not let me send you direct messages (user_disabled), so this"
            " is posted here:\nRun lane idles."
        ),
        "<@U0ALICE> Run lane succeeded.",
    ]
    assert post.sender.depth() == 0


def test_reason_is_told_anew_after_it_worked(post: SenderRig) -> None:
    post.show()
    goes_away(post)
    told(post, "one", "One.")
    sends(post)
    goes_away(post, is_gone=False)
    told(post, "two", "Two.")
    sends(post)
    goes_away(post)
    told(post, "three", "Three.")
    post.sender.stop()  # a new process knows no channel of hers yet
    sends(post, post.another())
    assert [each.text for each in post.shown(DIRECT)] == [linked(post, "Two.")]
    assert [each.partition("\n")[0][-12:] for each in thread(post)] == ["posted here:"] * 2


def test_missing_scope_holds_up_nobody_else(post: SenderRig) -> None:
    post.show()
    post.sender.send_due()
    post.slack.call(lambda: post.slack.workspace.scopes.discard("im:write"))
    told(post)
    post.show("other", "C0TEAMB")
    sends(post)
    assert post.texts("C0TEAMB") == ["Run other · Pending"]
    assert post.shown()[1].text.startswith("<@U0ALICE> Slack does not let me send"
                                           " you direct messages (missing_scope)")  # fmt: skip
    assert post.sender.health() is None


def test_message_about_a_lost_card_goes_alone(post: SenderRig) -> None:
    post.slack.workspace.channels["C0TEAMA"].is_archived = True
    post.slack.workspace.channels["C0APPROVE"].is_archived = True
    told(post)
    sends(post)
    assert [each.text for each in post.shown(DIRECT)] == ["Run lane succeeded."]


def test_refused_card_of_a_person_goes_nowhere_else(post: SenderRig) -> None:
    goes_away(post)
    post.show(channel="U0ALICE")
    sends(post)
    assert post.row().trouble == "<@U0ALICE> could not be sent a direct message (user_disabled)."
    assert (post.texts("C0APPROVE"), post.sender.depth()) == ([], 0)
