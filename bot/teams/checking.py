"""The doctor's checks of teams that are created from Slack."""

from collections.abc import Iterator
from itertools import chain

from bot.cluster.cluster import Cluster
from bot.cluster.resources import ROLE_BINDINGS
from bot.config import Settings, TeamRows, with_slack_teams
from bot.database.database import Database
from bot.errors import DatabaseError
from bot.findings import Finding, Findings
from bot.teams.objects import engine_of, kinds_of
from bot.teams.record import teams_of_slack
from bot.teams.stores import is_in_service

_VERBS = ("create", "delete", "get")


def settings_with_teams(settings: Settings) -> tuple[Settings, Findings]:
    """The settings with the teams of the database, and what is found about these."""
    database = Database(settings.database.url)
    try:
        rows = database.read(lambda session: teams_of_slack(session, settings.workspace))
    except DatabaseError:  # what ails it is said elsewhere
        return settings, iter(())
    finally:
        database.close()
    found, problems = with_slack_teams(settings, rows)
    both = tuple(each for each in rows if each in settings.teams)
    return found, chain(_teams(tuple(rows), problems), _in_both(found, rows, both))


def check_rights(settings: Settings, cluster: Cluster, about: str) -> Findings:
    """Whether the bot has the rights to create and remove teams, if it can do so there."""
    if settings.team_creation is None:
        return
    missing = list(_missing(settings, cluster))
    if missing:
        remedy = "Upgrade the Helm release, or apply deploy/kubernetes/team-creation."
        says = f"missing for `/team create`: {', '.join(missing)}"
        yield Finding(f"{about} team creation", "failed", says, remedy)
    else:
        yield Finding(f"{about} team creation", "ok", "all rights are granted")


def _teams(names: tuple[str, ...], problems: tuple[str, ...]) -> Findings:
    if names:
        yield Finding("teams", "ok", f"created in Slack: {', '.join(names)}")
    for each in problems:
        remedy = "Change quartermaster.yaml, or remove the team with `/team remove`."
        yield Finding("teams", "failed", each.rstrip("."), remedy)


def _in_both(settings: Settings, rows: TeamRows, names: tuple[str, ...]) -> Findings:
    for name in names:
        if settings.teams[name].handed_over:
            yield Finding("teams", "ok", f"{name} was handed over from Slack to quartermaster.yaml")
        else:
            beaten = ", ".join(rows[name])
            says = f"{name} is in quartermaster.yaml and in Slack; Slack's {beaten} count"
            yield Finding("teams", "ok", says)


def _missing(settings: Settings, cluster: Cluster) -> Iterator[str]:
    kinds = kinds_of(engine_of(settings, cluster.name))
    for each in kinds:
        for verb in () if is_in_service(each) else _VERBS:
            if not cluster.may(verb, each.group, each.plural):
                yield f"{verb} {each.plural}"
    for role in settings.team_creation.roles if settings.team_creation else ():
        if not cluster.may("bind", ROLE_BINDINGS.group, "clusterroles", name=role):
            yield f"bind ClusterRole {role}"
