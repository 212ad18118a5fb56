"""The playground's Run:ai on loopback, with a node pool and the projects of two teams."""

import asyncio
import threading
from collections.abc import Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from bot.config import RunaiSettings
from playground.ledger import Ledger
from playground.loopback import Loopback
from playground.runai.app import RunaiApp
from playground.runai.estate import CLIENT, CLUSTER, SECRET

T = TypeVar("T")

POOL = "h100"
LABEL = ("nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3")
NOON = datetime(2026, 11, 21, 12, 0, 17, tzinfo=UTC)


class ControlPlane:
    """One tenant, served from a thread of its own; its time moves by hand."""

    def __init__(self, folder: Path) -> None:
        self.moment = NOON
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._servers = Loopback()
        self.ledger = Ledger()
        self.app = RunaiApp(self.ledger, lambda: self.moment)
        self.tenant = self.app.tenant
        self.tenant.add_node_pool(POOL, LABEL)
        self.tenant.add_project("team-a", {POOL: 4}, namespace="team-a")
        self.tenant.add_project("team-b", {POOL: 8}, namespace="team-b")
        self.secret_file = folder / "client-secret"
        self.secret_file.write_text(f"{SECRET}\n")
        self.url = self._run(self._serve())

    def settings(self, **more: Any) -> RunaiSettings:
        """What the configuration says of it."""
        usual = {
            "url": self.url,
            "cluster_id": CLUSTER,
            "client_id": CLIENT,
            "client_secret_file": str(self.secret_file),
        }
        return RunaiSettings.model_validate(usual | more)

    def asked(self) -> list[str]:
        """The requests that reached it, in order."""
        return [each.name for each in self.ledger.requests]

    def close(self) -> None:
        """Ends the server."""
        self._run(self._servers.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()

    async def _serve(self) -> str:
        return self._servers.serve(self.app)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)


def workload(name: str, project: str, gpus: float, **more: Any) -> dict[str, Any]:
    """A workload that waits, as the REST API returns it."""
    return {
        "id": f"id-of-{name}",
        "name": name,
        "type": "Job",
        "namespace": project,
        "projectName": project,
        "clusterId": CLUSTER,
        "phase": "Pending",
        "priority": 50,
        "createdAt": "2026-11-21T11:58:00.000Z",
        "workloadRequestedResources": {"gpu": {"request": gpus, "limit": None}},
        "allocatedResources": {},
        **more,
    }
