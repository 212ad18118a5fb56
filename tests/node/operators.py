"""The operators of the kinds that Kubernetes does not have, with their webhooks on.

They run in the network namespace of node 1, where no port of this machine is in their way, and each
in a mount namespace, as all of them look for their certificates in the same folder.
"""

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.api import Api, Object, wait_for
from tests.cluster.building import Built
from tests.cluster.control_plane import ControlPlane
from tests.cluster.kueue import FRAMEWORKS, mount_secret
from tests.node.building import Nodes
from tests.node.network import Network

_PLACE = Path("/tmp/k8s-webhook-server")  # noqa: S108  # the operators' own
_MOUNTED = 'mkdir -p "$1" && mount --bind "$0" "$1" && shift && exec "$@"'
_HEALTH = 8000


@dataclass(frozen=True)
class Operator:
    """One with webhooks: they are reached by a Service, with the certificate of a Secret.

    `probe` is an object that its webhooks let in.
    """

    name: str
    program: str
    namespace: str
    service: str
    secret: str
    webhooks: str
    port: int
    kinds: str  # what the paths of the webhooks that it serves end with
    called: tuple[str, str]  # how its MutatingWebhookConfiguration and the other are called
    probe: tuple[str, Object]


_POD = {"containers": [{"name": "node", "image": "localhost/plain:1"}], "restartPolicy": "Never"}
_JOB = {"template": {"spec": _POD}}
JOBSET = Operator(
    "jobset",
    "jobset",
    "jobset-system",
    "jobset-webhook-service",
    "jobset-webhook-server-cert",
    "jobset/webhooks",
    9441,
    "",
    ("jobset-mutating-webhook-configuration", "jobset-validating-webhook-configuration"),
    (
        "jobsets.jobset.x-k8s.io",
        {"replicatedJobs": [{"name": "node", "template": {"spec": _JOB}}]},
    ),
)
TRAINER = Operator(
    "trainer",
    "trainer-controller-manager",
    "kubeflow-system",
    "kubeflow-trainer-controller-manager",
    "kubeflow-trainer-webhook-cert",
    "trainer/webhooks",
    9442,
    "",
    ("defaulter.trainer.kubeflow.org", "validator.trainer.kubeflow.org"),
    (
        "clustertrainingruntimes.trainer.kubeflow.org",
        {
            "mlPolicy": {"numNodes": 1},
            "template": {
                "spec": {
                    "replicatedJobs": [
                        {
                            "name": "node",
                            "template": {
                                "metadata": {
                                    "labels": {
                                        "trainer.kubeflow.org/trainjob-ancestor-step": "trainer"
                                    }
                                },
                                "spec": _JOB,
                            },
                        }
                    ]
                }
            },
        },
    ),
)
TRAINING = Operator(
    "training-operator",
    "training-operator.v1",
    "kubeflow",
    "training-operator",
    "training-operator-webhook-cert",
    "training/webhooks",
    9443,
    "pytorchjob",
    ("", "validator.training-operator.kubeflow.org"),
    (
        "pytorchjobs.kubeflow.org",
        {
            "pytorchReplicaSpecs": {
                "Worker": {
                    "replicas": 1,
                    "template": {"spec": {"containers": [{"name": "pytorch", "image": "x"}]}},
                }
            }
        },
    ),
)
WITH_WEBHOOKS = (JOBSET, TRAINER, TRAINING)


def start(plane: ControlPlane, network: Network, plane_built: Built, built: Nodes) -> None:
    """Starts them, and Kueue anew so that it manages their kinds; returns when all answer."""
    _start_mpi(plane, network, built)
    for number, operator in enumerate(WITH_WEBHOOKS):
        _prepare(plane, network, plane_built, operator)
        _run(plane, network, built, operator, _HEALTH + number)
    plane.kueue.configure(integrations={"frameworks": [*FRAMEWORKS, "kubeflow.org/pytorchjob"]})
    with ThreadPoolExecutor(len(WITH_WEBHOOKS)) as pool:
        for _ in pool.map(lambda operator: _wait(plane, operator), WITH_WEBHOOKS):
            pass
    for path in plane_built.manifests("trainer/runtimes"):
        plane.api.apply(yaml.safe_load(path.read_text("utf-8")))


def clear() -> None:
    """Removes the empty folder that certificates were mounted on."""
    with contextlib.suppress(OSError):
        _PLACE.rmdir()


