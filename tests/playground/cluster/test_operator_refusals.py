"""The operators refuse what the real ones refuse, in their words.

operator_refusals.json holds what ValidateMPIJob of mpi-operator v0.8.2 says of each MPIJob with
its defaults, the webhook of training-operator v1.9.3 of each PyTorchJob, and that of trainer v2.2.1
of each TrainJob, whose runtime is beside it.
"""

import json
from pathlib import Path

import pytest

from playground.cluster.objects.errors import Cause, listed
from playground.cluster.operators.job_rules import mpi_causes, torch_causes
from playground.cluster.operators.train_job_rules import train_causes
from tests.playground.cluster.refusals import shown
from tests.playground.cluster.served import PODS, Object, Served, refusal
from tests.playground.cluster.test_mpi_jobs import MPI, mpi_job
from tests.playground.cluster.test_pytorch_jobs import TORCH, torch_job

KEPT = Path(__file__).with_name("operator_refusals.json")
REAL = json.loads(KEPT.read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", REAL, ids=lambda case: f"{case['kind']}: {case['says']}")
def test_operators_refuse_in_the_real_words(case: Object) -> None:
    causes = said_of(case)
    assert shown(listed(causes) if causes else "") == shown(case["answer"])


def said_of(case: Object) -> list[Cause]:
    if case["kind"] == "TrainJob":
        return train_causes(case["object"], case.get("old"), case["runtime"])
    return {"MPIJob": mpi_causes, "PyTorchJob": torch_causes}[case["kind"]](case["object"])


def test_pytorch_job_without_its_container_is_denied(served: Served) -> None:
    served.cluster.install("training-operator")
    body = torch_job()
    for role in body["spec"]["pytorchReplicaSpecs"].values():
        role["template"]["spec"]["containers"][0]["name"] = "main"
    code, reason, words = refusal(served.admin.post(TORCH, json=body))
    assert (code, reason) == (403, "Forbidden")
    assert "must have at least one container with name pytorch" in words


def test_mpi_job_with_two_launchers_never_starts(served: Served) -> None:
    served.cluster.install("mpi-operator")
    body = mpi_job()
    body["spec"]["mpiReplicaSpecs"]["Launcher"]["replicas"] = 2
    served.post(MPI, body)
    served.pass_time(600)
    assert [name for name in served.names(PODS) if name.startswith("lane-")] == []
    events = served.get("/api/v1/namespaces/team-a/events")["items"]
    (event,) = [each for each in events if each["involvedObject"]["name"] == "lane"]
    assert event["message"] == (
        "Found validation errors: spec.mpiReplicaSpecs[Launcher].replicas: Invalid value: 2: "
        "must be 1"
    )
