"""Steps meet the playground's Slack."""

from tests.playground.slack.conftest import slack, stage

__all__ = ["slack", "stage"]
