"""A file comes once, whole, and to the one person who asked for it, whatever gets lost."""

from datetime import timedelta
from functools import partial

import pytest
from sqlmodel import Session, select

from bot.slack import documents
from bot.slack.files import MessageDocument
from bot.slack.markup import plain
from bot.slack.messages import Message, Subject, ThreadMessage
from playground.ledger import Fault
from playground.slack.faults import Down
from tests.bot.slack.sending.senders import WHEN, SenderRig

ASKED = Subject("T0QM", "answer", "delivery-1")
CSV = b"team,gpu_hours\n" + b"team-a,1.000\n" * 2_000
TOLD = "GPUs of team-a, as requested in #team-a: report.csv"
SHOWN = f"{TOLD}\n[file: report.csv, {len(CSV):,} bytes]"
UPLOAD = "files.getUploadURLExternal"
COMPLETE = "files.completeUploadExternal"
DIRECT = "D0ALICE"


def bring(post: SenderRig, content: bytes = CSV) -> None:
    """Has Alice sent a file for which she asked in her team's channel."""

    def work(session: Session) -> None:
        note = ThreadMessage(documents.DOCUMENT, (plain(TOLD),), in_thread=False, to="U0ALICE")
        file = MessageDocument(
            message_id="",
            name="report.csv",
            title="GPUs of team-a",
            content=content,
            asked_in="C0TEAMA",
            created_at=WHEN,
        )
        documents.bring(session, ASKED, note, file, WHEN)

    post.database.transaction(work)


def send(post: SenderRig, seconds: int = 60) -> None:
    """Lets the sender do all that it can within some time, until nothing waits any more."""
    passed = 0
    while passed < seconds and (post.sender.send_due(), post.sender.depth())[1]:
        step = 1 if passed < 20 else 5
        post.pass_time(step)
        passed += step


def kept(post: SenderRig) -> list[MessageDocument]:
    return post.database.read(lambda session: list(session.exec(select(MessageDocument))))


def ephemerals(post: SenderRig, channel: str = "C0TEAMA") -> list[tuple[str | None, str]]:
    """What one person alone was told in a channel."""
    workspace = post.slack.workspace
    messages = workspace.channels[channel].messages
    return post.slack.call(lambda: [(m.viewer, workspace.text_of(m)) for m in messages if m.viewer])


def elsewhere(post: SenderRig) -> list[str]:
    """What anybody else could see."""
    return [text for channel in ("C0TEAMA", "C0TEAMB", "C0APPROVE") for text in post.texts(channel)]


def test_file_comes_whole_to_one_person(post: SenderRig) -> None:
    bring(post)
    bring(post)
    post.sender.send_due()
    assert post.texts(DIRECT) == [SHOWN]
    [file] = post.slack.workspace.files.values()
    assert (file.name, file.title, file.content) == ("report.csv", "GPUs of team-a", CSV)
    assert (elsewhere(post), ephemerals(post), kept(post)) == ([], [], [])
    assert (post.sender.depth(), post.calls("chat.postMessage")) == (0, 0)


@pytest.mark.parametrize("fault", [Fault.REFUSE, Fault.LOSE_ANSWER])
@pytest.mark.parametrize("method", ["conversations.open", UPLOAD, "upload", COMPLETE])
def test_lost_answers_leave_one_file(post: SenderRig, method: str, fault: Fault) -> None:
    post.slack.workspace.ledger.by_name[method] = [fault]
    bring(post)
    send(post, 200)
    assert post.texts(DIRECT) == [SHOWN]
    assert (post.sender.depth(), kept(post), elsewhere(post)) == (0, [], [])


@pytest.mark.parametrize("fault", [Fault.REFUSE, Fault.LOSE_ANSWER])
def test_restart_between_steps_leaves_one_file(post: SenderRig, fault: Fault) -> None:
    post.slack.workspace.ledger.by_name["conversations.open"] = [Fault.REFUSE]
    post.slack.workspace.ledger.by_name[COMPLETE] = [fault]
    bring(post)
    post.sender.send_due()
    assert [file.file_id for file in kept(post)] == ["F00001"]
    post.pass_time(5)
    post.sender.stop()
    other = post.another()
    for _ in range(200):
        other.send_due()
        post.pass_time(1)
        if not other.depth():
            break
    other.stop()
    assert post.texts(DIRECT) == [SHOWN]
    assert (post.calls(UPLOAD), kept(post)) == (1, [])


def test_file_in_doubt_is_not_brought_twice(post: SenderRig) -> None:
    post.slack.workspace.faults.hides_files = True
    post.slack.workspace.ledger.by_name[COMPLETE] = [Fault.LOSE_ANSWER]
    bring(post)
    send(post, 200)
    said = "Slack did not confirm that it is shown. If you do not see it, request it again."
    maybe = REFUSED.replace("could not send", "may have sent")
    assert post.texts(DIRECT) == [SHOWN, maybe + said]
    assert (post.calls(UPLOAD), post.calls(COMPLETE), post.sender.depth()) == (1, 2, 0)


