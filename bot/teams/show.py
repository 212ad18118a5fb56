"""The answer to `/team show`: what the bot knows of a team, and what its cluster lacks for it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bot.cluster.cluster import Cluster
from bot.config import Circle, Settings, Team
from bot.errors import ClusterError
from bot.quotas.engines.definition import EngineDefinition
from bot.quotas.status import TeamStatus
from bot.quotas.wording import amount
from bot.slack.card import Card, Reply, Table, Tone
from bot.slack.markup import Markup, channel, code, join, person, plain
from bot.teams.objects import KeptObject, engine_of
from bot.teams.observe import states
from bot.teams.stores import TeamStores

_NEEDED = (
    ("create", "batch", "jobs", ""),
    ("create", "", "persistentvolumeclaims", ""),
    ("get", "", "pods", "log"),
)


@dataclass(frozen=True)
class TeamView:
    """A team as settings, rows and watches show it.

    `objects` are what the bot created for it; `is_made` says whether it was created from Slack,
    where `said` was set.
    """

    name: str
    team: Team
    quotas: Sequence[TeamStatus]
    approvers: tuple[str, ...]
    objects: tuple[KeptObject, ...] = ()
    is_made: bool = False
    is_in_file: bool = True
    said: tuple[str, ...] = ()


def team_card(view: TeamView, settings: Settings, missing: Sequence[str]) -> Reply:
    """The card of a team; `missing` is what its cluster lacks, as sentences."""
    return Reply(
        card=Card(
            f"Team {view.name}",
            state="Incomplete" if missing else "Ready",
            tone=Tone.WARNING if missing else Tone.GOOD,
            lines=tuple(map(plain, missing)),
            facts=tuple(_facts(view, settings)),
            table=_quotas(view.quotas),
        )
    )


def missing_in(
    settings: Settings, cluster: Cluster, stores: TeamStores, view: TeamView
) -> list[str]:
    """What a cluster lacks for a team, as sentences; read from the cluster."""
    try:
        return [
            *_missing(engine_of(settings, cluster.name), cluster, view),
            *_lost(cluster, stores, view),
        ]
    except ClusterError as error:
        return [f"What cluster {cluster.name} has is unknown: {error.message}"]


def _missing(engine: EngineDefinition, cluster: Cluster, view: TeamView) -> Iterator[str]:
    team = view.team
    for found in engine.check_teams({view.name: team}, cluster, cluster.name):
        if found.state != "ok":
            yield f"{found.says} ({cluster.name}). {found.remedy}".strip()
    lacking = [
        f"{verb} {plural}{'/' + part if part else ''}"
        for verb, group, plural, part in _NEEDED
        if not cluster.may(verb, group, plural, subresource=part, namespace=team.namespace)
    ]
    if lacking:
        yield (
            f"The bot lacks rights in namespace {team.namespace} of {cluster.name}:"
            f" {', '.join(lacking)}. It needs a RoleBinding there."
        )


def _lost(cluster: Cluster, stores: TeamStores, view: TeamView) -> Iterator[str]:
    """The objects of a team of Slack that are gone, or cannot be used."""
    if view.team.cluster != cluster.name:
        return
    for each in states(cluster, stores, view.name, view.objects):
        if each.is_missing:
            yield f"{each.object.title} is missing; Quartermaster had created it."
        elif each.unready:
            yield each.unready


def _facts(view: TeamView, settings: Settings) -> Iterator[tuple[str, Markup]]:
    team = view.team
    channels = join(*(join(channel(each), " ") for each in team.channels))
    yield "Channels", channels if team.channels else plain("none")
    yield "Members", plain(_circle(team.members))
    yield "Leads", plain(_circle(team.leads))
    yield "Namespace", code(team.namespace)
    for cluster in team.reach:
        words = engine_of(settings, cluster).terms
        yield "Cluster", plain(f"{cluster}, {words.engine}")
    yield "Queue", code(team.queue)
    if team.interactive_queue is not None:
        yield "Queue of sessions", code(team.interactive_queue)
    yield "Quota approvers", join(*_people(view.approvers))
    yield (
        "Limits",
        plain(f"{team.limits.gpus_per_run} GPUs per run, {team.limits.live_runs} live runs"),
    )
    yield "Set in", plain(_set_in(view))


def _set_in(view: TeamView) -> str:
    if not view.is_made:
        return "quartermaster.yaml"
    if not view.is_in_file:
        return "Slack"
    if view.team.handed_over:
        return "quartermaster.yaml, handed over from Slack"
    said = ", ".join(view.said)
    return f"Slack: {said}; quartermaster.yaml: the rest, or all with handed_over: true"


def _people(ids: Sequence[str]) -> Iterator[Markup]:
    if not ids:
        yield plain("none")
    for position, each in enumerate(ids):
        yield join(", " if position else "", person(each))


def _circle(circle: Circle) -> str:
    """How many people and groups: an answer notifies none of them."""
    people, groups = len(circle.people), len(circle.groups)
    said = [f"{people} {'person' if people == 1 else 'people'}"] if people else []
    said += [f"{groups} user {'group' if groups == 1 else 'groups'}"] if groups else []
    return " and ".join(said) or "none"


def _quotas(statuses: Sequence[TeamStatus]) -> Table | None:
    rows = tuple(
        (each.cluster, each.queue, one.figures.flavor,
         "unlimited" if one.figures.is_unlimited else amount(one.figures.nominal),
         amount(one.figures.used))
        for each in statuses for one in each.types
    )  # fmt: skip
    return Table(("Cluster", "Queue", "GPU type", "Nominal", "In use"), rows) if rows else None
