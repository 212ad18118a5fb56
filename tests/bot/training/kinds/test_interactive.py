"""The Job of a session, and what stands beside it."""

from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from bot.training.kinds.interactive import InteractiveKind, service_name
from bot.training.spec import Entrance, RunSpec, to_row
from bot.training.tables import Run
from tests.bot.ground import ALICE, INSTALLATION
from tests.bot.training.objects import RUN_ID, run
from tests.schemas import fits

IMAGE = "quay.io/jupyter/base-notebook:2026-11-17"
SPEC = RunSpec(
    kind="interactive",
    image=IMAGE,
    gpus=Decimal(1),
    cpu="8",
    memory="64Gi",
    session_seconds=4 * 3600,
    longest_seconds=24 * 3600,
    port=8888,
    entrance=Entrance(host="ml.example.com", class_name="nginx", tls_secret="ml-tls"),  # noqa: S106 - a name
)
UNBUFFERED = {"name": "PYTHONUNBUFFERED", "value": "1"}
SHELL = replace(SPEC, command=("sleep", "infinity"), port=None, entrance=None)
PATH = "/team-a/lane-124a67dc90"
NAME = "session-lane-124a67dc90"
LABELS = {
    "app.kubernetes.io/managed-by": "quartermaster",
    "quartermaster.dev/installation": INSTALLATION,
    "quartermaster.dev/run": RUN_ID,
    "quartermaster.dev/team": "team-a",
    "quartermaster.dev/person": ALICE,
}
NAMED = {"quartermaster.dev/name": "lane"}
AMOUNTS = {"memory": "64Gi", "nvidia.com/gpu": "1"}
ARGUMENTS = [
    f"--ServerApp.base_url={PATH}",
    "--ServerApp.ip=0.0.0.0",
    "--ServerApp.port=8888",
]


def row(spec: RunSpec) -> Run:
    """A run of this spec."""
    return run(spec=to_row(spec))


def manifest(spec: RunSpec) -> dict[str, Any]:
    """The Job of a run of this spec."""
    return InteractiveKind().manifest(row(spec), INSTALLATION)


def container(spec: RunSpec) -> dict[str, Any]:
    """The container of a run of this spec."""
    found: dict[str, Any] = manifest(spec)["spec"]["template"]["spec"]["containers"][0]
    return found


def beside(spec: RunSpec) -> dict[str, Any]:
    """What stands beside a run of this spec, by its kind."""
    return {each.resource.kind: each.body() for each in InteractiveKind().dependents(row(spec))}


DISRUPTED = {"type": "DisruptionTarget", "status": "True"}


def test_a_session_is_a_job_that_serves() -> None:
    token = {"secretKeyRef": {"name": NAME, "key": "token"}}
    pod = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "containers": [
            {
                "name": "main",
                "image": IMAGE,
                "command": ["start-notebook.py", *ARGUMENTS],
                "env": [UNBUFFERED, {"name": "JUPYTER_TOKEN", "valueFrom": token}],
                "ports": [{"name": "http", "containerPort": 8888}],
                "resources": {"requests": {"cpu": "8", **AMOUNTS}, "limits": AMOUNTS},
                "volumeMounts": [],
            }
        ],
        "volumes": [],
    }
    assert manifest(SPEC) == {
        "metadata": {
            "name": "lane-124a67dc90",
            "namespace": "team-a",
            "labels": LABELS,
            "annotations": NAMED,
        },
        "spec": {
            "suspend": True,
            "backoffLimit": 2,
            "podReplacementPolicy": "Failed",
            "podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [DISRUPTED]}]},
            "activeDeadlineSeconds": 25 * 3600,
            "ttlSecondsAfterFinished": 259200,
            "template": {"metadata": {"labels": LABELS, "annotations": NAMED}, "spec": pod},
        },
    }


def test_beside_it_stand_service_and_ingress() -> None:
    made = beside(SPEC)
    backend = {"service": {"name": NAME, "port": {"name": "http"}}}
    path = {"path": PATH, "pathType": "Prefix", "backend": backend}
    assert list(made) == ["Secret", "Service", "Ingress"]
    assert made["Service"] == {
        "spec": {
            "selector": {"quartermaster.dev/run": RUN_ID},
            "ports": [{"name": "http", "port": 80, "targetPort": "http"}],
        }
    }
    assert made["Ingress"] == {
        "spec": {
            "ingressClassName": "nginx",
            "tls": [{"hosts": ["ml.example.com"], "secretName": "ml-tls"}],
            "rules": [{"host": "ml.example.com", "http": {"paths": [path]}}],
        }
    }
    assert {each.name for each in InteractiveKind().dependents(row(SPEC))} == {NAME}


def test_below_a_wildcard_each_has_its_host() -> None:
    wide = replace(SPEC, entrance=Entrance(host="*.ml.test"))
    host = f"{PATH.rpartition('/')[2]}.ml.test"
    made = beside(wide)["Ingress"]["spec"]
    assert (made["tls"], [each["host"] for each in made["rules"]]) == ([{"hosts": [host]}], [host])


def test_a_plain_ingress_says_only_its_host() -> None:
    plain = replace(SPEC, entrance=Entrance(host="ml.test", tls=False))
    assert list(beside(plain)["Ingress"]["spec"]) == ["rules"]
    own = replace(SPEC, entrance=Entrance(host="ml.test"))
    assert beside(own)["Ingress"]["spec"]["tls"] == [{"hosts": ["ml.test"]}]


def test_every_token_is_another_one() -> None:
    first, second = beside(SPEC)["Secret"], beside(SPEC)["Secret"]
    assert first.keys() == {"type", "immutable", "data"}
    assert len(first["data"]["token"]) >= 43
    assert first["data"] != second["data"]


def test_a_shell_has_no_service() -> None:
    assert beside(SHELL) == {}
    assert container(SHELL)["command"] == ["sleep", "infinity"]
    assert container(SHELL)["env"] == [UNBUFFERED]
    assert "ports" not in container(SHELL)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (("jupyter", "lab"), ["jupyter", "lab", *ARGUMENTS]),
        (("/opt/bin/start-notebook.sh",), ["/opt/bin/start-notebook.sh", *ARGUMENTS]),
        (("tensorboard", "--logdir", "/data"), ["tensorboard", "--logdir", "/data"]),
    ],
)
def test_only_jupyter_is_told_its_path(command: tuple[str, ...], expected: list[str]) -> None:
    assert container(replace(SPEC, command=command))["command"] == expected


def test_names_of_services_begin_with_letters() -> None:
    assert service_name(run(job_name="3d-124a67dc90")) == "session-3d-124a67dc90"


@pytest.mark.parametrize("spec", [SPEC, SHELL, replace(SPEC, entrance=Entrance(host="ml.test"))])
def test_all_of_it_fits_the_kubernetes_schema(spec: RunSpec) -> None:
    definitions = {
        "Secret": "core.v1.Secret",
        "Service": "core.v1.Service",
        "Ingress": "networking.v1.Ingress",
    }
    fits(manifest(spec), "batch.v1.Job")
    for kind, body in beside(spec).items():
        fits(body, definitions[kind])
