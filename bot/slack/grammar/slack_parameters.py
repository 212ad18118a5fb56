"""Kinds of values that name people, user groups and channels of Slack."""

import re

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
