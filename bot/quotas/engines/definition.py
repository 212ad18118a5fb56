"""What a quota engine brings: all that the rest of the bot needs to know of one."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from bot.cluster.api.following import NO_SOURCES, Sources
from bot.cluster.cluster import Cluster
from bot.cluster.resources import Resource
from bot.config import ClusterSettings, Team
from bot.findings import Findings
from bot.quotas.engines.engine import Engine, EngineTerms
from bot.quotas.engines.team_objects import TeamObjects


class Right(NamedTuple):
    """A right that the bot needs in the whole cluster."""

    verb: str
    group: str
    plural: str
    part: str = ""


def queues_of(team: Team) -> Iterator[tuple[str, str]]:
    """The queues of a team, each with the key of its setting."""
    yield "queue", team.queue
    if team.interactive_queue is not None:
        yield "interactive_queue", team.interactive_queue


def no_team_checks(teams: Mapping[str, Team], cluster: Cluster, about: str) -> Findings:
    """No findings: teams need nothing in the cluster."""
    del teams, cluster, about
    yield from ()


def no_sources(cluster: str, settings: ClusterSettings) -> Sources:
    """Nothing: all that the engine knows is in Kubernetes."""
    del cluster, settings
    return NO_SOURCES


def no_service_checks(
    teams: Mapping[str, Team], cluster: Cluster, settings: ClusterSettings, about: str
) -> Findings:
    """No findings: the engine has no service outside Kubernetes."""
    del teams, cluster, settings, about
    yield from ()


@dataclass(frozen=True, kw_only=True)
class EngineDefinition:
    """A quota engine.

    `name` is the value of `clusters.NAME.engine`. `group` is the API group that a cluster serves if
    the engine is installed; empty if there is nothing to install. `watched` is what the view shows
    for it. Changes of `queues` wake the quotas in them. `check_teams` are the doctor's checks of
    the teams' queues, given the teams of a cluster and the beginning of their names. `teams` is
    what `/team create` makes.

    An engine with a service outside Kubernetes has the resources `polled` in the view, which
    `sources` reads from that service, and `check_service` are the doctor's checks of it.
    """

    name: str
    terms: EngineTerms
    group: str
    watched: tuple[Resource[Any], ...]
    queues: Resource[Any] | None
    priorities: Resource[Any]
    rights: tuple[Right, ...]
    connect: Callable[[Cluster, str, ClusterSettings], Engine]
    teams: TeamObjects
    check_teams: Callable[[Mapping[str, Team], Cluster, str], Findings] = no_team_checks
    polled: tuple[Resource[Any], ...] = ()
    sources: Callable[[str, ClusterSettings], Sources] = no_sources
    check_service: Callable[[Mapping[str, Team], Cluster, ClusterSettings, str], Findings] = (
        no_service_checks
    )
