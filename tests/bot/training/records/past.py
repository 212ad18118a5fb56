"""Runs of the past as a test needs them."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from bot.training.records.spans import Times
from bot.training.tables import Run, RunPhase
from tests.bot.training.objects import later, run

NOW = later(days=1)


def took(lasted: timedelta, hours: str | None = None) -> Times:
    """Times of a run that only ran."""
    gpu_hours = None if hours is None else Decimal(hours)
    return Times({RunPhase.RUNNING: lasted}, lasted, gpu_hours)


def finished(name: str, gpus: int, **more: Any) -> Run:
    """A run that succeeded on so many GPUs."""
    spec = {"image": "lane:1", "cpu": "8", "memory": "64Gi", "gpus": gpus}
    fields = {"phase": RunPhase.SUCCEEDED, "started_at": later(), "ended_at": NOW, "spec": spec}
    return run(name=name, **(fields | more))