@pytest.mark.parametrize("fault", [Fault.REFUSE, Fault.LOSE_ANSWER])
def test_history_that_is_closed_leaves_one_file(post: SenderRig, fault: Fault) -> None:
    post.slack.workspace.scopes.remove("im:history")
    post.slack.workspace.ledger.by_name[COMPLETE] = [fault]
    bring(post)
    send(post, 200)
    assert [text for text in post.texts(DIRECT) if text == SHOWN] == [SHOWN]
    assert (post.calls(UPLOAD), post.calls(COMPLETE), post.sender.depth()) == (1, 2, 0)


def test_file_that_slack_forgot_is_brought_anew(post: SenderRig) -> None:
    post.slack.workspace.ledger.by_name["conversations.open"] = [Fault.REFUSE]
    bring(post)
    post.sender.send_due()
    post.slack.call(post.slack.workspace.files.clear)
    send(post)
    assert post.texts(DIRECT) == [SHOWN]
    assert post.calls(UPLOAD) == 2


@pytest.mark.parametrize("method", [UPLOAD, COMPLETE])
def test_storm_holds_files_back(post: SenderRig, method: str) -> None:
    post.slack.workspace.faults.limited = {method: 20}
    bring(post)
    send(post, 2)
    asked = post.calls(method)
    post.slack.workspace.faults.limited = {}
    send(post, 15)
    assert (asked, post.calls(method), post.texts(DIRECT)) == (1, 1, [])
    send(post, 10)
    assert post.texts(DIRECT) == [SHOWN]


def test_file_waits_while_slack_is_away(post: SenderRig) -> None:
    post.slack.workspace.faults.down = Down.UNAVAILABLE
    bring(post)
    send(post, 300)
    post.slack.workspace.faults.down = None
    send(post, 120)
    assert post.texts(DIRECT) == [SHOWN]


REFUSED = "I could not send you report.csv (GPUs of team-a), which you requested in #team-a. "


def test_missing_scope_is_told_with_its_remedy(post: SenderRig) -> None:
    post.slack.workspace.scopes.remove("files:write")
    bring(post)
    send(post, 5)
    said = (
        "The bot may not upload files: its Slack app lacks the scope `files:write`. Ask a"
        " platform admin to save the app's manifest again and to reinstall the app. Then request"
        " it again."
    )
    assert post.texts(DIRECT) == [REFUSED + said]
    assert (post.sender.depth(), elsewhere(post)) == (0, [])


def test_file_above_the_workspaces_limit_is_told(post: SenderRig) -> None:
    post.slack.workspace.faults.largest_file = 1_000
    bring(post)
    send(post, 5)
    said = "It exceeds the file size limit of this workspace. Request less of it."
    assert post.texts(DIRECT) == [REFUSED + said]


def test_file_that_slack_never_takes_is_told(post: SenderRig) -> None:
    post.slack.workspace.ledger.by_name["upload"] = [Fault.REFUSE] * 100
    bring(post)
    send(post, 120)
    said = "Slack did not accept it in five attempts. Request it again later."
    assert post.texts(DIRECT) == [REFUSED + said]
    assert post.calls("upload") == 5


def test_who_cannot_be_written_to_is_told_there(post: SenderRig) -> None:
    post.slack.workspace.scopes.remove("im:write")
    bring(post)
    send(post, 5)
    said = (
        "Slack does not let me send you direct messages (missing_scope). Ask a platform admin to"
        " add the scope `im:write` to the Slack app. Then request it again."
    )
    assert ephemerals(post) == [("U0ALICE", REFUSED + said)]
    assert (post.sender.depth(), kept(post), elsewhere(post)) == (0, [], [])
    assert post.row().is_dead


def test_telling_there_is_tried_until_slack_hears(post: SenderRig) -> None:
    post.slack.workspace.scopes.remove("im:write")
    post.slack.workspace.ledger.by_name["chat.postEphemeral"] = [Fault.REFUSE]
    bring(post)
    send(post, 30)
    assert len(ephemerals(post)) == 1
    assert post.sender.depth() == 0


def test_bytes_are_kept_for_a_day(post: SenderRig) -> None:
    post.slack.workspace.faults.down = Down.UNAVAILABLE
    bring(post)
    send(post, 5)
    for hours, content in ((23, CSV), (25, b"")):
        late = WHEN + timedelta(hours=hours)
        post.database.transaction(partial(documents.forget, real_now=late))
        assert [file.content for file in kept(post)] == [content]
    post.slack.workspace.faults.down = None
    send(post, 120)
    assert post.texts(DIRECT) == [f"{REFUSED}Slack could not be reached for a day."]
    post.database.transaction(lambda session: documents.forget(session, WHEN))
    assert kept(post) == []


def test_removed_messages_take_files_along(post: SenderRig) -> None:
    bring(post)

    def age(session: Session) -> None:
        row = session.exec(select(Message)).one()
        row.is_dead = True

    post.database.transaction(age)
    post.database.transaction(lambda session: documents.forget(session, WHEN))
    assert kept(post) == []
