"""Links to messages, as Slack's menu copies them and as people paste them."""

import pytest

from bot.slack.grammar.slack_parameters import MessageLink, SharedMessage

TS, PARENT = "1764230400.000100", "1764230000.000200"
AT = "https://acme.slack.com/archives/C0VISION/p1764230400000100"


@pytest.mark.parametrize(
    ("link", "thread_ts"),
    [
        (AT, TS),
        ("https://acme.enterprise.slack.com/archives/C0VISION/p1764230400000100", TS),
        (f"{AT}?thread_ts={PARENT}&cid=C0VISION", PARENT),
        (f"{AT}?cid=C0VISION&thread_ts={PARENT}", PARENT),
        (f"{AT}?cid=C0VISION", TS),
    ],
)
def test_links_name_the_message_and_its_thread(link: str, thread_ts: str) -> None:
    assert MessageLink().read(link) == SharedMessage("C0VISION", TS, thread_ts)


@pytest.mark.parametrize("thread_ts", [TS, PARENT])
def test_links_of_the_bot_are_read_back(thread_ts: str) -> None:
    message = SharedMessage("C0VISION", TS, thread_ts)
    assert MessageLink().read(message.link) == message


@pytest.mark.parametrize(
    "text",
    [
        "",
        "p1764230400000100",
        AT.replace("https", "http"),
        AT.replace("/p", "/q"),
        AT.replace("C0VISION", "vision"),
        AT[:-8],
        f"{AT}/more",
        f"{AT} {AT}",
    ],
)
def test_anything_else_is_no_link(text: str) -> None:
    with pytest.raises(ValueError, match=r"^"):
        MessageLink().read(text)
