"""Whatever Slack does, a message is neither lost nor doubled, and does not hold up others."""

import pytest

from playground.ledger import Fault
from playground.slack.faults import Down
from tests.bot.slack.receiving.dispatchers import wait_until
from tests.bot.slack.sending.senders import SenderRig, sender_rig
from tests.playground.slack.served import Stage


def lose(post: SenderRig, method: str, fault: Fault = Fault.LOSE_ANSWER) -> None:
    """The next call of the method is refused, or its answer gets lost."""
    post.slack.workspace.ledger.by_name[method] = [fault]


def archive(post: SenderRig, *channels: str) -> None:
    for channel in channels:
        post.slack.workspace.channels[channel].is_archived = True


def test_a_post_with_lost_answer_is_adopted(post: SenderRig) -> None:
    lose(post, "chat.postMessage")
    post.show()
    post.sender.send_due()
    assert post.row().ts is None
    assert post.sender.depth() == 1
    post.pass_time(31)
    post.sender.send_due()
    assert post.texts() == ["Run lane · Pending"]
    assert post.calls("chat.postMessage") == 1
    assert post.calls("chat.update") == 0
    assert post.sender.depth() == 0


def test_an_adopted_post_is_brought_up_to_date(post: SenderRig) -> None:
    lose(post, "chat.postMessage")
    post.show()
    post.sender.send_due()
    post.change("Running")
    post.pass_time(31)
    post.sender.send_due()
    assert post.texts() == ["Run lane · Running"]
    assert (post.calls("chat.postMessage"), post.calls("chat.update")) == (1, 1)


def test_a_post_that_never_arrived_is_repeated(post: SenderRig) -> None:
    lose(post, "chat.postMessage", Fault.REFUSE)
    post.show()
    post.sender.send_due()
    assert post.texts() == []
    post.pass_time(31)
    post.sender.send_due()
    assert post.texts() == ["Run lane · Pending"]


def test_a_lost_reply_is_found_in_its_thread(post: SenderRig) -> None:
    post.show()
    post.sender.send_due()
    post.pass_time(1)
    lose(post, "chat.postMessage")
    post.say("ended", "Run lane succeeded.")
    post.sender.send_due()
    post.pass_time(31)
    post.sender.send_due()
    assert post.texts() == ["Run lane · Pending", "Run lane succeeded."]
    assert post.calls("conversations.replies") == 1
    assert post.sender.depth() == 0


def test_an_update_with_lost_answer_is_repeated(post: SenderRig) -> None:
    post.show()
    post.sender.send_due()
    lose(post, "chat.update")
    post.change("Running")
    post.sender.send_due()
    assert post.sender.depth() == 1
    post.pass_time(2)
    post.sender.send_due()
    assert post.texts() == ["Run lane · Running"]
    assert post.sender.depth() == 0


def test_a_killed_sender_is_followed_without_doubles(post: SenderRig) -> None:
    lose(post, "chat.postMessage")
    post.show()
    post.sender.send_due()
    next_one = post.another()
    next_one.send_due()
    post.pass_time(31)
    next_one.send_due()
    assert post.texts() == ["Run lane · Pending"]
    assert post.calls("chat.postMessage") == 1
    next_one.stop()


def test_a_kill_before_the_post_loses_nothing(post: SenderRig) -> None:
    post.show()
    [waiting], _ = post.sender._outbox.waiting()
    assert post.sender._lease.renew()
    assert post.sender._outbox.begin_post(waiting.row.id, "C0TEAMA", "digest")
    next_one = post.another()
    assert next_one.send_due() == 0
    post.pass_time(31)
    next_one.send_due()
    assert post.texts() == ["Run lane · Pending"]
    next_one.stop()


def test_retry_after_is_kept_to_the_second(post: SenderRig) -> None:
    post.slack.workspace.faults.limited = {"chat.postMessage": 40}
    post.show()
    post.sender.send_due()
    assert post.sender.is_quiet()
    post.slack.workspace.faults.limited = {}
    post.pass_time(39)
    assert post.sender.send_due() == 0
    post.pass_time(1.1)
    post.sender.send_due()
    assert post.texts() == ["Run lane · Pending"]
    assert post.calls("chat.postMessage") == 2


def test_a_limited_channel_leaves_others_alone(post: SenderRig) -> None:
    post.slack.workspace.faults.limited = {"chat.postMessage": 40}
    post.show()
    post.sender.send_due()
    post.slack.workspace.faults.limited = {}
    post.show("other", "C0TEAMB")
    post.sender.send_due()
    assert post.texts("C0TEAMB") == ["Run other · Pending"]
    assert post.texts() == []


@pytest.mark.parametrize("down", [Down.REFUSED, Down.UNAVAILABLE])
def test_an_hour_without_slack_is_caught_up(post: SenderRig, down: Down) -> None:
    names = [f"run-{number}" for number in range(3)]
    for name in names:
        post.show(name)
        post.sender.send_due()
        post.pass_time(1)
    before = len(post.slack.workspace.ledger.requests)
    post.slack.workspace.faults.down = down
    for minute in range(60):
        for name in names:
            post.change(f"minute {minute}", name)
        if minute == 30:
            post.show("late")
            post.say("ended", "Run run-0 succeeded.", "run-0")
        post.sender.send_due()
        post.pass_time(60)
    assert len(post.slack.workspace.ledger.requests) == before
    post.slack.workspace.faults.down = None
    for _ in range(40):
        post.pass_time(2)
        post.sender.send_due()
    assert sorted(post.texts()) == [
        "Run late · Pending",
        "Run run-0 succeeded.",
        "Run run-0 · minute 59",
        "Run run-1 · minute 59",
        "Run run-2 · minute 59",
    ]
    assert post.calls("chat.update") == 3
    assert post.calls("chat.postMessage") == 5
    assert post.sender.depth() == 0


