"""What GitOps would apply for a team: its objects and its entry in quartermaster.yaml, as YAML."""

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from bot.cluster.cluster import Cluster
from bot.config import Settings
from bot.quotas.engines.team_objects import TeamObject
from bot.slack.card import AsFile, Card, Reply
from bot.slack.markup import plain
from bot.teams.objects import objects_of
from bot.teams.service import TeamPlan

_LINES = (
    "Nothing was changed. Apply these objects, and add the entry at the end to quartermaster.yaml.",
    "They have no labels of Quartermaster, so `/team remove` does not delete them.",
)


def patch_of(settings: Settings, cluster: Cluster, plan: TeamPlan) -> Reply:
    """The manifests of a team that is not created; the cluster is asked who the bot is."""
    objects = objects_of(settings, cluster, cluster.whoami().username, plan.quota)
    return Reply(
        card=Card(
            f"Manifests of team {plan.team}",
            lines=tuple(map(plain, _LINES)),
            document=_document(objects, plan.team, plan.said, cluster),
            as_file=AsFile(f"team-{plan.team}.yaml"),
        )
    )


def _document(
    objects: Sequence[TeamObject], team: str, said: Mapping[str, Any], cluster: Cluster
) -> str:
    parts = [_written(_whole(each, cluster)) for each in objects]
    entry = _written({"teams": {team: dict(said)}})
    comment = "".join(f"# {line}\n" for line in entry.splitlines())
    return "---\n".join(parts) + f"# quartermaster.yaml:\n{comment}"


def _whole(each: TeamObject, cluster: Cluster) -> dict[str, Any]:
    """The object with its type and its namespace, as kubectl takes it."""
    resource = each.resource
    served = cluster.served(resource.group) if resource.group else ["v1"]
    version = next((one for one in resource.versions if one in served), resource.versions[0])
    metadata = dict(each.body["metadata"])
    if each.namespace is not None:
        metadata["namespace"] = each.namespace
    head = {"apiVersion": f"{resource.group}/{version}".lstrip("/"), "kind": resource.kind}
    return {**head, **each.body, "metadata": metadata}


def _written(value: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(value), sort_keys=False, allow_unicode=True)
