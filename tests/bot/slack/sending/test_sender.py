"""Rows become messages: once, in their place, with what is true now."""

import time

from sqlmodel import Session

from bot.slack.card import Button
from bot.slack.messages import CARD, Message
from tests.bot.slack.receiving.dispatchers import wait_until
from tests.bot.slack.sending.senders import WHEN, SenderRig


def test_a_card_is_posted_and_edited(post: SenderRig) -> None:
    post.show()
    assert not post.sender.is_quiet()
    post.sender.send_due()
    assert post.texts() == ["Run lane · Pending"]
    [first] = post.shown()
    post.change("Running")
    post.sender.send_due()
    assert post.texts() == ["Run lane · Running"]
    [second] = post.shown()
    assert (second.ts, second.edits) == (first.ts, 1)
    assert second.text == "Run lane · Running."
    assert post.sender.is_quiet()
    assert post.sender.depth() == 0


def test_a_post_that_begins_meanwhile_is_noticed(post: SenderRig) -> None:
    post.show()
    row = post.row()
    assert post.sender._lease.renew()
    post.database.meanwhile = lambda: post.sender._outbox.begin_post(row.id, "C0TEAMA", "digest")
    assert not post.sender.is_quiet()
    assert not post.sender.is_quiet()


def test_a_hundred_changes_make_one_update(post: SenderRig) -> None:
    post.show()
    post.sender.send_due()
    for number in range(100):
        post.change(f"epoch {number}")
    post.sender.send_due()
    assert post.texts() == ["Run lane · epoch 99"]
    assert post.calls("chat.update") == 1


def test_an_unchanged_card_is_not_sent(post: SenderRig) -> None:
    post.show()
    post.sender.send_due()
    post.change("Pending")
    post.sender.send_due()
    assert post.calls("chat.update") == 0
    assert post.sender.depth() == 0


def test_notes_follow_their_card_into_its_thread(post: SenderRig) -> None:
    post.show()
    post.say("ended", "Run lane succeeded.", broadcast=True)
    post.say("ended", "Run lane succeeded.", broadcast=True)
    post.sender.send_due()
    assert post.texts() == ["Run lane · Pending"]
    assert post.sender.depth() == 1
    post.pass_time(1)
    post.sender.send_due()
    card, note = post.shown()
    assert (note.text, note.thread_ts, note.broadcast) == ("Run lane succeeded.", card.ts, True)
    assert post.sender.depth() == 0


def test_notes_may_have_buttons(post: SenderRig) -> None:
    post.show()
    post.sender.send_due()
    post.say("reminder-1", "It ends soon.", buttons=(Button("train.extend", "Longer", "lane 9"),))
    post.pass_time(1)
    post.sender.send_due()
    [note] = [each for each in post.shown() if each.is_reply]
    assert note.text == "It ends soon."
    assert [block["type"] for block in note.blocks] == ["section", "actions"]
    [button] = note.blocks[1]["elements"]
    assert (button["action_id"], button["value"]) == ("train.extend", "lane 9")
    assert post.sender.depth() == 0


def test_a_full_channel_holds_up_no_other(post: SenderRig) -> None:
    for number in range(20):
        post.show(f"run-{number:02}")
        post.say("ended", "It ended.", run=f"run-{number:02}")
    post.show("run-b", "C0TEAMB")
    post.sender.send_due()
    assert post.texts() == ["Run run-00 · Pending"]
    assert post.texts("C0TEAMB") == ["Run run-b · Pending"]
    for _ in range(39):
        post.pass_time(1)
        post.sender.send_due()
    assert len(post.shown()) == 40
    assert post.sender.depth() == 0


def test_posts_keep_to_one_a_second(post: SenderRig) -> None:
    for number in range(3):
        post.show(f"run-{number}")
    post.show("run-b", "C0TEAMB")
    post.sender.send_due()
    assert post.texts() == ["Run run-0 · Pending"]
    assert post.texts("C0TEAMB") == ["Run run-b · Pending"]
    assert not post.sender.is_quiet()
    post.pass_time(1)
    post.sender.send_due()
    assert post.texts() == ["Run run-0 · Pending", "Run run-1 · Pending"]


def test_a_slow_post_puts_off_the_next(post: SenderRig) -> None:
    post.slack.workspace.faults.slow_seconds["chat.postMessage"] = 0.5
    post.start()
    post.show("run-1")
    post.show("run-2")
    wait_until(post.sender.is_quiet)
    first, second = (float(message.ts) for message in post.shown())
    assert second - first >= 1.39  # so long after the first was answered, and a second but a tenth


def test_final_states_go_before_live_ones(post: SenderRig) -> None:
    names = [f"run-{number:02}" for number in range(12)]
    for name in names:
        post.show(name)
        post.sender.send_due()
        post.pass_time(1)
    for name in names:
        post.change("Running", name)
    post.change("Succeeded", "run-11", live=False)
    post.sender.send_due()
    assert post.texts()[-1] == "Run run-11 · Succeeded"
    assert post.texts()[-2] == "Run run-10 · Pending"
    updated = post.calls("chat.update")
    assert updated < len(names)
    post.change("Failed", "run-10", live=False)
    post.sender.send_due()
    assert post.texts()[-2] == "Run run-10 · Failed"


