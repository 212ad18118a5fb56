"""A strict Slack on loopback, for digests that are posted."""

from tests.playground.slack.conftest import stage

__all__ = ["stage"]
