"""Kinds of values that name people, user groups and channels of Slack."""

import re
from typing import NamedTuple

from bot.slack.grammar.parameters import matched


class People:
    """People and user groups, as Slack writes mentions of them, separated by commas."""

    word = "PEOPLE"
    form = "mentions of people or user groups, separated by commas, such as `@alice,@research`"
    example = "@U0ALICE,@S0RESEARCH"
    rule = re.compile(r"@?([UWS][A-Z0-9]{2,20})")

    def read(self, text: str) -> tuple[str, ...]:
        """The ids of the people and groups; groups begin with S."""
        return tuple(matched(self.rule, each.strip()).group(1) for each in text.split(","))


class ChannelId:
    """A channel, as Slack writes a mention of it."""

    word = "CHANNEL"
    form = "a mention of a channel, such as `#vision`"
    example = "#C0VISION"
    rule = re.compile(r"#?([CG][A-Z0-9]{2,20})")

    def read(self, text: str) -> str:
        """The channel's id."""
        return matched(self.rule, text).group(1)


class SharedMessage(NamedTuple):
    """A message of a channel; outside threads `thread_ts` is its own `ts`."""

    channel: str
    ts: str
    thread_ts: str

    @property
    def link(self) -> str:
        """A link to it, as Slack copies one."""
        url = f"https://slack.com/archives/{self.channel}/p{self.ts.replace('.', '')}"
        is_reply = self.thread_ts != self.ts
        return f"{url}?thread_ts={self.thread_ts}&cid={self.channel}" if is_reply else url


class MessageLink:
    """A link to a message, as *Copy link* in its menu gives it."""

    word = "LINK"
    form = (
        "a link to a message, as Copy link in its menu gives it, such as"
        " `https://acme.slack.com/archives/C0VISION/p1764230400000100`"
    )
    example = "https://acme.slack.com/archives/C0VISION/p1764230400000100"
    rule = re.compile(
        r"https://(?:[a-z0-9-]+\.){1,5}[a-z]+/archives/([CGD][A-Z0-9]{2,20})/p([0-9]{10,12})([0-9]{6})"
        r"(?:\?(?:[a-z_]+=[^&\s]*&)*?thread_ts=([0-9]{10,12}\.[0-9]{6})(?:&\S*)?|\?\S*)?"
    )

    def read(self, text: str) -> SharedMessage:
        """The channel and the timestamps of the message."""
        channel, seconds, micros, thread = matched(self.rule, text).groups()
        ts = f"{seconds}.{micros}"
        return SharedMessage(channel, ts, thread or ts)
