"""MLflow servers for the tests: the playground's own, and a real one behind the same ledger."""

import asyncio
import json
import os
import re
import signal
import subprocess
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import urllib3
from typing_extensions import override

from bot.database.columns import new_id
from playground.ledger import Ledger
from playground.loopback import Loopback, reserved_port
from playground.mlflow.app import API, Answering, MlflowApp
from playground.mlflow.store import MlflowStore
from tests.bot.ground import Outside

_CACHE = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser()  # noqa: TID251  # as make
_PROGRAM = _CACHE / "quartermaster/mlflow/venv/bin/python"
_WITHOUT_TELEMETRY = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
_READY = re.compile(r"Application startup complete")


@dataclass(frozen=True)
class Kept:
    """What MLflow keeps of a run; `history` has steps and values of each metric."""

    id: str
    experiment_id: str
    status: str
    end_time: int | None
    params: Mapping[str, str]
    tags: Mapping[str, str]
    history: Mapping[str, list[tuple[int, Any]]]


class Tracking(ABC):
    """An MLflow server, with an experiment for one test and faults by request."""

    def __init__(self, outside: Outside, answering: Answering) -> None:
        self.ledger = Ledger()
        self.app = MlflowApp(answering, self.ledger)
        self.experiment = f"team-a {new_id()}"
        self._loopback = Loopback()
        self._loop = outside.loop
        self.url = self._served()

    def close(self) -> None:
        """Ends the server."""
        asyncio.run_coroutine_threadsafe(self._loopback.close(), self._loop).result(30)

    def effects(self) -> list[str]:
        """The requests that change something, in order."""
        return [each.name for each in self.ledger.requests if each.number is not None]

    def run(self, name: str) -> Kept:
        """The one run of that name."""
        (found,) = (each for each in self.runs() if each.tags["mlflow.runName"] == name)
        return found

    @abstractmethod
    def runs(self) -> list[Kept]:
        """The runs of the test's experiment that are not deleted."""

    @abstractmethod
    def delete_run(self, mlflow_id: str) -> None:
        """Somebody deletes a run in MLflow."""

    @abstractmethod
    def delete_experiment(self) -> None:
        """Somebody deletes the experiment in MLflow."""

    @abstractmethod
    def restore_experiment(self) -> None:
        """Somebody restores it."""

    def _served(self) -> str:
        async def serve() -> str:
            return self._loopback.serve(self.app)

        return asyncio.run_coroutine_threadsafe(serve(), self._loop).result(30)


class PlaygroundTracking(Tracking):
    """The playground's."""

    def __init__(self, outside: Outside) -> None:
        self.store = MlflowStore()
        super().__init__(outside, self.store.answer)

    @override
    def runs(self) -> list[Kept]:
        return [
            Kept(
                run.id, run.experiment_id, run.status, run.end_time, run.params, run.tags,
                {key: run.history(key) for key, *_ in run.metrics},
            )
            for run in self.store.runs.values()
            if run.stage == "active"
        ]  # fmt: skip

    @override
    def delete_run(self, mlflow_id: str) -> None:
        self.store.runs[mlflow_id].stage = "deleted"

    @override
    def delete_experiment(self) -> None:
        self._own.stage = "deleted"

    @override
    def restore_experiment(self) -> None:
        self._own.stage = "active"

    @property
    def _own(self) -> Any:
        found = self.store.experiments.values()
        return next(each for each in found if each.name == self.experiment)


class RealTracking(Tracking):
    """A real server, whose requests go through the ledger, too."""

    def __init__(self, outside: Outside, server: str) -> None:
        self._server = server
        self._pool = urllib3.PoolManager(retries=False)
        super().__init__(outside, self._forward)

    @override
    def close(self) -> None:
        super().close()
        self._pool.clear()

    @override
    def runs(self) -> list[Kept]:
        asked = {"experiment_ids": [self._experiment_id], "max_results": 100}
        found = self._ask("POST", "runs/search", asked).get("runs", [])
        return [self._kept(each) for each in found]

    @override
    def delete_run(self, mlflow_id: str) -> None:
        self._ask("POST", "runs/delete", {"run_id": mlflow_id})

    @override
    def delete_experiment(self) -> None:
        self._ask("POST", "experiments/delete", {"experiment_id": self._experiment_id})

    @override
    def restore_experiment(self) -> None:
        self._ask("POST", "experiments/restore", {"experiment_id": self._experiment_id})

    @property
    def _experiment_id(self) -> str:
        asked = {"experiment_name": self.experiment}
        found = self._ask("GET", "experiments/get-by-name", asked)
        return str(found["experiment"]["experiment_id"])

    def _kept(self, found: Mapping[str, Any]) -> Kept:
        info, data = found["info"], found["data"]
        keys = [each["key"] for each in data.get("metrics", [])]
        pairs = {
            part: {each["key"]: each["value"] for each in data.get(part, [])}
            for part in ("params", "tags")
        }
        history = {key: self._history(info["run_id"], key) for key in keys}
        return Kept(
            info["run_id"], info["experiment_id"], info["status"], info.get("end_time"),
            pairs["params"], pairs["tags"], history,
        )  # fmt: skip

    def _history(self, mlflow_id: str, key: str) -> list[tuple[int, Any]]:
        asked = {"run_id": mlflow_id, "metric_key": key, "max_results": 25_000}
        found = self._ask("GET", "metrics/get-history", asked)["metrics"]
        return sorted((int(each.get("step", 0)), each["value"]) for each in found)

    def _ask(self, method: str, operation: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        status, body = self._forward(method, operation, asked)
        assert status == 200, body
        return dict(body)

    def _forward(
        self, method: str, operation: str, asked: Mapping[str, Any]
    ) -> tuple[int, Mapping[str, Any]]:
        given: dict[str, Any] = {"json": asked} if method == "POST" else {"fields": asked}
        answer = self._pool.request(method, f"{self._server}{API}{operation}", **given)
        return answer.status, json.loads(answer.data)


@contextmanager
def real_server(folder: Path) -> Iterator[str]:
    """The address of a real MLflow server; skips where it is not installed."""
    if not _PROGRAM.exists():
        pytest.skip("MLflow's server is not installed; `make test-mlflow` installs it")
    with reserved_port() as port:
        process = subprocess.Popen(
            [
                str(_PROGRAM), "-m", "mlflow", "server", "--host", "127.0.0.1",
                "--port", str(port), "--workers", "1",
                "--backend-store-uri", f"sqlite:///{folder}/mlflow.db",
                "--default-artifact-root", str(folder / "artifacts"),
            ],
            cwd=folder,
            env=dict(os.environ) | _WITHOUT_TELEMETRY,  # noqa: TID251  # it needs a PATH
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )  # fmt: skip
        assert process.stdout is not None
        # It reports each request, and would wait once nobody reads that any more.
        reader = threading.Thread(target=process.stdout.read, daemon=True)
        try:
            _await_ready(process)
            reader.start()
            yield f"http://127.0.0.1:{port}"
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(60)
            if reader.ident is not None:
                reader.join(60)
            process.stdout.close()


def _await_ready(process: "subprocess.Popen[str]") -> None:
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if _READY.search(line):
            return
    raise RuntimeError(f"MLflow ended before it was ready: {''.join(said[-20:])}")