def test_an_absent_slack_is_asked_seldom(post: SenderRig) -> None:
    for number in range(20):
        post.show(f"run-{number}")
    post.slack.workspace.faults.down = Down.REFUSED
    asked = 0
    for _ in range(600):
        asked += post.sender.send_due()
        post.pass_time(0.5)
    asked += post.sender.send_due()
    assert post.sender.is_quiet()
    assert asked < 60


def test_a_running_sender_survives_an_outage(post: SenderRig) -> None:
    post.slack.workspace.faults.down = Down.REFUSED
    post.start()
    post.show()
    wait_until(lambda: post.row().attempts)
    post.slack.workspace.faults.down = None
    post.pass_time(61)
    wait_until(lambda: post.texts() == ["Run lane · Pending"])
    assert len(post.shown()) == 1


def test_an_archived_channel_is_left_for_the_admins(post: SenderRig) -> None:
    archive(post, "C0TEAMA")
    post.show()
    post.say("ended", "Run lane succeeded.")
    for _ in range(3):
        post.sender.send_due()
        post.pass_time(1)
    card, note = post.shown("C0APPROVE")
    moved = (
        "Run lane · Pending\n#team-a could not be reached (is_archived)."
        " Unarchive the channel, or set another one in quartermaster.yaml."
    )
    assert post.texts("C0APPROVE") == [moved, "Run lane succeeded."]
    assert note.thread_ts == card.ts
    post.change("Running")
    post.sender.send_due()
    assert post.texts("C0APPROVE")[0].startswith("Run lane · Running\n#team-a could not be")


def test_a_missing_invitation_is_asked_for(post: SenderRig) -> None:
    post.slack.call(lambda: post.slack.workspace.remove_bot("C0TEAMA"))
    post.show()
    post.sender.send_due()
    [card] = post.shown("C0APPROVE")
    assert card.text == (
        "<#C0TEAMA> could not be reached (not_in_channel)."
        " Type `/invite @Quartermaster` in <#C0TEAMA>.\nRun lane · Pending."
    )


def test_a_card_archived_later_moves_on(post: SenderRig) -> None:
    post.show()
    post.sender.send_due()
    archive(post, "C0TEAMA")
    post.change("Running")
    post.sender.send_due()
    assert post.texts("C0APPROVE")[0].startswith("Run lane · Running\n#team-a could not")


def test_the_owner_is_told_when_admins_cannot(post: SenderRig) -> None:
    archive(post, "C0TEAMA", "C0APPROVE")
    post.show()
    post.sender.send_due()
    [told] = post.texts("D0ALICE")
    assert told.startswith("Run lane · Pending\n#team-a could not be reached (is_archived).")
    post.change("Running")
    post.sender.send_due()
    assert post.texts("D0ALICE")[0].startswith("Run lane · Running\n")


def test_a_message_without_any_place_is_dead(post: SenderRig) -> None:
    archive(post, "C0TEAMA", "C0APPROVE")
    post.slack.workspace.users["U0ALICE"].deleted = True
    post.show()
    post.sender.send_due()
    assert post.row().is_dead
    assert post.row().trouble == (
        "<#C0TEAMA> could not be reached (is_archived). Unarchive the channel, or set another"
        " one in quartermaster.yaml. There was no one else to notify."
    )
    assert post.sender.depth() == 0
    assert post.sender.is_quiet()


def test_without_an_admin_channel_the_owner_is_told(stage: Stage, tmp_path: object) -> None:
    with sender_rig(stage, f"sqlite:///{tmp_path}/bot.db") as post:
        archive(post, "C0TEAMA")
        post.show()
        post.sender.send_due()
        assert len(post.texts("D0ALICE")) == 1


def test_a_revoked_token_is_named_and_waited_for(post: SenderRig) -> None:
    scopes = set(post.slack.workspace.scopes)
    post.slack.workspace.scopes -= {"chat:write"}
    post.show()
    post.sender.send_due()
    assert post.sender.health() == (
        "Slack answered missing_scope to chat.postMessage."
        " Run `quartermaster doctor`; it shows which token or scope is missing."
    )
    post.slack.workspace.scopes |= scopes
    post.pass_time(61)
    post.sender.send_due()
    assert post.texts() == ["Run lane · Pending"]
    assert post.sender.health() is None


def test_secrets_stay_out_of_what_is_kept(post: SenderRig) -> None:
    post.slack.workspace.faults.down = Down.UNAVAILABLE
    post.show()
    post.sender.send_due()
    token = post.slack.workspace.credentials.bot_token
    assert post.row().trouble == "Slack answered server_error to chat.postMessage."
    assert token not in repr(post.row())
