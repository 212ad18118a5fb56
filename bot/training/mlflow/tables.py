"""The table of exports: what an MLflow server has of each run."""

from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import JSON
from sqlmodel import Field, SQLModel

from bot.database.columns import Moment

EXPORT = "mlflow-export"
LANE = "mlflow"


class ExportPhase(StrEnum):
    """The phase of an export; REFUSED ones are given up."""

    LIVE = "live"
    ENDED = "ended"
    REFUSED = "refused"


class MlflowExport(SQLModel, table=True):
    """How far a run was exported to MLflow.

    `mlflow_id` is its id there, in the experiment `experiment_id`; empty until it exists. `written`
    has for each metric how many of its values were passed, the first of which is at 0, and whether
    the program reported it. `described` is the digest of the parameters and tags that MLflow has,
    `status` the status.
    """

    __tablename__: ClassVar[Any] = "mlflow_exports"

    run_id: str = Field(primary_key=True, foreign_key="runs.id")
    begun_at: datetime = Field(sa_type=Moment)
    phase: str = ExportPhase.LIVE
    experiment_id: str = ""
    mlflow_id: str = ""
    described: str = ""
    status: str = ""
    written: dict[str, list[int]] = Field(default_factory=dict, sa_type=JSON)
    trouble: str = ""

    @property
    def is_cleared(self) -> bool:
        """Whether nothing is left to do."""
        return self.phase != ExportPhase.LIVE
