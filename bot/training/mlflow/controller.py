"""The controller of exports: writes to MLflow what it lacks of a run, one request at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock

from sqlmodel import Session
from typing_extensions import override

from bot.config import Mlflow
from bot.errors import TrackingError
from bot.reconcile.controller import Step, Trouble
from bot.reconcile.frame import ControllerContext, Findings, Reconciler
from bot.slack.messages import refresh_cards
from bot.training import finding
from bot.training.mlflow.client import MlflowClient, NewRun
from bot.training.mlflow.content import (
    RUNNING,
    description_of,
    milliseconds,
    new_metrics,
)
from bot.training.mlflow.decide import (
    Adopt,
    CreateExperiment,
    CreateRun,
    Decision,
    ExportObserved,
    Log,
    Refuse,
    Rest,
    Restore,
    SetStatus,
    decide,
)
from bot.training.mlflow.tables import EXPORT, ExportPhase, MlflowExport
from bot.training.series.service import series_of
from bot.training.series.tables import RunSeries
from bot.training.tables import Run
from bot.training.wording import name_of

_AGAIN = timedelta(minutes=10)
"""When to look again at a run that changes without waking its export."""

_HOPELESS = {"RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE", "INVALID_STATE"}


@dataclass(frozen=True)
class _ExportRows:
    """An export with its run, the run's series and the name of its owner."""

    export: MlflowExport
    run: Run
    series: Sequence[RunSeries]
    owner: str


class ExportController(Reconciler[_ExportRows, ExportObserved, Decision]):
    """Reconciles exports with the MLflow server of the current settings."""

    kind = EXPORT
    table, phases = MlflowExport, ExportPhase

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._clients = _Clients()

    @override
    def load(self, session: Session, row_id: str) -> _ExportRows | None:
        export, run = self.known(session, row_id), finding.by_id(session, row_id)
        if export is None or run is None:
            return None
        owner = name_of(session, run.workspace_id, run.person)
        return _ExportRows(export, run, series_of(session, run.id), owner)

    @override
    def reconcile(self, row: _ExportRows, now: datetime) -> Step:
        """Takes the next step, unless the settings name no server now."""
        return Step(now + _AGAIN) if self._settings is None else super().reconcile(row, now)

    @override
    def observe(self, row: _ExportRows, now: datetime) -> ExportObserved:
        if row.export.mlflow_id:
            return ExportObserved()
        client, settings = self._client(), self._known_settings()
        experiment = client.experiment(settings.experiment_of(row.run.team))
        if experiment is None:
            return ExportObserved()
        return ExportObserved(experiment, client.find_run(experiment.id, row.run.id))

    @override
    def decide(self, row: _ExportRows, observed: ExportObserved, now: datetime) -> Decision:
        description = description_of(row.run, row.owner)
        metrics = new_metrics(row.series, row.export.written)
        return decide(row.export, row.run, observed, description, metrics)

    @override
    def act(self, row: _ExportRows, observed: ExportObserved, decision: Decision) -> Decision:
        client, run, mlflow_id = self._client(), row.run, row.export.mlflow_id
        experiment = self._known_settings().experiment_of(run.team)
        match decision:
            case CreateExperiment():
                client.create_experiment(experiment)
            case CreateRun(experiment_id):
                started = milliseconds(run.started_at or run.asked_at)
                new = NewRun(experiment_id, run.id, run.reference, row.owner, started)
                return Adopt(experiment_id, client.create_run(new))
            case Log() | SetStatus():
                return _written(client, mlflow_id, run, decision)
            case Restore():
                raise TrackingError(
                    f"The experiment {experiment} is deleted in MLflow.",
                    "Restore it there, or name another one in mlflow.experiments.",
                )
            case _:
                pass
        return decision

    @override
    def record(
        self, session: Session, row: _ExportRows, found: Findings[Decision, ExportObserved]
    ) -> None:
        export = session.get(MlflowExport, row.run.id)
        run = finding.by_id(session, row.run.id)
        if export is None or run is None:
            return
        export.trouble = ""
        match found.decision:
            case Adopt(experiment_id, mlflow_id):
                export.experiment_id, export.mlflow_id = experiment_id, mlflow_id
                export.status = RUNNING
                run.mlflow_url = self._client().link(experiment_id, mlflow_id)
                refresh_cards(session, run.subject, live=run.is_live)
            case Log(_, described, written):
                export.described = described or export.described
                export.written = written or export.written
            case SetStatus(status):
                export.status = status
            case Refuse(why):
                export.phase, export.trouble = ExportPhase.REFUSED, why
            case Rest() if not row.run.is_live:
                export.phase = ExportPhase.ENDED
            case _:
                pass
        session.add(export)

    @override
    def next_look(
        self, row: _ExportRows, found: Findings[Decision, ExportObserved]
    ) -> datetime | None:
        if isinstance(found.decision, Refuse):
            return None
        if not isinstance(found.decision, Rest):
            return found.now
        return found.now + _AGAIN if row.run.is_live else None

    @override
    def on_failure(self, session: Session, row_id: str, trouble: Trouble, /) -> None:
        """Keeps why steps fail, for the record of the run; its card shows the run only."""
        export = session.get(MlflowExport, row_id)
        if export is not None and trouble.is_lasting and export.trouble != trouble.sentence:
            export.trouble = trouble.sentence
            session.add(export)

    @property
    def _settings(self) -> Mlflow | None:
        return self._context.settings().mlflow

    def _known_settings(self) -> Mlflow:
        settings = self._settings
        if settings is None:
            raise TrackingError("mlflow is no longer in quartermaster.yaml.", "Retrying.")
        return settings

    def _client(self) -> MlflowClient:
        return self._clients.of(self._known_settings())


def _written(client: MlflowClient, mlflow_id: str, run: Run, decision: Log | SetStatus) -> Decision:
    """Writes to a run; one that was deleted in MLflow, or what it does not take, is given up."""
    try:
        if isinstance(decision, Log):
            client.log(mlflow_id, decision.batch)
        else:
            ended = milliseconds(run.ended_at) if run.ended_at is not None else None
            client.update(mlflow_id, decision.status, ended)
    except TrackingError as error:
        if error.code in _HOPELESS:
            return Refuse(error.message)
        raise
    return decision


class _Clients:
    """The client of the current settings, which people may change at any time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._settings: Mlflow | None = None
        self._client: MlflowClient | None = None

    def of(self, settings: Mlflow) -> MlflowClient:
        with self._lock:
            if self._client is None or self._settings != settings:
                self._client, self._settings = MlflowClient(settings), settings
            return self._client
