"""Begins the exports of runs to MLflow, and continues them with each change."""

from collections.abc import Callable
from datetime import datetime

from sqlmodel import Session

from bot.config import Settings
from bot.reconcile.due import wake
from bot.training.mlflow.tables import EXPORT, LANE, ExportPhase, MlflowExport
from bot.training.spec import is_trained
from bot.training.tables import Run


class ExportService:
    """Knows which runs are exported by the current settings."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self._settings = settings

    def note(self, session: Session, run: Run, now: datetime) -> None:
        """Has a run that has started and changed exported, if the settings say so."""
        mlflow = self._settings().mlflow
        if mlflow is None or not mlflow.takes(run.team) or run.started_at is None:
            return
        if not is_trained(run):
            return
        row = session.get(MlflowExport, run.id)
        if row is None:
            session.add(MlflowExport(run_id=run.id, begun_at=now))
        elif row.is_cleared or row.trouble:  # repeated steps get their time from the due loop
            return
        wake(session, EXPORT, run.id, LANE, now)

    def trouble(self, session: Session, run: Run) -> str:
        """Why the export of a run does not go on; empty if it does, or if it is not exported."""
        row = session.get(MlflowExport, run.id)
        if row is None or not row.trouble:
            return ""
        is_over = row.phase == ExportPhase.REFUSED
        return f"{row.trouble} {'It is not exported any more.' if is_over else 'Retrying.'}"
