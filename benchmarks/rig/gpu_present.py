"""A large cluster as its view shows it, and a Prometheus that knows what its GPUs do."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

from typing_extensions import override

from bot.cluster import labels
from bot.cluster.api.connection import Connection
from bot.cluster.api.credentials import Access
from bot.cluster.cluster import Cluster
from bot.cluster.resources import HOLDERS, NODES, PODS
from bot.cluster.types.objects import (
    Condition,
    Node,
    NodeStatus,
    ObjectMeta,
    PlacedPodSpec,
    Pod,
    PodMeta,
    PodStatus,
)
from bot.cluster.types.quantities import Quantity
from bot.database.columns import new_id
from bot.quotas.engines.opening import watched_with
from bot.training.tables import Run, RunPhase

_GPU, _PER_NODE = "nvidia.com/gpu", 8


def runs(count: int, teams: int) -> list[Run]:
    """As many runs, each on one GPU."""
    now = datetime.now(UTC)
    spec = {"image": "x", "cpu": "8", "memory": "64Gi", "gpus": "1"}
    return [
        Run(
            id=new_id(),
            workspace_id="T0QM",
            team=f"team-{number % teams}",
            name=f"run-{number}",
            number=1,
            person="U0ALICE",
            channel="C0TEAMA",
            cluster="default",
            namespace=f"team-{number % teams}",
            queue="q",
            job_name=f"run-{number}",
            spec=spec,
            asked_at=now,
            since=now,
            phase=RunPhase.RUNNING,
        )
        for number in range(count)
    ]


def cluster(of: list[Run]) -> Cluster:
    """A cluster whose view shows a pod of each run; it cannot be asked anything."""
    known = Cluster("default", Connection(_nothing), "benchmark", watched=watched_with("kueue"))
    view = known.view
    view.store(PODS).replace([_pod(run, number) for number, run in enumerate(of)])
    view.store(NODES).replace([_node(number) for number in range(-(-len(of) // _PER_NODE))])
    view.store(HOLDERS).replace([])
    view.store(PODS).prove()
    view.store(NODES).prove()
    view.store(HOLDERS).prove()
    return known


@contextmanager
def prometheus(of: list[Run]) -> Iterator[str]:
    """The address of what answers as a Prometheus would that measures these runs' GPUs."""

    class Handler(BaseHTTPRequestHandler):
        """Answers a query by what it asks for."""

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            answer = json.dumps(_answer(of, parse_qs(body))).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        @override
        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def _answer(of: list[Run], asked: dict[str, list[str]]) -> dict[str, object]:
    if "start" not in asked:
        found: list[dict[str, object]] = [
            {"metric": {"__name__": "DCGM_FI_PROF_GR_ENGINE_ACTIVE"}, "value": [0, "1"]}
        ]
    elif "kube_" in asked["query"][0]:
        found = []
    else:
        times = range(int(asked["start"][0]), int(asked["end"][0]) + 1, 60)
        figures = {"gpus": "1", "busy": "0.9", "memory_used": "60000", "memory_total": "81920"}
        found = [
            {
                "metric": {
                    "exported_namespace": run.namespace,
                    "exported_pod": f"{run.job_name}-0",
                    "figure": name,
                },
                "values": [[at, value] for at in times],
            }
            for run in of
            for name, value in figures.items()
        ]
    return {"status": "success", "data": {"resultType": "matrix", "result": found}}


def _nothing() -> Access:
    raise RuntimeError("this cluster answers no requests")


def _pod(run: Run, number: int) -> Pod:
    return Pod(
        metadata=PodMeta(
            name=f"{run.job_name}-0",
            namespace=run.namespace,
            uid=f"uid-{run.id}",
            labels={labels.RUN: run.id},
        ),
        spec=PlacedPodSpec(node_name=f"node-{number // _PER_NODE}"),
        status=PodStatus(phase="Running"),
    )


def _node(number: int) -> Node:
    return Node(
        metadata=ObjectMeta(name=f"node-{number}", labels={"nvidia.com/gpu.product": "H100"}),
        status=NodeStatus(
            allocatable={_GPU: Quantity(Decimal(_PER_NODE))},
            conditions=(Condition(type="Ready", status="True"),),
        ),
    )
