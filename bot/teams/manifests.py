"""What GitOps would apply or delete for a team, as YAML; nothing is changed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from bot.cluster import labels
from bot.cluster.cluster import Cluster
from bot.cluster.resources import Resource
from bot.config import Settings
from bot.quotas.engines.team_objects import ObjectName, TeamObject
from bot.slack.card import AsFile, Card, Reply
from bot.slack.markup import plain
from bot.teams.objects import KeptObject, objects_of, resource_of
from bot.teams.service import TeamPlan
from bot.teams.stores import service_of

_LINES = (
    "Nothing was changed. Apply these objects, and add the entry at the end to quartermaster.yaml.",
    "They have no labels of Quartermaster, so `/team remove` does not delete them.",
)
_HANDOVER = (
    "Nothing was changed. Commit these objects, and add the entry at the end to quartermaster.yaml:"
    " with `handed_over: true` it alone counts. Runs go on."
)
_AS_CREATED = "They are as they were created; `/team {}` {} today's quota."
_KUBECTL = "kubectl.kubernetes.io/"


def patch_of(settings: Settings, cluster: Cluster, plan: TeamPlan) -> Reply:
    """The manifests of a team that is not created; the cluster is asked who the bot is."""
    objects = objects_of(settings, cluster, cluster.whoami().username, plan.quota)
    document = _document(objects, plan.team, plan.said, cluster)
    return answer(f"Manifests of team {plan.team}", _LINES, document, f"team-{plan.team}.yaml")


def handover_of(
    cluster: Cluster, team: str, objects: Sequence[KeptObject], said: Mapping[str, Any]
) -> Reply:
    """The manifests of a team that there is, and the entry with which the file takes it over."""
    found = [TeamObject(resource_of(o.kind), o.name, o.namespace, o.body) for o in objects]
    document = _document(found, team, said, cluster)
    is_apart = any(service_of(each.resource) for each in found)
    today = (f"show {team}", "shows") if is_apart else ("set --as-patch", "writes")
    lines = (_HANDOVER, _AS_CREATED.format(*today))
    return answer(f"Manifests of team {team}", lines, document, f"team-{team}.yaml")


def answer(title: str, lines: Sequence[str], document: str, name: str) -> Reply:
    """An answer with manifests; long ones come as a file of this name."""
    said = tuple(map(plain, lines))
    return Reply(card=Card(title, lines=said, document=document, as_file=AsFile(name)))


def unmanaged(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """An object as a repository keeps it: without its status, and without what others noted."""
    metadata = manifest["metadata"]
    kept = {key: metadata[key] for key in ("name", "namespace") if key in metadata}
    for key in ("labels", "annotations"):
        own = {name: value for name, value in metadata.get(key, {}).items() if _is_own(name, value)}
        kept |= {key: own} if own else {}
    return {
        "apiVersion": manifest["apiVersion"],
        "kind": manifest["kind"],
        "metadata": kept,
        "spec": manifest["spec"],
    }


def stub(cluster: Cluster, each: ObjectName) -> dict[str, Any]:
    """An object by its name alone, as `kubectl delete -f` takes it."""
    metadata = {"name": each.name}
    metadata |= {"namespace": each.namespace} if each.namespace is not None else {}
    return {**_head(cluster, each.resource), "metadata": metadata}


def written(value: Mapping[str, Any]) -> str:
    """The value as YAML."""
    return yaml.safe_dump(dict(value), sort_keys=False, allow_unicode=True)


def commented(lines: Sequence[str]) -> str:
    """Lines as comments of YAML."""
    return "".join(f"# {line}\n" for line in lines)


def joined(parts: Sequence[Mapping[str, Any]]) -> str:
    """Several objects in one document."""
    return "---\n".join(map(written, parts))


def _document(
    objects: Sequence[TeamObject], team: str, said: Mapping[str, Any], cluster: Cluster
) -> str:
    entry = written({"teams": {team: dict(said)}})
    parts = list(_whole([each for each in objects if not service_of(each.resource)], cluster))
    outside = [line for each in objects for line in _apart(each)]
    return joined(parts) + commented([*outside, "quartermaster.yaml:", *entry.splitlines()])


def _apart(each: TeamObject) -> Iterator[str]:
    """An object of a service, which kubectl does not take, in words; nothing for others."""
    service = service_of(each.resource)
    if service is not None:
        title = f"{each.resource.kind} {each.name}"
        yield f"{title} belongs in {service.engine}, not in Kubernetes:"
        yield from written(each.body["spec"]).splitlines()


def _whole(objects: Sequence[TeamObject], cluster: Cluster) -> Iterator[dict[str, Any]]:
    """The objects with their type and their namespace, as kubectl takes them."""
    for each in objects:
        metadata = dict(each.body["metadata"])
        if each.namespace is not None:
            metadata["namespace"] = each.namespace
        yield {**_head(cluster, each.resource), **each.body, "metadata": metadata}


def _head(cluster: Cluster, resource: Resource[Any]) -> dict[str, str]:
    served = cluster.served(resource.group) if resource.group else ["v1"]
    version = next((one for one in resource.versions if one in served), resource.versions[0])
    return {"apiVersion": f"{resource.group}/{version}".lstrip("/"), "kind": resource.kind}


def _is_own(name: str, value: str) -> bool:
    """Whether a label or annotation is the object's own, and not a note of a tool."""
    is_ours = name.startswith(labels.PREFIX) or (name, value) == (labels.MANAGED_BY, labels.MANAGER)
    return not is_ours and not name.startswith(_KUBECTL)