def test_updates_fit_the_budget_of_a_minute(post: SenderRig) -> None:
    post.show()
    post.sender.send_due()
    for step in range(118):
        post.change(f"step {step}", live=False)
        post.sender.send_due()
        post.pass_time(0.5)
    assert 45 <= post.calls("chat.update") <= 50


def test_least_recently_shown_cards_are_refreshed_first(post: SenderRig) -> None:
    names = [f"run-{number:02}" for number in range(16)]
    for name in names:
        post.show(name)
        post.sender.send_due()
        post.pass_time(1)
    for round_ in range(2):
        for name in names:
            post.change(f"round {round_}", name)
        post.sender.send_due()
        post.pass_time(15)
    behind = [text for text in post.texts() if text.endswith("Pending")]
    assert behind == []


def test_a_broken_card_says_so_alone(post: SenderRig) -> None:
    post.runs.states["lane"] = "poison"
    post.show()
    post.show("other", "C0TEAMB")
    post.sender.send_due()
    [broken] = post.texts()
    assert broken.startswith("⚠️ Something went wrong on our side. Reference ")
    assert post.texts("C0TEAMB") == ["Run other · Pending"]
    post.change("Running")
    post.sender.send_due()
    assert post.texts() == ["Run lane · Running"]


def test_an_unreadable_card_is_tried_later(post: SenderRig) -> None:
    post.runs.states["lane"] = "unread"
    post.show()
    post.show("other", "C0TEAMB")
    post.sender.send_due()
    assert (post.texts(), post.texts("C0TEAMB")) == ([], ["Run other · Pending"])
    post.runs.states["lane"] = "Running"
    assert (post.sender.send_due(), post.texts()) == (0, [])
    post.pass_time(1)
    post.sender.send_due()
    assert post.texts() == ["Run lane · Running"]


def test_cards_without_a_subject_are_let_be(post: SenderRig) -> None:
    post.runs.states["lane"] = "gone"
    post.show()
    post.sender.send_due()
    assert post.texts() == []
    assert post.sender.depth() == 0


def test_cards_of_unknown_kinds_are_let_be(post: SenderRig) -> None:
    post.runs.kind = "other"
    stranger = post.another()
    post.show()
    stranger.send_due()
    assert post.texts() == []
    assert stranger.depth() == 0
    stranger.stop()


def test_a_deleted_card_is_posted_once_more(post: SenderRig) -> None:
    post.show()
    post.sender.send_due()
    for _ in range(2):
        post.slack.call(lambda: post.slack.workspace.delete(post.shown()[0]))
        post.change(f"Running {_}")
        post.pass_time(61)
        post.sender.send_due()
    assert post.texts() == []
    assert post.row().is_dead
    expected = "The message could not be shown. Slack answered message_not_found to chat.update."
    assert post.row().trouble == expected


def test_refused_blocks_leave_the_text(post: SenderRig) -> None:
    post.slack.workspace.faults.unsupported_blocks = {"header"}
    post.show()
    post.sender.send_due()
    [message] = post.shown()
    assert (message.text, message.blocks) == ("Run lane · Pending.", [])
    assert post.sender.depth() == 0


def test_a_running_sender_hears_of_new_messages(post: SenderRig) -> None:
    post.start()
    post.show()
    wait_until(post.sender.is_quiet)
    assert post.texts() == ["Run lane · Pending"]
    assert post.sender.health() is None


def test_a_full_channel_is_seldom_looked_at(post: SenderRig) -> None:
    post.start()
    post.show()
    wait_until(post.sender.is_quiet)
    began, reads = time.monotonic(), post.database.reads
    while (passed := time.monotonic() - began) < 0.5:
        post.show(f"lane-{passed}")
    looks = post.database.reads - reads
    assert looks <= 5 + (time.monotonic() - began) / 0.1


def test_many_changed_cards_are_read_in_parts(post: SenderRig) -> None:
    """Slack takes 40 updates a minute, so of hundreds that wait the sender needs the first."""
    runs = [f"lane-{number:03}" for number in range(100)]

    def work(session: Session) -> None:
        for run in runs:
            session.add(
                Message(
                    workspace_id="T0QM",
                    subject_kind="run",
                    subject_id=run,
                    purpose=CARD,
                    channel=f"C0{run}",
                    created_at=WHEN,
                    live=True,
                    wants=2,
                    shown=1,
                    place=f"C0{run}",
                    ts="1.1",
                    shown_at=WHEN,
                )
            )

    post.database.transaction(work)
    waiting, _ = post.sender._outbox.waiting()
    ids = [row.id for row in post.rows()]
    assert [each.row.id for each in waiting] == ids[:40]
    assert post.sender.depth() == len(runs)
