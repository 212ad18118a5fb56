"""Values that say when something is due: cron patterns and time zones."""

from zoneinfo import ZoneInfo

from bot.slack.grammar.parameters import Text


class Cron(Text):
    """A cron pattern."""

    word = "CRON"
    form = 'a cron pattern in quotes such as `"0 2 * * *"`'
    example = "0 2 * * *"


class ZoneName:
    """A time zone."""

    word = "ZONE"
    form = "a time zone such as `Europe/Berlin` or `UTC`"
    example = "Europe/Berlin"

    def read(self, text: str) -> str:
        """The zone, if there is one of this name."""
        try:
            ZoneInfo(text)
        except (OSError, ValueError, KeyError):
            raise ValueError(text) from None
        return text
