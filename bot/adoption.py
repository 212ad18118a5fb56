"""What `quartermaster adopt` finds out of one thing that lives in the clusters."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from bot.cluster import labels
from bot.cluster.types.objects import ClusterObject
from bot.config import Settings, Team

LEAVING = "It is being deleted."
_USER = re.compile(r"[UW][A-Z0-9]+")


@dataclass(frozen=True)
class Adoptable:
    """Something whose rows can be written; `title` names it."""

    title: str
    write: Callable[[Session, datetime], None]


@dataclass(frozen=True)
class Known:
    """Something whose row is there already."""


@dataclass(frozen=True)
class Refused:
    """Why no row is written for an object, and what to do."""

    why: str


Verdict = Adoptable | Known | Refused


def unfit(settings: Settings, cluster: str, found: ClusterObject, what: str) -> str:
    """Why an object cannot be its team's by its labels; empty if it can.

    People who may create objects in a namespace can write labels there, so the team has to be that
    of the namespace. `what` names such objects.
    """
    name = found.labels.get(labels.TEAM, "")
    team = settings.teams.get(name)
    if team is None:
        return (
            f"quartermaster.yaml has no team {name or 'of that name'}. Add the team, and run"
            " this command again."
        )
    if cluster not in team.reach or team.namespace != found.namespace:
        return f"{what} of {name} are not in namespace {found.namespace} of {cluster}."
    if not team.channels:
        return f"{name} has no channel for its card. Add one, and run this command again."
    if not is_person(found.labels.get(labels.PERSON, "")):
        return f"Its label {labels.PERSON} names no Slack user."
    return ""


def is_person(user: str) -> bool:
    """Whether it is the id of a Slack user."""
    return _USER.fullmatch(user) is not None


def channel_of(team: Team, said: str) -> str:
    """The channel for messages: the one that was said if it is the team's, else its first."""
    return said if said in team.channels else team.channels[0]
