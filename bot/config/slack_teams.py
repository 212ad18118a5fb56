"""Teams that were created from Slack: settings that are rows, and beat the file."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from bot.config.checks import misfits
from bot.config.models import Settings
from bot.config.sections.teams import Team

TeamRows = Mapping[str, Mapping[str, Any]]
"""What was set in Slack, as in the file, by the team's name."""


def with_slack_teams(settings: Settings, rows: TeamRows) -> tuple[Settings, tuple[str, ...]]:
    """The settings with the teams of these rows, and a sentence for each that cannot be added.

    What a row says beats the file; what it does not say comes from the file, if that has the team.
    A team that was handed over to the file is what the file says.
    """
    problems = []
    for name, said in rows.items():
        in_file = settings.teams.get(name)
        moved = _moved(in_file, said) if in_file is not None and in_file.handed_over else None
        if moved == "":
            continue
        if moved:
            problems.append(f"Team {name}, created in Slack, is not handed over: {moved}")
        counts = {**said, "handed_over": False} if moved else said
        found = with_slack_team(settings, name, counts)
        if isinstance(found, Settings):
            settings = found
        else:
            problems.append(f"Team {name}, created in Slack, is left out: {found}")
    return settings, tuple(problems)


def with_slack_team(settings: Settings, name: str, said: Mapping[str, Any]) -> Settings | str:
    """The settings with this team, or why it does not fit the others."""
    try:
        team = Team.model_validate({**_in_file(settings, name, said), **said})
    except ValidationError as error:
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}."
    found = settings.model_copy(update={"teams": {**settings.teams, name: team}})
    known = set(_sentences(settings))
    return next((each for each in _sentences(found) if each not in known), found)


def _moved(team: Team, said: Mapping[str, Any]) -> str:
    """What the file says differently of the place of a team's runs; empty if nothing."""
    if said.get("cluster", team.cluster) not in team.reach:
        return f"quartermaster.yaml has cluster {team.cluster}, not {said['cluster']}."
    there = {"namespace": team.namespace, "queue": team.queue}
    differs = (key for key, now in there.items() if said.get(key, now) != now)
    return next(
        (f"quartermaster.yaml has {key} {there[key]}, not {said[key]}." for key in differs), ""
    )


def _in_file(settings: Settings, name: str, said: Mapping[str, Any]) -> dict[str, Any]:
    """What the file says of the team; its `clusters` are beaten by a `cluster`, too."""
    team, beaten = settings.teams.get(name), {"clusters"} if "cluster" in said else set()
    return team.model_dump(exclude_unset=True, exclude=beaten) if team is not None else {}


def _sentences(settings: Settings) -> Iterator[str]:
    return (words for _, words in misfits(settings))
