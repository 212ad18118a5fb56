"""The table of metrics: a row for each series of a run."""

from typing import Any, ClassVar

from sqlmodel import Field, SQLModel

from bot.training.series.points import Series, packed, unpacked


class RunSeries(SQLModel, table=True):
    """The kept points of one metric of a run.

    `is_reported` if the program reported it, which takes precedence over what its output says.
    `place` is the order in which the metrics of the run were first seen.
    """

    __tablename__: ClassVar[Any] = "run_series"

    run_id: str = Field(primary_key=True, foreign_key="runs.id")
    name: str = Field(primary_key=True)
    place: int
    is_reported: bool = False
    count: int = 0
    every: int = 1
    points: bytes = b""

    def series(self) -> Series:
        """Its points."""
        return unpacked(self.count, self.every, self.points) if self.points else Series()

    def set_series(self, series: Series) -> None:
        """Replaces its points."""
        self.count, self.every, self.points = series.count, series.every, packed(series)
