"""The docstrings below the fields of settings."""

from bot.config.explaining import explanations
from bot.config.sections.section import Circle


class Committee(Circle):
    """People who decide."""

    quorum: int = 2
    """How many of them
    must agree."""

    silent: bool = False
    channel: str = ""
    """Where they meet."""


def test_fields_are_explained_by_their_docstrings() -> None:
    assert explanations(Committee) == {
        "people": "Slack user ids of people.",
        "groups": "Slack user groups; all their members count. Refreshed in the background.",
        "quorum": "How many of them\nmust agree.",
        "channel": "Where they meet.",
    }
