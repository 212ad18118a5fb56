"""Kueue's controller on loopback: its webhooks and its visibility API are reached as Services.

The Services are of type ExternalName for `localhost`, which the API server follows where it
calls webhooks and aggregated APIs; endpoints on loopback it would refuse.
"""

import base64
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.api import Api, Object, wait_for
from tests.cluster.building import Built
from tests.cluster.processes import Processes

NAMESPACE = "kueue-system"
NAME = "kueue"
_WEBHOOK_SERVICE, _VISIBILITY_SERVICE = "kueue-webhook-service", "visibility-server"
_SECRET, _CERTIFICATES = "kueue-webhook-server-cert", "kueue-certificates"
_CONFIGURATION = "kueue.yaml"
# As Kueue's own kustomization: what runs the cluster itself is not looked at.
_NOT_OURS: Mapping[str, Any] = {
    "matchExpressions": [
        {
            "key": "kubernetes.io/metadata.name",
            "operator": "NotIn",
            "values": ["kube-system", NAMESPACE],
        }
    ]
}
_OWN_KINDS = frozenset(
    {"clusterqueue", "cohort", "localqueue", "resourceflavor", "workload", "topology"}
)
_CONVERTED = ("clusterqueues", "cohorts", "localqueues", "multikueueclusters", "workloads")
FRAMEWORKS = (
    "batch/job",
    "kubeflow.org/mpijob",
    "ray.io/rayjob",
    "ray.io/raycluster",
    "ray.io/rayservice",
    "jobset.x-k8s.io/jobset",
    "workload.codeflare.dev/appwrapper",
    "trainer.kubeflow.org/trainjob",
    "pod",
    "deployment",
    "statefulset",
    "leaderworkerset.x-k8s.io/leaderworkerset",
)


