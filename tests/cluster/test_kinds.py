"""The manifests of every workload kind before a real API server, which knows each field."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from bot.config import Admission
from bot.quotas.engines.kueue.runs import queued
from bot.slack.grammar.container_parameters import EnvironmentVariable, SecretReference, VolumeMount
from bot.training.kinds import KINDS, dependents_of, kind_of_run
from bot.training.kinds.pods.security import security_of
from bot.training.kinds.pods.template import owner_labels
from bot.training.queueing import queueing_of
from bot.training.spec import CreatedVolume, Entrance, RunSpec, spec_of, to_row
from bot.training.tables import Run
from tests.bot.training.objects import run
from tests.cluster.api import ApiError, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.scenery import RUNTIMES, runtime
from tests.cluster.site import WORKLOADS, Site

MPIJOBS = "mpijobs.kubeflow.org"
SPEC = RunSpec(
    image="ghcr.io/acme/lane:3.1",
    command=("python", "train.py", "--epochs", "3"),
    gpus=Decimal(2),
    cpu="16",
    memory="128Gi",
    shm="16Gi",
    env=(EnvironmentVariable("BATCH_SIZE", "33"),),
    secrets=(SecretReference("WANDB_API_KEY", "wandb", "api-key"),),
    mounts=(
        VolumeMount("data", "/data", read_only=True),
        VolumeMount("out", "/out", read_only=False),
    ),
    volumes=(CreatedVolume(storage_class="standard", size="100Gi", path="/mnt"),),
    time_limit_seconds=7200,
    code="acme/lane@3f2a9c1",
    service_account="trainer",
    pull_secrets=("registry",),
)
# What a kind with such an option is asked for besides.
_MORE: dict[str, dict[str, Any]] = {
    "nodes": {"nodes": 2},
    "range": {"nodes_range": (1, 3)},
    "processes": {"processes": 4},
    "efa": {"efa": 4},
    "port": {
        "port": 8888,
        "session_seconds": 3600,
        "longest_seconds": 86_400,
        "entrance": Entrance(host="train.example.com", class_name="nginx"),
    },
}


def row(kind: str, form: str, namespace: str) -> Run:
    """A run of a kind with all that the kind can be asked for."""
    options = KINDS[kind, form].options
    more = {key: value for name in options for key, value in _MORE.get(name, {}).items()}
    spec = replace(SPEC, kind=kind, form=form, **more)
    return run(spec=to_row(spec), namespace=namespace, queue=namespace)


@pytest.mark.parametrize(("kind", "form"), sorted(KINDS))
def test_every_kind_is_accepted_strictly(
    kind: str, form: str, plane: ControlPlane, site: Site
) -> None:
    site.add(RUNTIMES, runtime("torch-distributed"))
    asked = row(kind, form, site.add_namespace())
    metadata = {"namespace": asked.namespace, "labels": owner_labels(asked, "installation-1")}
    bodies = [(kind_of_run(asked).root.resource, queued(_manifest(asked), queueing_of(asked)))]
    bodies.extend(
        (each.resource, {"metadata": {"name": each.name, **metadata}, **each.body()})
        for each in dependents_of(asked)
    )
    for resource, body in bodies:
        name = f"{resource.plural}.{resource.group}".rstrip(".")
        made = plane.api.create(name, body, asked.namespace, dryRun="All", fieldValidation="Strict")
        assert made["metadata"]["uid"]
        version = made["apiVersion"].rpartition("/")[2]
        assert version in resource.versions, f"{name} is preferred as {version}"


@pytest.mark.parametrize("level", ["restricted", "baseline"])
@pytest.mark.parametrize(("kind", "form"), sorted(KINDS))
def test_pods_keep_to_restricted(
    kind: str, form: str, level: str, plane: ControlPlane, site: Site
) -> None:
    space = site.add_namespace(labels={"pod-security.kubernetes.io/enforce": "restricted"})
    asked = row(kind, form, space)
    admission = Admission.model_validate({"security": level})
    security = security_of(admission, privileged=False)
    spec = replace(spec_of(asked), security=security, service_account=None, priority=None)
    asked.spec = to_row(spec)
    bodies = [each.body() for each in dependents_of(asked) if each.resource.kind == "Deployment"]
    pods = [pod for body in (_manifest(asked), *bodies) for pod in _pods(body)]
    assert pods
    for pod in pods:
        # A TrainJob's patch says nothing of the image, which its runtime's pods have.
        pod["containers"][0].setdefault("image", spec.image)
        pod["restartPolicy"] = "Never"
        body = {"metadata": {"name": "pod", "namespace": space}, "spec": pod}
        if level == "restricted":
            assert plane.api.create("pods", body, space, dryRun="All", fieldValidation="Strict")
            continue
        with pytest.raises(ApiError) as caught:
            plane.api.create("pods", body, space, dryRun="All", fieldValidation="Strict")
        assert 'violates PodSecurity "restricted:latest"' in caught.value.body["message"]


def _pods(part: Any) -> Iterator[dict[str, Any]]:
    """The specs of all pods inside."""
    if isinstance(part, dict) and "containers" in part:
        yield part
    elif isinstance(part, dict | list):
        for each in part.values() if isinstance(part, dict) else part:
            yield from _pods(each)


def _manifest(asked: Run) -> dict[str, Any]:
    return kind_of_run(asked).manifest(asked, "installation-1")


def test_a_field_too_many_is_refused(plane: ControlPlane, site: Site) -> None:
    asked = row("job", "", site.add_namespace())
    body = _manifest(asked)
    body["spec"]["template"]["spec"]["gpus"] = 2
    with pytest.raises(ApiError) as caught:
        plane.api.create(
            "jobs.batch", body, asked.namespace, dryRun="All", fieldValidation="Strict"
        )
    assert caught.value.status == 400
    assert 'unknown field "spec.template.spec.gpus"' in caught.value.body["message"]


@pytest.mark.usefixtures("gpus")
def test_an_mpi_job_waits_in_its_queue(site: Site) -> None:
    team = site.add_team("4")
    spec = replace(SPEC, kind="mpi", nodes=2)
    asked = run(spec=to_row(spec), namespace=team, queue=team)
    site.api.create(MPIJOBS, queued(_manifest(asked), queueing_of(asked)), team)
    (workload,) = wait_for(lambda: site.api.list(WORKLOADS, team), "the Workload")
    (job,) = site.api.list(MPIJOBS, team)
    assert workload["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
    sets = [(each["name"], each["count"]) for each in workload["spec"]["podSets"]]
    assert sets == [("launcher", 1), ("worker", 2)]
    name = workload["metadata"]["name"]
    wait_for(lambda: site.condition(WORKLOADS, name, team, "Admitted"), "its admission")

    def is_started() -> bool:
        (job,) = site.api.list(MPIJOBS, team)
        return job["spec"]["runPolicy"]["suspend"] is False

    wait_for(is_started, "the start of the MPIJob")
