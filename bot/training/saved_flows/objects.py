"""The objects of the runs of a flow, as other programs can create them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bot.cluster import labels
from bot.cluster.resources import SECRETS, Resource
from bot.errors import ConflictError
from bot.quotas import Engine
from bot.quotas.engines.manifests import templates
from bot.training.kinds import dependents_of, kind_of_run
from bot.training.kinds.kind import Manifest
from bot.training.kinds.pods.template import owner_labels
from bot.training.queueing import queueing_of
from bot.training.tables import Run

FOREIGN = f"argo.{labels.PREFIX}"
"""The prefix of labels in place of the bot's own, so that it takes the objects for no runs."""


@dataclass(frozen=True)
class FlowObject:
    """An object of a run: its manifest, whether it is the root, and whether it stays after it."""

    manifest: Manifest
    is_root: bool = False
    stays: bool = False

    @property
    def kind(self) -> str:
        """The kind of the object."""
        return str(self.manifest["kind"])


def objects_of(run: Run, engine: Engine, installation: str) -> tuple[FlowObject, ...]:
    """What is created for a run, in order, the root last.

    ConflictError for a run that needs a Secret which the bot makes for that run alone.
    """
    return tuple(_objects(run, engine, installation))


def as_text(manifest: Manifest, inserted: Mapping[str, str]) -> str:
    """A manifest as JSON in which expressions of the reader stand for the names in `inserted`.

    Other double braces of it, such as in a command, are written so that they are none.
    """
    # JSON itself has none: each brace of an object is on a line of its own.
    text = json.dumps(manifest, indent=2, ensure_ascii=False).replace("{{", "{\\u007b")
    for name, expression in inserted.items():
        text = text.replace(name, expression)
    return text


def _objects(run: Run, engine: Engine, installation: str) -> Iterator[FlowObject]:
    kind, queueing = kind_of_run(run), queueing_of(run)
    for each in dependents_of(run):
        if each.resource is SECRETS:
            raise ConflictError(
                f"Run {run.name} cannot be written out: it is of `--kind {kind.name}`, for which"
                " Quartermaster makes a Secret for each run.",
                "Flows of one-pod Jobs, and of kinds without such a Secret, can be written out.",
            )
        own = owner_labels(run, installation)
        metadata = {"name": each.name, "namespace": run.namespace, "labels": own}
        body = {"metadata": metadata, **each.body()}
        for template in templates(body):
            template["metadata"]["labels"] |= own
        body = engine.runs.apply_beside(body, queueing)
        yield FlowObject(_whole(each.resource, body), stays=each.stays)
    root = engine.runs.apply_queueing(kind.manifest(run, installation), queueing)
    yield FlowObject(_whole(kind.root.resource, root), is_root=True)


def _whole(resource: Resource[Any], body: Manifest) -> Manifest:
    version = "/".join(filter(None, (resource.group, resource.versions[0])))
    found: Manifest = _foreign({"apiVersion": version, "kind": resource.kind, **body})
    found["metadata"]["labels"].pop(labels.MANAGED_BY, None)
    for template in templates(found):
        template["metadata"]["labels"].pop(labels.MANAGED_BY, None)
    return found


def _foreign(part: Any) -> Any:
    """The same with labels of another prefix, also where fields refer to them."""
    if isinstance(part, dict):
        return {
            key.replace(labels.PREFIX, FOREIGN, 1)
            if key.startswith(labels.PREFIX) else key:
            part[key].replace(labels.PREFIX, FOREIGN) if key == "fieldPath"
            else _foreign(part[key])
            for key in part
        }  # fmt: skip
    return [_foreign(each) for each in part] if isinstance(part, list | tuple) else part