class Kueue:
    """The controller of one control plane; it manages the kinds that it does by default."""

    def __init__(
        self, api: Api, built: Built, processes: Processes, ports: tuple[int, int, int]
    ) -> None:
        self._api = api
        self._built = built
        self._processes = processes
        self._webhooks, self._visibility, self._health = ports
        self._launched = datetime.now(UTC)
        self.starts: list[tuple[datetime, datetime]] = []

    def install(self) -> None:
        """Creates what the controller needs to be there, its resource definitions excepted."""
        self._api.create("namespaces", {"metadata": {"name": NAMESPACE}})
        for name in (_WEBHOOK_SERVICE, _VISIBILITY_SERVICE):
            spec = {"type": "ExternalName", "externalName": "localhost"}
            self._api.create("services", {"metadata": {"name": name}, "spec": spec}, NAMESPACE)
        self._api.create("secrets", {"metadata": {"name": _SECRET}}, NAMESPACE)
        for body in [*self._roles(), *self._webhook_configurations(), *self._api_services()]:
            self._api.apply(body)
        for plural in _CONVERTED:
            definition = f"{plural}.kueue.x-k8s.io"
            webhook = {"clientConfig": self._client("/convert"), "conversionReviewVersions": ["v1"]}
            change = {"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}}
            self._api.patch("customresourcedefinitions.apiextensions.k8s.io", definition, change)

    def configure(self, **settings: Any) -> None:
        """Starts the controller, or starts it anew, with these settings over the usual ones.

        `fairSharing={...}` for one; see Kueue's Configuration of config.kueue.x-k8s.io/v1beta2.
        Returns when webhooks and visibility answer.
        """
        if (self._processes.folder / _CONFIGURATION).exists():
            self.stop()
        document = {**self._configuration(), **settings}
        (self._processes.folder / _CONFIGURATION).write_text(yaml.safe_dump(document))
        self.launch()
        self.wait_until_it_answers()

    def stop(self) -> None:
        """Ends the controller: its webhooks, which every Job has to pass, answer no more."""
        self._processes.stop(NAME)

    def launch(self) -> None:
        """Starts it as it was configured last; it answers some seconds later."""
        self._launched = datetime.now(UTC)
        program, folder = self._built.program("kueue"), self._processes.folder
        self._processes.start(
            NAME, program, f"--config={_CONFIGURATION}", f"--kubeconfig={folder}/kueue.kubeconfig"
        )

    def wait_until_it_answers(self) -> None:
        """Returns when webhooks and visibility do."""
        mount_secret(self._api, _SECRET, NAMESPACE, self._processes.folder / _CERTIFICATES)
        wait_for(self._answers, "Kueue's webhooks and visibility")
        self.starts.append((self._launched, datetime.now(UTC)))

    def _configuration(self) -> Object:
        return {
            "apiVersion": "config.kueue.x-k8s.io/v1beta2",
            "kind": "Configuration",
            "namespace": NAMESPACE,
            "health": {"healthProbeBindAddress": f"127.0.0.1:{self._health}"},
            "metrics": {"bindAddress": "0"},
            "webhook": {
                "host": "127.0.0.1",
                "port": self._webhooks,
                "certDir": str(self._processes.folder / _CERTIFICATES),
            },
            "visibilityServer": {"bindAddress": "127.0.0.1", "bindPort": self._visibility},
            "leaderElection": {"leaderElect": False},
            "clientConnection": {"qps": 200, "burst": 400},
            "internalCertManagement": {
                "enable": True,
                "webhookServiceName": _WEBHOOK_SERVICE,
                "webhookSecretName": _SECRET,
            },
            "integrations": {"frameworks": list(FRAMEWORKS)},
        }

    def _answers(self) -> bool:
        ended = self._processes.ended()
        assert ended is None, ended
        ready = self._api.serves("clusterqueues.visibility.kueue.x-k8s.io")
        return ready and self._accepts()

    def _accepts(self) -> bool:
        """Whether a ClusterQueue would be let in, which all kinds of webhooks have a say in."""
        body = {
            "apiVersion": "kueue.x-k8s.io/v1beta1",
            "kind": "ClusterQueue",
            "metadata": {"name": "probe"},
            "spec": {"namespaceSelector": {}},
        }
        path = "/apis/kueue.x-k8s.io/v1beta1/clusterqueues?dryRun=All"
        return self._api.client.post(path, json=body).is_success

    def _client(self, path: str) -> Object:
        place = {"name": _WEBHOOK_SERVICE, "namespace": NAMESPACE, "port": self._webhooks}
        return {"service": {**place, "path": path}}

    def _webhook_configurations(self) -> Iterator[Object]:
        (path,) = self._built.manifests("kueue/webhooks")
        for body in yaml.safe_load_all(path.read_text("utf-8")):
            body["metadata"]["name"] = f"kueue-{body['metadata']['name']}"
            for webhook in body["webhooks"]:
                webhook["clientConfig"] = self._client(webhook["clientConfig"]["service"]["path"])
                if webhook["name"].partition(".")[0][1:] not in _OWN_KINDS:
                    webhook["namespaceSelector"] = dict(_NOT_OURS)
            yield body

    def _api_services(self) -> Iterator[Object]:
        for path in self._built.manifests("kueue/visibility"):
            body = yaml.safe_load(path.read_text("utf-8"))
            body["spec"]["service"]["port"] = self._visibility
            yield body

    def _roles(self) -> Iterator[Object]:
        """The ClusterRoles that Kueue adds to Kubernetes' own view, edit and admin."""
        for path in self._built.manifests("kueue/roles"):
            body = yaml.safe_load(path.read_text("utf-8"))
            if body["kind"] == "ClusterRole":
                body["metadata"]["name"] = f"kueue-{body['metadata']['name']}"
                yield body


def mount_secret(api: Api, name: str, namespace: str, folder: Path) -> None:
    """Does what a kubelet does: the Secret that a controller fills becomes files."""

    def filled() -> Object:
        found = api.get("secrets", name, namespace) or {}
        data: Object = found.get("data", {})
        return data if "tls.crt" in data else {}

    folder.mkdir(parents=True, exist_ok=True)
    for file, content in sorted(wait_for(filled, f"the Secret {name}").items(), reverse=True):
        (folder / file).write_bytes(base64.b64decode(content))
