"""What GPUs did, as numbers that add up: GPU-hours held, known of, busy, and at rest."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Self

# Amounts are thousandths of a GPU-minute.
WHOLE = 1000
_HOUR = 60 * WHOLE


@dataclass(frozen=True, slots=True)
class Amounts:
    """What GPUs did in a time, in thousandths of a GPU-minute; memory in MiB-minutes.

    Of what was `allocated` it is known for `measured` what the GPUs did: `busy` is the share of it
    in which anything ran, `idle` are the GPUs of it on which nothing did. Nothing else is known
    of the rest, so it is neither.
    """

    allocated: int = 0
    measured: int = 0
    busy: int = 0
    idle: int = 0
    memory_used: int = 0
    memory_total: int = 0

    def __add__(self, other: Self) -> Self:
        """Both together."""
        return type(self)(
            self.allocated + other.allocated,
            self.measured + other.measured,
            self.busy + other.busy,
            self.idle + other.idle,
            self.memory_used + other.memory_used,
            self.memory_total + other.memory_total,
        )

    def __iter__(self) -> Iterator[int]:
        """Its numbers, in their order."""
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
        """Hours of GPUs that were held, whatever they did."""
        return hours(self.allocated)

    @property
    def busy_gpu_hours(self) -> Decimal | None:
        """Hours of GPUs in which anything ran, as far as is known; None where nothing is."""
        return hours(self.busy) if self.measured else None

    @property
    def idle_gpu_hours(self) -> Decimal | None:
        """Hours of GPUs on which nothing ran in a minute; None where nothing is known."""
        return hours(self.idle) if self.measured else None

    @property
    def efficiency(self) -> float | None:
        """Which share of what is known of was busy, in 0..1; None where nothing is known."""
        return self.busy / self.measured if self.measured else None

    @property
    def known(self) -> float | None:
        """Of which share of what was held it is known what it did; None where nothing was held."""
        return self.measured / self.allocated if self.allocated else None

    @property
    def memory(self) -> float | None:
        """Which share of the GPUs' memory was used, in 0..1; None where nothing is known."""
        return self.memory_used / self.memory_total if self.memory_total else None


NOTHING = Amounts()


def hours(amount: int) -> Decimal:
    """Thousandths of a GPU-minute as GPU-hours."""
    return Decimal(amount) / _HOUR
