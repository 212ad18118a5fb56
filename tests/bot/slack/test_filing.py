"""What a message cannot hold comes as a file; what it can stays where it is."""

import time
from collections.abc import Iterator

import pytest

from bot.clock import Clock
from bot.slack.card import AsFile, Card, Reply
from bot.slack.filing import LONGEST_CODE, LONGEST_DOCUMENT, Filing
from bot.slack.markup import plain
from bot.slack.receiving.incoming import Incoming
from bot.slack.text import as_text
from tests.bot.slack.receiving.dispatchers import RecordingDispatcher
from tests.bot.slack.sending.senders import SenderRig

LOG = AsFile("lane.log", "Use a smaller `--tail`.")
CSV = AsFile("report.csv", "Ask for fewer days.")


def incoming(delivery: str = "delivery-1", channel: str = "C0TEAMA") -> Incoming:
    return Incoming(
        kind="command",
        person="U0ALICE",
        channel=channel,
        thread_ts=None,
        words="report --csv",
        command="gpu",
        value="",
        delivery=delivery,
        trigger_id=None,
        response_url=None,
        message_ts=None,
        received=time.monotonic() + 60,
        doubted=False,
    )


def answers(post: SenderRig, reply: Reply, *asked: Incoming) -> Iterator[Reply | None]:
    """What people read where a dispatcher says `reply`."""
    dispatcher = RecordingDispatcher(reply=lambda _: reply)
    filing = Filing(dispatcher, post.database, Clock(), "T0QM")
    return map(filing.answer, asked or (incoming(),))


def said(post: SenderRig, card: Card, *asked: Incoming) -> list[str]:
    return [as_text(reply) for reply in answers(post, Reply(card=card), *asked) if reply]


def whole(post: SenderRig) -> list[bytes]:
    """The files that Slack has of it."""
    for _ in range(3):
        post.sender.send_due()
        post.pass_time(1)
    return [file.content for file in post.slack.workspace.files.values()]


def test_what_fits_stays_in_the_message(post: SenderRig) -> None:
    document = "line\n" * (LONGEST_DOCUMENT // 5)
    card = Card("Report", document=document, as_file=CSV)
    assert said(post, card) == [f"Report\n{document}".rstrip()]
    log = "step\n" * (LONGEST_CODE // 5)
    assert said(post, Card("Log", code=log, as_file=LOG))[0].count("step") == LONGEST_CODE // 5
    assert (post.rows(), whole(post)) == ([], [])


def test_document_that_does_not_fit_is_a_file(post: SenderRig) -> None:
    document = "".join(f"team-{number},1.000\n" for number in range(1_000))
    card = Card("Report", lines=(plain("No samples."),), document=document, as_file=CSV)
    assert said(post, card) == [
        (
            "Report\nNo samples.\nIt is too long for a message. All of it (1,000 lines, 15 kB)"
            " is in the file report.csv, which I send you in a direct message."
        )
    ]
    assert whole(post) == [document.encode()]
    assert post.texts("D0ALICE") == [
        "Report, as requested in #team-a: report.csv\n[file: report.csv, 14,890 bytes]"
    ]
    assert (post.shown(), post.shown("C0TEAMB")) == ([], [])


def test_escapes_and_lines_count_as_slack_counts(post: SenderRig) -> None:
    card = Card("Report", document="<" * (LONGEST_DOCUMENT // 4 + 1), as_file=CSV)
    assert said(post, card)[0].endswith("which I send you in a direct message.")
    crowded = Card("Report", lines=(plain("x" * 1_600),), document="a,b\n" * 2_000, as_file=CSV)
    assert said(post, crowded, incoming("delivery-2"))[0].endswith("in a direct message.")
    assert len(whole(post)) == 2


def test_end_of_a_log_stays_with_its_file(post: SenderRig) -> None:
    log = "\n".join(f"step {number}" for number in range(900))
    reply = Reply(
        lines=(plain("Looking."),), later=lambda: Reply(card=Card("Log", code=log, as_file=LOG))
    )
    [first] = answers(post, reply)
    assert first is not None
    assert first.later is not None
    assert (as_text(first), post.rows()) == ("Looking.", [])
    card = first.later().card
    assert card is not None
    assert card.code == log
    assert card.lines == (
        plain(
            "It is too long for a message. All of it (900 lines, 8 kB) is in the file lane.log,"
            " which I send you in a direct message."
        ),
    )
    assert whole(post) == [f"{log}\n".encode()]


def test_delivered_twice_it_comes_once(post: SenderRig) -> None:
    card = Card("Report", document="x" * 10_000, as_file=CSV)
    first, second = said(post, card, incoming(), incoming())
    assert first == second
    assert len(whole(post)) == 1
    said(post, card, incoming("delivery-2"))
    assert len(whole(post)) == 2


def test_asked_in_direct_messages_it_comes_there(post: SenderRig) -> None:
    post.slack.call(lambda: post.slack.workspace.im("U0ALICE"))
    card = Card("Report", document="x" * 10_000, as_file=CSV)
    said(post, card, incoming(channel="D0ALICE"))
    assert whole(post) == [b"x" * 10_000 + b"\n"]
    assert post.texts("D0ALICE") == ["Report: report.csv\n[file: report.csv, 10,001 bytes]"]


def test_too_much_is_said_with_what_to_do(post: SenderRig) -> None:
    card = Card("Report", document="x" * 12_340_000, as_file=CSV)
    assert said(post, card) == [
        (
            "Report\nThe whole text is too large: it has 12.3 MB; a file may have 10 MB at most."
            " Ask for fewer days."
        )
    ]
    assert (post.rows(), whole(post)) == ([], [])


def test_what_cannot_be_kept_is_not_promised(post: SenderRig) -> None:
    card = Card("Report", document="x" * 10_000, as_file=CSV)
    late = incoming()
    object.__setattr__(late, "received", time.monotonic() - 60)
    [told] = said(post, card, late)
    assert told.startswith("Report\nThe whole text is too long for a message. ")
    assert told.endswith(" Request it again.")
    assert (post.rows(), whole(post)) == ([], [])


@pytest.mark.parametrize("card", [None, Card("Status"), Card("Repair", document="x" * 20_000)])
def test_other_answers_are_left_alone(post: SenderRig, card: Card | None) -> None:
    reply = Reply(card=card)
    assert list(answers(post, reply)) == [reply]
    silent = Filing(RecordingDispatcher(reply=lambda _: None), post.database, Clock(), "T0QM")
    assert silent.answer(incoming()) is None
