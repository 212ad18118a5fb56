"""Writes that the real cluster lets be or refuses, with what it says, to be tried on others.

refusals.json was written by Kubernetes 1.36.3 with Kueue 0.19.2: by the rules of definitions and
by Kueue's webhooks. tests/cluster asks them again; the playground has to say the same.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx

Object = dict[str, Any]
Answer = tuple[int, str]
RUNTIMES = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/team-a/trainingruntimes"
_MERGE = {"content-type": "application/merge-patch+json"}
_KINDS = {
    "clusterqueues": "ClusterQueue",
    "cohorts": "Cohort",
    "jobs": "Job",
    "localqueues": "LocalQueue",
    "mpijobs": "MPIJob",
    "resourceflavors": "ResourceFlavor",
    "trainingruntimes": "TrainingRuntime",
    "trainjobs": "TrainJob",
    "volumesnapshots": "VolumeSnapshot",
    "workloads": "Workload",
}


class Case(NamedTuple):
    """Steps with one object: create, patch, or status (a patch of it); the last is answered."""

    says: str
    path: str
    name: str
    steps: list[tuple[str, Object]]
    answer: Answer


def cases() -> Iterator[Case]:
    """All of them; a refusal's message is as `shown` gives it."""
    kept = json.loads(Path(__file__).with_name("refusals.json").read_text(encoding="utf-8"))
    for row in kept:
        code, message = row.pop("answer")
        yield Case(**row, answer=(code, shown(message)))


def runtime() -> Object:
    """The TrainingRuntime `plain`, which the TrainJobs name."""
    pods = {"containers": [{"name": "node", "image": "busybox:1"}], "restartPolicy": "Never"}
    step = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    job = {"metadata": {"labels": step}, "spec": {"template": {"spec": pods}}}
    jobs = {"replicatedJobs": [{"name": "node", "template": job}]}
    spec = {"mlPolicy": {"numNodes": 1}, "template": {"spec": jobs}}
    return {"metadata": {"name": "plain"}, "spec": spec}


def answer_to(case: Case, client: httpx.Client) -> Answer:
    """What a cluster says to a case; nothing is left of it."""
    where = f"{case.path}/{case.name}"
    try:
        for number, (verb, body) in enumerate(case.steps, 1):
            if verb == "create":
                response = client.post(case.path, json=_whole(case.path, body))
            else:
                part = "/status" if verb == "status" else ""
                response = client.patch(f"{where}{part}", json=body, headers=_MERGE)
            if not response.is_success:
                early = "" if number == len(case.steps) else f"{verb}: "
                return response.status_code, early + shown(response.json()["message"])
        return httpx.codes.OK, ""
    finally:
        client.delete(where, params={"propagationPolicy": "Background"})


def shown(message: str) -> str:
    """A message without whole objects and lists, which are written in an order of their own."""
    return re.sub(r"Invalid value: [\[{].*?[\]}]: ", "Invalid value: ...: ", message)


def _whole(path: str, body: Object) -> Object:
    _, _, group, version, *_, plural = path.split("/")
    return {"apiVersion": f"{group}/{version}", "kind": _KINDS[plural], **body}
