"""Charts come to Slack in the plainest way that it takes, and a message with them comes once."""

import pytest

from bot.charts.values import Bars, HeatMap, Series
from bot.slack.card import Table
from playground.ledger import Fault
from playground.slack.faults import Down
from tests.bot.slack.sending.senders import SenderRig

BARS = Bars("GPU-hours", ("team-a", "team-b"), (Series("held", (4.0, 2.5)),), "hours")
HEAT = HeatMap("By hour", ("Sat", "Sun"), ("00", "12"), ((0.0, 1.0), (None, 0.5)))
HEAT_SAID = "By hour. Sat: 0 % to 100 %, mean 50 %; Sun: 50 % to 50 %, mean 50 %, 1 unknown."
BARS_SAID = "GPU-hours, in hours. team-a: held 4; team-b: held 2.5."
UPLOAD = "files.getUploadURLExternal"
COMPLETE = "files.completeUploadExternal"


def kinds(post: SenderRig) -> list[str]:
    """The kinds of the blocks of the only message."""
    [message] = post.shown()
    return [block["type"] for block in message.blocks]


def send(post: SenderRig, seconds: float = 60) -> None:
    """Lets the sender do all that it can within some time."""
    for _ in range(int(seconds)):
        post.sender.send_due()
        post.pass_time(1)


@pytest.fixture(autouse=True)
def charts(post: SenderRig) -> None:
    post.runs.charts = (BARS, HEAT)


def test_slacks_own_chart_and_a_picture(post: SenderRig) -> None:
    post.show()
    post.sender.send_due()
    assert kinds(post) == ["header", "data_visualization", "image"]
    [message] = post.shown()
    assert message.blocks[1]["chart"] == {
        "type": "bar",
        "series": [
            {
                "name": "held",
                "data": [{"label": "team-a", "value": 4.0}, {"label": "team-b", "value": 2.5}],
            }
        ],
        "axis_config": {"categories": ["team-a", "team-b"], "y_label": "hours"},
    }
    [file] = post.slack.workspace.files.values()
    assert (file.kind, file.title, file.alt) == ("png", "By hour", HEAT_SAID)
    assert message.blocks[2]["alt_text"] == HEAT_SAID
    assert post.calls("chat.postMessage") == 1


def test_pictures_stay_when_the_card_changes(post: SenderRig) -> None:
    post.show()
    post.sender.send_due()
    post.change("Running")
    send(post)
    assert post.texts()[0].startswith("Run lane · Running")
    assert (post.calls(UPLOAD), post.calls("chat.postMessage")) == (1, 1)


def test_picture_where_slack_knows_no_charts(post: SenderRig) -> None:
    post.slack.workspace.faults.unsupported_blocks = {"data_visualization"}
    post.show()
    send(post)
    assert kinds(post) == ["header", "image", "image"]
    assert post.calls("chat.postMessage") == 2
    post.change("Running")
    send(post)
    assert kinds(post) == ["header", "image", "image"]
    assert post.calls(UPLOAD) == 2


def test_plain_table_where_slack_sorts_none(post: SenderRig) -> None:
    post.slack.workspace.faults.unsupported_blocks = {"data_table"}
    post.runs.charts = ()
    post.runs.table = Table(("run",), tuple((f"run-{number}",) for number in range(11)))
    post.show()
    send(post)
    assert kinds(post) == ["header", "table"]
    assert post.calls("chat.postMessage") == 2
    post.change("Running")
    send(post)
    assert kinds(post) == ["header", "table"]
    assert post.calls("chat.update") == 1


def test_words_where_slack_takes_no_pictures(post: SenderRig) -> None:
    post.slack.workspace.faults.unsupported_blocks = {"data_visualization", "image"}
    post.show()
    send(post)
    assert post.texts() == [f"Run lane · Pending\n{BARS_SAID}\n{HEAT_SAID}"]
    assert kinds(post) == ["header", "section", "section"]


def test_words_where_files_may_not_be_written(post: SenderRig) -> None:
    post.slack.workspace.scopes.remove("files:write")
    post.show()
    send(post, 3)
    assert post.texts() == [f"Run lane · Pending\n{BARS_SAID}\n{HEAT_SAID}"]
    assert post.row().trouble is None


def test_new_picture_is_waited_for(post: SenderRig) -> None:
    post.slack.workspace.faults.looks_at_files = 3
    post.show()
    send(post)
    assert kinds(post) == ["header", "data_visualization", "image"]
    assert post.calls(UPLOAD) == 1


def test_words_where_a_picture_is_never_ready(post: SenderRig) -> None:
    post.slack.workspace.faults.looks_at_files = 1_000
    post.show()
    send(post)
    assert kinds(post) == ["header", "section", "section"]
    assert post.calls("chat.postMessage") == 6


@pytest.mark.parametrize("fault", [Fault.REFUSE, Fault.LOSE_ANSWER])
@pytest.mark.parametrize("method", [UPLOAD, "upload", COMPLETE, "chat.postMessage"])
def test_lost_answers_leave_one_message(post: SenderRig, method: str, fault: Fault) -> None:
    post.slack.workspace.ledger.by_name[method] = [fault]
    post.show()
    send(post)
    assert kinds(post) == ["header", "data_visualization", "image"]
    assert len(post.shown()) == 1
    assert post.sender.depth() == 0


def test_words_where_no_picture_can_be_brought(post: SenderRig) -> None:
    post.slack.workspace.ledger.by_name["upload"] = [Fault.REFUSE] * 100
    post.show()
    send(post)
    assert kinds(post) == ["header", "section", "section"]
    assert post.row().trouble is None


def test_message_with_pictures_waits_for_slack(post: SenderRig) -> None:
    post.slack.workspace.faults.down = Down.UNAVAILABLE
    post.show()
    send(post, 300)
    post.slack.workspace.faults.down = None
    send(post, 120)
    assert kinds(post) == ["header", "data_visualization", "image"]


def test_storm_holds_uploads_back(post: SenderRig) -> None:
    post.slack.workspace.faults.limited = {UPLOAD: 20}
    post.show()
    send(post, 2)
    asked = post.calls(UPLOAD)
    post.slack.workspace.faults.limited = {}
    send(post, 15)
    assert (asked, post.calls(UPLOAD), post.shown()) == (1, 1, [])
    send(post, 10)
    assert kinds(post) == ["header", "data_visualization", "image"]


def test_pictures_kept_back_hold_up_no_card(post: SenderRig) -> None:
    pictured = [f"run{number}" for number in range(41)]
    post.runs.bare = {*pictured, "lane"}
    for run in pictured:
        post.show(run, live=False)
    send(post)
    post.show(channel="C0TEAMB", live=False)
    send(post)
    post.runs.bare = {"lane"}
    post.slack.workspace.faults.limited[UPLOAD] = 30
    for run in (*pictured, "lane"):
        post.change("Running", run, live=False)
    send(post)
    assert post.texts("C0TEAMB") == ["Run lane · Running"]
    assert post.calls(UPLOAD) <= 3
    post.slack.workspace.faults.limited.clear()
    send(post, 240)
    assert {text.splitlines()[0] for text in post.texts()} == {
        f"Run {run} · Running" for run in pictured
    }
    assert post.sender.depth() == 0
