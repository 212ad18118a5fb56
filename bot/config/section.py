"""What every part of quartermaster.yaml is."""

from pydantic import BaseModel, ConfigDict

from bot.config.kinds import GroupId, UserId


class Section(BaseModel):
    """A part of the file; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Circle(Section):
    """People named one by one or by Slack user group."""

    people: tuple[UserId, ...] = ()
    """People by their Slack user id."""

    groups: tuple[GroupId, ...] = ()
    """Slack user groups whose members all count; read again in the background."""
