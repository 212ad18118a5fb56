"""The MLflow server of a world."""

from typing import Any

from playground.ledger import Ledger
from playground.mlflow.app import MlflowApp
from playground.mlflow.store import MlflowRun, MlflowStore


class Mlflow:
    """Serves one tracking server once it has an address."""

    def __init__(self, ledger: Ledger) -> None:
        self.store = MlflowStore()
        self.app = MlflowApp(self.store.answer, ledger)
        self.url = ""

    @property
    def runs(self) -> dict[str, MlflowRun]:
        """Its runs by name; of runs with the same name the newest."""
        return {run.name: run for run in self.store.runs.values()}

    def go_down(self) -> None:
        """It answers nobody any more."""
        self.app.is_away = True

    def come_back(self) -> None:
        """It answers again."""
        self.app.is_away = False

    def settings(self) -> dict[str, Any]:
        """What the bot is told of it."""
        return {"mlflow": {"url": self.url}}
