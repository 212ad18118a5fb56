"""GPU usage as numbers that add up: GPU-hours allocated, measured, busy and idle."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Self

# Amounts are thousandths of a GPU-minute.
WHOLE = 1000
_HOUR = 60 * WHOLE


@dataclass(frozen=True, slots=True)
class Amounts:
    """GPU usage in a time, in thousandths of a GPU-minute; memory in MiB-minutes.

    `measured` is the part of `allocated` with known usage. Of that, `busy` is the time in which
    anything ran, and `idle` are the minutes of GPUs on which nothing ran. The rest of `allocated`
    is unknown: neither busy nor idle.
    """

    allocated: int = 0
    measured: int = 0
    busy: int = 0
    idle: int = 0
    memory_used: int = 0
    memory_total: int = 0

    def __add__(self, other: Self) -> Self:
        """The sum of both."""
        return type(self)(
            self.allocated + other.allocated,
            self.measured + other.measured,
            self.busy + other.busy,
            self.idle + other.idle,
            self.memory_used + other.memory_used,
            self.memory_total + other.memory_total,
        )

    def __iter__(self) -> Iterator[int]:
        """Its numbers, in order."""
        return iter(
            (
                self.allocated,
                self.measured,
                self.busy,
                self.idle,
                self.memory_used,
                self.memory_total,
            )
        )

    @property
    def gpu_hours(self) -> Decimal:
        """GPU-hours allocated, busy or not."""
        return hours(self.allocated)

    @property
    def busy_gpu_hours(self) -> Decimal | None:
        """GPU-hours in which anything ran, as far as measured; None if nothing was measured."""
        return hours(self.busy) if self.measured else None

    @property
    def idle_gpu_hours(self) -> Decimal | None:
        """GPU-hours of minutes in which nothing ran; None if nothing was measured."""
        return hours(self.idle) if self.measured else None

    @property
    def efficiency(self) -> float | None:
        """The busy share of the measured time, in 0..1; None if nothing was measured."""
        return self.busy / self.measured if self.measured else None

    @property
    def known(self) -> float | None:
        """The measured share of the allocated time, in 0..1; None if nothing was allocated."""
        return self.measured / self.allocated if self.allocated else None

    @property
    def memory(self) -> float | None:
        """The used share of GPU memory, in 0..1; None if unknown."""
        return self.memory_used / self.memory_total if self.memory_total else None


NOTHING = Amounts()


def hours(amount: int) -> Decimal:
    """Thousandths of a GPU-minute as GPU-hours."""
    return Decimal(amount) / _HOUR
