"""Decides the next step of an export. Pure: no I/O."""

from dataclasses import dataclass

from bot.training.mlflow.client import Batch, Experiment
from bot.training.mlflow.content import Description, NewMetrics, status_of
from bot.training.mlflow.tables import MlflowExport
from bot.training.tables import Run


@dataclass(frozen=True)
class ExportObserved:
    """What MLflow has of a run whose id there is not known yet."""

    experiment: Experiment | None = None
    mlflow_id: str | None = None


@dataclass(frozen=True)
class CreateExperiment:
    """Create the team's experiment."""


@dataclass(frozen=True)
class CreateRun:
    """Create the run in this experiment."""

    experiment_id: str


@dataclass(frozen=True)
class Adopt:
    """The run is there: keep its id."""

    experiment_id: str
    mlflow_id: str


@dataclass(frozen=True)
class Log:
    """Write a batch; `described` and `written` is what MLflow has then."""

    batch: Batch
    described: str | None = None
    written: dict[str, list[int]] | None = None


@dataclass(frozen=True)
class SetStatus:
    """Set the status and the end."""

    status: str


@dataclass(frozen=True)
class Restore:
    """The experiment is deleted, so nothing can be written to it."""


@dataclass(frozen=True)
class Refuse:
    """MLflow takes no more of the run, for the reason in this sentence."""

    why: str


@dataclass(frozen=True)
class Rest:
    """MLflow has all that there is now."""


Decision = CreateExperiment | CreateRun | Adopt | Log | SetStatus | Restore | Refuse | Rest


def decide(
    export: MlflowExport,
    run: Run,
    observed: ExportObserved,
    description: Description,
    metrics: NewMetrics | None,
) -> Decision:
    """The next step: at most one request that changes something."""
    if not export.mlflow_id:
        return _begin(observed)
    if export.described != description.digest:
        return Log(description.batch, described=description.digest)
    if metrics is not None:
        return Log(Batch(metrics=metrics.metrics), written=metrics.written)
    status = status_of(run)
    return SetStatus(status) if export.status != status else Rest()


def _begin(observed: ExportObserved) -> Decision:
    experiment = observed.experiment
    if experiment is None:
        return CreateExperiment()
    if observed.mlflow_id is not None:
        return Adopt(experiment.id, observed.mlflow_id)
    return Restore() if experiment.is_deleted else CreateRun(experiment.id)
