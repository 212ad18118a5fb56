"""Base classes for the sections of quartermaster.yaml."""

from pydantic import BaseModel, ConfigDict

from bot.config.kinds import GroupId, UserId


class Section(BaseModel):
    """A section of the file; unknown keys are rejected."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Circle(Section):
    """People, listed one by one or by Slack user group."""

    people: tuple[UserId, ...] = ()
    """Slack user ids of people."""

    groups: tuple[GroupId, ...] = ()
    """Slack user groups; all their members count. Refreshed in the background."""
