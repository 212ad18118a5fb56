"""Saved flows as Workflows of Argo Workflows 3.6 or newer. Pure: no I/O."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from typing_extensions import override

from bot.training.kinds.kind import Manifest
from bot.training.saved_flows.decide import TOO_LATE
from bot.training.saved_flows.objects import FlowObject, as_text
from bot.training.saved_flows.steps import FlowStep, StepEdge
from bot.training.saved_flows.tables import Flow

_VERSION = "argoproj.io/v1alpha1"
# Argo reads conditions as label selectors: it can compare a field by its path, but not search a
# list. One of these places is where a condition that ends a job stands.
_PLACES = range(5)
_ENDS = "(Failed, FailureTarget)"
SUCCESS = {
    "Job": "status.completionTime",
    "MPIJob": "status.replicaStatuses.Launcher.succeeded > 0",
    "PyTorchJob": "status.replicaStatuses.Master.succeeded > 0",
    "TrainJob": "status.jobsStatus.0.succeeded > 0",
    "RayJob": "status.jobStatus == SUCCEEDED",
}
"""What a root of each kind has once it has succeeded."""
_ANY_END = ("Succeeded", "Failed", "Errored", "Omitted")
_HEADER = """\
# Flow {name} of {team}, written by Quartermaster for Argo Workflows 3.6 or newer.
# The service account of the workflow needs to create, get and watch: {kinds}.
# What Quartermaster does beside creating these objects is not part of it: cards and messages,
# limits of the team, holds on the caches of datasets, snapshots at the end, metrics and records.
"""


@dataclass(frozen=True)
class ArgoStep:
    """A step with its objects; `name` is what objects call the run, to be replaced."""

    step: FlowStep
    name: str
    objects: tuple[FlowObject, ...]


def argo_text(flow: Flow, namespace: str, steps: Sequence[ArgoStep]) -> str:
    """The Workflow of a flow as YAML, followed by a CronWorkflow if it has a schedule."""
    base = flow.name if flow.name[0].isalpha() else f"flow-{flow.name}"
    spec = {"entrypoint": "flow", "templates": list(_templates(steps))}
    place = {"namespace": namespace}
    documents: list[Manifest] = [
        {
            "apiVersion": _VERSION,
            "kind": "Workflow",
            "metadata": {"generateName": f"{base}-"} | place,
            "spec": spec,
        }
    ]
    if flow.cron:
        documents.append(
            {
                "apiVersion": _VERSION,
                "kind": "CronWorkflow",
                "metadata": {"name": base} | place,
                "spec": _schedule(flow) | {"workflowSpec": spec},
            }
        )
    kinds = ", ".join(sorted({one.kind for each in steps for one in each.objects}))
    header = _HEADER.format(name=flow.name, team=flow.team, kinds=kinds)
    return header + yaml.dump_all(
        documents, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1_000
    )


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as they are, and the same part twice where it stands twice."""

    @override
    def ignore_aliases(self, data: Any) -> bool:
        """Always: people read and change each part by itself."""
        del data
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def _schedule(flow: Flow) -> Manifest:
    """The schedule, with starts that are skipped as the bot skips them."""
    return {
        "schedules": [flow.cron],
        "timezone": flow.time_zone,
        "concurrencyPolicy": "Forbid",
        "startingDeadlineSeconds": int(TOO_LATE.total_seconds()),
    }


def _templates(steps: Sequence[ArgoStep]) -> Iterator[Manifest]:
    """One template with the graph, and one for each object."""
    yield {"name": "flow", "dag": {"tasks": [task for each in steps for task in _tasks(each)]}}
    names = {each.name: f"{{{{workflow.name}}}}-{each.step.name}" for each in steps}
    for each in steps:
        for name, one in _named(each).items():
            yield {"name": name, "resource": _resource(one, names)}


def _tasks(each: ArgoStep) -> Iterator[Manifest]:
    """The objects of a step, one after the other: the first one waits for other steps."""
    depends = " && ".join(map(_depends, each.step.after))
    for name in _named(each):
        yield {"name": name, "template": name} | ({"depends": depends} if depends else {})
        depends = f"{name}.Succeeded"


def _depends(edge: StepEdge) -> str:
    if not edge.is_any:
        return f"{edge.step}.Succeeded"
    return f"({' || '.join(f'{edge.step}.{end}' for end in _ANY_END)})"


def _named(each: ArgoStep) -> Mapping[str, FlowObject]:
    """The objects of a step by the names of their tasks: the root has that of the step."""
    return {
        each.step.name if one.is_root else f"create-{one.kind.lower()}-{number}-{each.step.name}":
        one
        for number, one in enumerate(each.objects)
    }  # fmt: skip


def _resource(one: FlowObject, names: Mapping[str, str]) -> Manifest:
    found: Manifest = {"action": "create", "setOwnerReference": not one.stays}
    if one.is_root:
        found["successCondition"] = SUCCESS[one.kind]
        found["failureCondition"] = _failure(one)
    return found | {"manifest": as_text(one.manifest, names) + "\n"}


def _failure(one: FlowObject) -> str:
    """What a root has once it has failed; of several requirements one suffices."""
    if one.kind == "RayJob":
        return "status.jobDeploymentStatus == Failed"
    return ",".join(f"status.conditions.{place}.type in {_ENDS}" for place in _PLACES)
