"""Operators make Services and hosts of names, so they refuse those that DNS does."""

import pytest

from tests.playground.cluster.served import PODS, Object, Served, refusal
from tests.playground.cluster.test_mpi_jobs import MPI, mpi_job
from tests.playground.cluster.test_pytorch_jobs import TORCH, torch_job
from tests.playground.cluster.test_services import SERVICES, service
from tests.playground.cluster.test_train_jobs import SETS, TRAIN, train_job

WORDS = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)


def named(body: Object, name: str) -> Object:
    return {**body, "metadata": {**body["metadata"], "name": name}}


def job_set(name: str, pods: int = 1) -> Object:
    container = {"name": "node", "image": "ghcr.io/acme/lane:3.1"}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    spec = {"template": template, "completions": pods, "parallelism": pods}
    return {
        "metadata": {"name": name},
        "spec": {"replicatedJobs": [{"name": "node", "template": {"spec": spec}}]},
    }


def test_pytorch_job_with_a_digit_is_denied(served: Served) -> None:
    served.cluster.install("training-operator")
    denied = refusal(served.admin.post(TORCH, json=named(torch_job(), "3d-unet")))
    assert denied[:2] == (403, "Forbidden")
    assert denied[2] == (
        'admission webhook "validator.pytorchjob.training-operator.kubeflow.org" denied the '
        f'request: metadata.name: Invalid value: "3d-unet": should match: {WORDS}'
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("3d-unet", "metadata.name must match RFC 1035 DNS label format"),
        ("a" * 64, "metadata.name must be no more than 63 characters"),
    ],
)
def test_train_job_with_another_name_is_invalid(served: Served, name: str, words: str) -> None:
    served.cluster.install("trainer")
    code, reason, said = refusal(served.admin.post(TRAIN, json=named(train_job(), name)))
    assert (code, reason) == (422, "Invalid")
    told = f'TrainJob.trainer.kubeflow.org "{name}" is invalid: <nil>: Invalid value: '
    assert said == told + words


def test_job_set_counts_the_longest_pod(served: Served) -> None:
    served.cluster.install("jobset")
    served.post(SETS, job_set("a" * 48, pods=10))
    said = refusal(served.admin.post(SETS, json=job_set("a" * 48, pods=101)))[2]
    assert said.endswith(
        "JobSet name is too long, pod names generated for this JobSet will exceed 63 characters"
    )
    denied = refusal(served.admin.post(SETS, json=job_set("3d-unet")))
    assert denied[:2] == (403, "Forbidden")
    assert denied[2].startswith('admission webhook "vjobset.kb.io" denied the request: ')


def test_mpi_job_with_a_digit_never_starts(served: Served) -> None:
    served.cluster.install("mpi-operator")
    served.post(MPI, mpi_job("3d-unet"))
    served.pass_time(600)
    assert [name for name in served.names(PODS) if name.startswith("3d-")] == []
    assert "status" not in served.get(f"{MPI}/3d-unet")
    events = served.get("/api/v1/namespaces/team-a/events")["items"]
    (event,) = [each for each in events if each["involvedObject"]["name"] == "3d-unet"]
    assert event["reason"] == "ValidationError"
    assert event["message"] == (
        'Found validation errors: metadata.name: Invalid value: "3d-unet": will not able to '
        f'create pod and service with invalid DNS label "3d-unet-worker-1": {WORDS}'
    )


def test_service_begins_with_a_letter(served: Served) -> None:
    said = refusal(served.admin.post(SERVICES, json=service("3d-unet")))[2]
    assert said == f'Service "3d-unet" is invalid: metadata.name: Invalid value: "3d-unet": {WORDS}'
