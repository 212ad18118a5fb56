"""Writes the rows of teams that were created in Slack, by what their objects say."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec
from sqlmodel import Session

from bot.adoption import LEAVING, Adoptable, Known, Refused, Verdict
from bot.audit import Actor, record
from bot.cluster import labels
from bot.cluster.resources import NAMESPACES
from bot.cluster.types.objects import ClusterObject
from bot.config import Settings, with_slack_team
from bot.database.topics import touch
from bot.teams.adoption.record import RecordedObject, TeamRecord, record_of
from bot.teams.objects import is_ours, is_same
from bot.teams.tables import TOPIC, SlackTeam

_BY_HAND = "Add the team to quartermaster.yaml, and run this command again."


@dataclass(frozen=True)
class FoundTeam:
    """A team by an object that says to be made for it, and by what else that names.

    `there` are the objects that its record names, by kind, namespace and name; `trouble` says why
    they could not be read.
    """

    cluster: str
    installation: str
    name: str
    object: ClusterObject
    there: Mapping[tuple[str, str, str], ClusterObject]
    trouble: str = ""

    @property
    def named(self) -> str:
        """The team, for people: `Team vision on default`."""
        return f"Team {self.name} on {self.cluster}"

    @property
    def record(self) -> TeamRecord | None:
        """What the object says of the team; an earlier release recorded nothing."""
        return record_of(self.object)


def examine(session: Session, settings: Settings, found: FoundTeam) -> Verdict:
    """Whether the row of a team can be written; nothing is written."""
    if session.get(SlackTeam, (settings.workspace, found.name)) is not None:
        return Known()
    if found.name in settings.teams:
        return Refused("quartermaster.yaml names it, and counts. `/team remove` leaves it alone.")
    said = found.record
    if said is None:
        return Refused(
            f"Its objects have no annotation {labels.RECORD} that this version can read: an"
            f" earlier release created them. {_BY_HAND}"
        )
    why = found.trouble or next(_damages(found, said), "") or _misfit(settings, found, said)
    if why:
        return Refused(f"{why} {_BY_HAND}")
    return Adoptable(
        _title(found, said), lambda session, now: _adopt(session, settings, found, said, now)
    )


def _damages(found: FoundTeam, said: TeamRecord) -> Iterator[str]:
    """What differs from the objects as they were made.

    Who may write one of them might have written its record. So all have to say the same
    of the team.
    """
    for each in said.objects:
        there = found.there.get(key_of(each))
        title = f"{each.kind} {each.namespace + '/' if each.namespace else ''}{each.name}"
        if there is None:
            yield f"{title} does not exist."
        elif there.metadata.deletion_timestamp is not None:
            yield f"{title}: {LEAVING}"
        elif not is_ours(there, found.installation, found.name) or not is_same(there, each.body):
            yield f"{title} is not as it was created for this team."
        elif not said.agrees(record_of(there)):
            yield f"{title} says something else of the team."


def _misfit(settings: Settings, found: FoundTeam, said: TeamRecord) -> str:
    """Why the team cannot be one of the settings; empty if it can."""
    namespaces = [each.name for each in said.objects if each.kind == NAMESPACES.kind]
    place = (found.cluster, namespaces, True)
    told = said.said.get("queue") in {each.name for each in said.objects}
    if (said.said.get("cluster"), [said.said.get("namespace")], told) != place:
        return "Its record names another cluster, namespace or queue."
    for name, team in settings.teams.items():
        if found.cluster in team.reach and team.namespace == namespaces[0]:
            return f"Namespace {team.namespace} belongs to team {name}."
    fits = with_slack_team(settings, found.name, said.said)
    return f"It does not fit the settings: {fits}" if isinstance(fits, str) else ""


def _title(found: FoundTeam, said: TeamRecord) -> str:
    """The team with its people and channels, which only its record says."""
    told = said.said
    parts = [f"namespace {told['namespace']}", *_listed("channels", told.get("channels"))]
    for key in ("leads", "members"):
        who = told.get(key) or {}
        parts += _listed(key, [*who.get("people", ()), *who.get("groups", ())])
    return f"{found.name}: {', '.join(parts)} on {found.cluster}"


def _listed(what: str, names: list[str] | None) -> list[str]:
    return [f"{what} {' '.join(names)}"] if names else []


def _adopt(
    session: Session, settings: Settings, found: FoundTeam, said: TeamRecord, now: datetime
) -> None:
    row = SlackTeam(
        workspace_id=settings.workspace,
        name=found.name,
        said=said.said,
        objects=[msgspec.to_builtins(each) for each in said.objects],
        change_id=said.change_id,
        created_at=said.asked_at,
    )
    session.add(row)
    session.flush()
    touch(session, TOPIC)
    actor, facts = Actor(settings.workspace, team=found.name), {"team": found.name}
    record(session, actor, "team.adopt", ("team", found.name), facts, at=now)


def key_of(each: RecordedObject) -> tuple[str, str, str]:
    """How an object is found: by kind, namespace and name."""
    return each.kind, each.namespace or "", each.name
