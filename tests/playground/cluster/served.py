import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import datetime, timedelta
from threading import Thread
from typing import Any, TypeVar

import httpx
from typing_extensions import override

from playground.clock import VirtualClock
from playground.cluster.cluster import ADMIN_TOKEN, Cluster
from playground.cluster.story import story_cluster
from playground.ledger import Ledger
from playground.loopback import PLAIN_HTTP

BOT_TOKEN = "bot-token"  # noqa: S105 -- opens nothing but this playground
EVERYTHING = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
JOBS = "/apis/batch/v1/namespaces/team-a/jobs"
PODS = "/api/v1/namespaces/team-a/pods"
MAPS = "/api/v1/namespaces/team-a/configmaps"
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
Object = dict[str, Any]
T = TypeVar("T")

PATIENCE_SECONDS = 60
"""How long a test waits for what has to come; a busy machine may take long."""


class StandingClock(VirtualClock):
    """Time that stands still until it is moved, or told to run."""

    def __init__(self) -> None:
        super().__init__()
        self.runs = False
        self._begun = super().now()

    @override
    def now(self) -> datetime:
        return super().now() if self.runs else self._begun + self.offset


class Runner:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)

    @contextmanager
    def running(self) -> Iterator[None]:
        self._thread.start()
        yield
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_SECONDS)
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.begin(work).result(PATIENCE_SECONDS)

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)


class Served:
    """The story's cluster on loopback, with a client for the bot and one for an administrator."""

    def __init__(
        self,
        runner: Runner,
        make: Callable[[VirtualClock, Ledger], Cluster] = story_cluster,
    ) -> None:
        self.runner = runner
        self.clock = StandingClock()
        self.ledger = Ledger()
        self.cluster: Cluster = make(self.clock, self.ledger)
        self.cluster.admit_bot(BOT_TOKEN, [EVERYTHING])
        self.url = ""

    @contextmanager
    def serving(self) -> Iterator["Served"]:
        self.url = self.runner.run(self.cluster.start())
        with self.client(ADMIN_TOKEN) as self.admin, self.client(BOT_TOKEN) as self.bot:
            yield self
        self.runner.run(self.cluster.stop())

    def client(self, token: str) -> httpx.Client:
        headers = {"authorization": f"Bearer {token}"}
        return httpx.Client(
            base_url=self.url, headers=headers, timeout=PATIENCE_SECONDS, verify=PLAIN_HTTP
        )

    def pass_time(self, seconds: float) -> None:
        self.runner.run(self.clock.move_to(self.clock.now() + timedelta(seconds=seconds)))
        self.cluster.settle()

    def until(self, holds: Callable[[], bool]) -> None:
        assert self.runner.run(self.cluster.until(holds, PATIENCE_SECONDS))

    def post(self, path: str, body: Object, **params: str) -> Object:
        return decoded(self.admin.post(path, json=body, params=params))

    def get(self, path: str, **params: str) -> Object:
        return decoded(self.admin.get(path, params=params))

    def patch(self, path: str, body: Any, kind: str = MERGE, **params: str) -> httpx.Response:
        headers = {"content-type": kind}
        return self.admin.patch(path, json=body, headers=headers, params=params)

    def names(self, path: str, **params: str) -> list[str]:
        return [item["metadata"]["name"] for item in self.get(path, **params)["items"]]

    def job(self, name: str = "lane", namespace: str = "team-a") -> Object:
        found = self.cluster.get("jobs", name, namespace)
        assert found is not None
        return found

    def pods(self, job: str = "lane", namespace: str = "team-a") -> list[Object]:
        return [
            pod
            for pod in self.cluster.list("pods", namespace)
            if pod["metadata"].get("labels", {}).get("job-name") == job
        ]

    def workload(self, job: str = "lane", namespace: str = "team-a") -> Object:
        return next(
            found
            for found in self.cluster.list("workloads", namespace)
            if found["metadata"]["name"].startswith(f"job-{job}-")
        )


def decoded(response: httpx.Response) -> Object:
    assert response.status_code < 300, response.text
    body: Object = response.json()
    return body


def refusal(response: httpx.Response) -> tuple[int, str, str]:
    body = response.json()
    return response.status_code, body["reason"], body["message"]


def conditions(obj: Object) -> Mapping[str, tuple[str, str, str]]:
    return {
        row["type"]: (row["status"], row.get("reason", ""), row.get("message", ""))
        for row in obj["status"].get("conditions", ())
    }


def config_map(name: str, **data: str) -> Object:
    return {"metadata": {"name": name}, "data": data}


def pod(name: str, image: str = "busybox:1", **spec: Any) -> Object:
    container = {"name": "main", "image": image, "command": ["sleep", "infinity"]}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}