def _start_mpi(plane: ControlPlane, network: Network, built: Nodes) -> None:
    """It has no webhooks."""
    program = str(built.programs / "mpi-operator")
    limits = ("-kube-api-qps=50", "-kube-api-burst=100")
    kubeconfig = str(plane.folder / "operators.kubeconfig")
    lock = ("-lock-namespace", "kube-system")
    plane.run(
        "mpi-operator", *network.inside(1), program, "-kubeConfig", kubeconfig, *lock, *limits
    )


def _prepare(plane: ControlPlane, network: Network, built: Built, operator: Operator) -> None:
    api, namespace = plane.api, operator.namespace
    api.create("namespaces", {"metadata": {"name": namespace}})
    spec = {"type": "ExternalName", "externalName": network.address(1)}
    api.create("services", {"metadata": {"name": operator.service}, "spec": spec}, namespace)
    api.create("secrets", {"metadata": {"name": operator.secret}}, namespace)
    for body in _webhook_configurations(built, operator):
        api.apply(body)


def _webhook_configurations(built: Built, operator: Operator) -> Iterator[Object]:
    (path,) = built.manifests(operator.webhooks)
    for body in yaml.safe_load_all(path.read_text("utf-8")):
        is_validating = body["kind"].startswith("Validating")
        body["metadata"]["name"] = operator.called[is_validating]
        webhooks = [each for each in body["webhooks"] if _path(each).endswith(operator.kinds)]
        for webhook in webhooks:
            webhook["clientConfig"] = {
                "service": {
                    "name": operator.service,
                    "namespace": operator.namespace,
                    "port": operator.port,
                    "path": _path(webhook),
                }
            }
            if _path(webhook).endswith("-v1-pod"):  # as JobSet's own kustomization
                named = {"key": "jobset.sigs.k8s.io/jobset-name", "operator": "Exists"}
                webhook["objectSelector"] = {"matchExpressions": [named]}
        yield body | {"webhooks": webhooks}


def _path(webhook: Object) -> str:
    path: str = webhook["clientConfig"]["service"]["path"]
    return path


def _run(
    plane: ControlPlane, network: Network, built: Nodes, operator: Operator, health: int
) -> None:
    certificates = _certificates(plane, operator)
    certificates.mkdir(parents=True)
    place = (str(certificates.parent), str(_PLACE))
    command = (*network.inside(1), "unshare", "--mount", "sh", "-c", _MOUNTED, *place)
    program = str(built.programs / operator.program)
    arguments = _arguments(plane, operator, health)
    kubeconfig = {"KUBECONFIG": str(plane.folder / "operators.kubeconfig")}
    plane.run(operator.name, *command, program, *arguments, environment=kubeconfig)


def _arguments(plane: ControlPlane, operator: Operator, health: int) -> list[str]:
    if operator is TRAINING:
        return [
            f"--webhook-server-port={operator.port}",
            f"--health-probe-bind-address=:{health}",
            "--metrics-bind-address=0",
            "--enable-scheme=pytorchjob",
        ]
    names = {"webhookServiceName": operator.service, "webhookSecretName": operator.secret}
    document: dict[str, Any] = {
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": f":{health}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"port": operator.port},
        "leaderElection": {"leaderElect": False},
    }
    if operator is JOBSET:
        document["apiVersion"] = "config.jobset.x-k8s.io/v1alpha1"
        document["internalCertManagement"] = {"enable": True, **names}
    else:
        document["apiVersion"] = "config.trainer.kubeflow.org/v1alpha1"
        document["certManagement"] = {"enable": True, **names}
    path = plane.folder / f"{operator.name}.yaml"
    path.write_text(yaml.safe_dump(document))
    return [f"--config={path}"]


def _wait(plane: ControlPlane, operator: Operator) -> None:
    """Gives it the certificate that it makes; returns when its webhooks let the probe in."""
    certificates = _certificates(plane, operator)
    mount_secret(plane.api, operator.secret, operator.namespace, certificates)
    resource, spec = operator.probe
    body = {"metadata": {"name": "probe"}, "spec": spec}

    def is_let_in() -> bool:
        return _is_let_in(plane.api, resource, body)

    try:
        wait_for(is_let_in, f"the webhooks of {operator.name}")
    except AssertionError as error:
        raise AssertionError(f"{error}\n{plane.log_tail(operator.name)}") from None


def _is_let_in(api: Api, resource: str, body: Object) -> bool:
    served = api.served(resource)
    space = "/namespaces/default" if served.namespaced else ""
    whole = {"apiVersion": served.api_version, "kind": served.kind, **body}
    path = f"{served.path}{space}/{served.plural}?dryRun=All"
    return api.client.post(path, json=whole).is_success


def _certificates(plane: ControlPlane, operator: Operator) -> Path:
    return plane.folder / f"{operator.name}-webhooks" / "serving-certs"
