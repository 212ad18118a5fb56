"""Checks of compute templates, for `quartermaster doctor`: their queues and GPU types exist."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from bot.cluster.cluster import Cluster
from bot.config import Settings, Team, Template
from bot.errors import ClusterError
from bot.findings import Finding, Findings
from bot.quotas import Queues
from bot.quotas.engines.definition import EngineDefinition
from bot.training.placing.choosing import team_at, usable


def template_findings(
    settings: Settings, engine: EngineDefinition, cluster: Cluster, about: str
) -> Findings:
    """The findings about the templates on a cluster, for each team that can use one."""
    there = {key: each for key, each in settings.templates.items() if each.cluster == cluster.name}
    if not there:
        return
    queues = _queues(settings, engine, cluster)
    for name, template in there.items():
        teams = {
            key: team_at(team, template)
            for key, team in settings.teams.items()
            if name in usable(settings, key)
        }
        called = f"{about} template {name}"
        if not teams:
            says = f"no team has cluster {cluster.name}, so no run can name it"
            remedy = f"Add {cluster.name} to the clusters of a team, or remove templates.{name}."
            yield Finding(called, "warning", says, remedy)
            continue
        found = [*_queue_findings(name, template, teams, engine, cluster, called),
                 *_type_findings(name, template, teams, queues, called)]  # fmt: skip
        says = f"{', '.join(teams)} can use it: {', '.join(_places(teams))}"
        yield from found or [Finding(called, "ok", says)]


def _queue_findings(
    name: str,
    template: Template,
    teams: Mapping[str, Team],
    engine: EngineDefinition,
    cluster: Cluster,
    about: str,
) -> Iterator[Finding]:
    """The queues that are missing; those of the teams themselves are checked elsewhere."""
    if template.queue is None:
        return
    for each in engine.check_teams(teams, cluster, about):
        if each.failed:
            remedy = f"Create it, or set templates.{name}.queue or templates.{name}.teams."
            yield replace(each, remedy=remedy)


def _type_findings(
    name: str, template: Template, teams: Mapping[str, Team], queues: Queues, about: str
) -> Iterator[Finding]:
    for key, team in teams.items() if template.gpu_type else ():
        queue = queues.behind(team.namespace, team.queue)
        if queue is None or queue.of(template.gpu_type or "") is not None:
            continue
        has = ", ".join(each.flavor for each in queue.figures) or "none"
        says = (
            f"{queues.words.queue} {queue.name} has no GPU type {template.gpu_type}; it has {has}"
        )
        yield Finding(f"{about} {key}", "failed", says, f"Correct templates.{name}.gpu_type.")


def _places(teams: Mapping[str, Team]) -> Iterator[str]:
    queues = dict.fromkeys(f"{team.namespace}/{team.queue}" for team in teams.values())
    return (f"queue {each}" for each in queues)


def _queues(settings: Settings, engine: EngineDefinition, cluster: Cluster) -> Queues:
    """The queues of a cluster that is not watched, read once."""
    for resource in engine.watched:
        try:
            cluster.view.store(resource).replace(cluster.list(resource))
        except ClusterError as error:
            if error.reason != "NotServed":
                raise
    at = settings.clusters[cluster.name]
    counted = at.fractions.counted(settings.quotas.resource)
    return engine.connect(cluster, counted, at).queues
