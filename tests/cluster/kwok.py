"""KWOK in the place of kubelets: nodes that are always ready, and pods that live by pods.yaml."""

from datetime import UTC, datetime
from pathlib import Path

import yaml

from tests.cluster.api import Api, Object
from tests.cluster.building import Built
from tests.cluster.processes import Processes

NAME = "kwok"
POD_SECONDS = "pod.quartermaster.test/seconds"
POD_ENDS = "pod.quartermaster.test/ends"
POD_EXIT_CODE = "pod.quartermaster.test/exit-code"
MANAGED = {"kwok.x-k8s.io/node": "fake"}
_STAGES = Path(__file__).with_name("pods.yaml")
_CONFIGURATION = "kwok.yaml"
_PARALLEL = (
    "nodeLeaseParallelism",
    "nodePlayStageParallelism",
    "podPlayStageParallelism",
    "podsOnNodeSyncParallelism",
)


class Kwok:
    """The controller that plays every node marked as `MANAGED` says."""

    def __init__(self, api: Api, built: Built, processes: Processes, port: int) -> None:
        self._api = api
        self._built = built
        self._processes = processes
        self._port = port

    def start(self) -> None:
        """Creates the stages and starts the controller; nodes become ready soon after."""
        for path in self._built.manifests("kwok/nodes"):
            self._api.create("stages.kwok.x-k8s.io", yaml.safe_load(path.read_text("utf-8")))
        for name, spec in yaml.safe_load(_STAGES.read_text("utf-8")).items():
            self.plays(name, spec)
        configuration = {
            "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
            "kind": "KwokConfiguration",
            "options": {
                "manageNodesWithAnnotationSelector": "kwok.x-k8s.io/node=fake",
                "enableCRDs": ["Stage", "Logs", "ClusterLogs"],
                "enableDebuggingHandlers": True,  # logs are among them
                "cidr": "10.64.0.0/16",
                "nodeIP": "127.0.0.1",
                "nodePort": self._port,
                "tlsCertFile": "server.crt",
                "tlsPrivateKeyFile": "server.key",
                "nodeLeaseDurationSeconds": 40,
                **dict.fromkeys(_PARALLEL, 4),
            },
        }
        folder = self._processes.folder
        (folder / _CONFIGURATION).write_text(yaml.safe_dump(configuration))
        self._processes.start(
            NAME,
            self._built.program("kwok"),
            f"--config={folder / _CONFIGURATION}",
            f"--kubeconfig={folder}/kwok.kubeconfig",
            f"--server-address=127.0.0.1:{self._port}",
        )

    def plays(self, name: str, spec: Object) -> None:
        """Adds a stage of the life of pods; where several fit, `weight` makes one likelier."""
        whole = {"resourceRef": {"apiGroup": "v1", "kind": "Pod"}, **spec}
        stage = {"metadata": {"name": name}, "spec": whole}
        self._api.create("stages.kwok.x-k8s.io", stage)

    def says(self, namespace: str, *lines: str) -> None:
        """Adds lines to the log that all pods of a namespace have."""
        path = self._processes.folder / f"pods-of-{namespace}.log"
        with path.open("a", encoding="utf-8") as log:  # as container runtimes write it
            moment = datetime.now(UTC).isoformat().replace("+00:00", "Z")
            log.writelines(f"{moment} stdout F {line}\n" for line in lines)
        logs = [{"logsFile": str(path), "follow": False}]
        body = {
            "apiVersion": "kwok.x-k8s.io/v1alpha1",
            "kind": "ClusterLogs",
            "metadata": {"name": namespace},
            "spec": {"selector": {"matchNamespaces": [namespace]}, "logs": logs},
        }
        self._api.apply(body)
