"""Stops runs for other areas, which do not know them as runs."""

from collections.abc import Sequence
from datetime import datetime

from sqlmodel import Session

from bot.quotas.engines.admission import Item
from bot.training.service import TrainingService


class RunStopping:
    """Lets quotas stop runs, which they know only as workloads of the quota engine."""

    def __init__(self, training: TrainingService) -> None:
        self._training = training

    def stop_workloads(
        self, session: Session, items: Sequence[Item], why: str, now: datetime
    ) -> None:
        """Stops the runs of these workloads."""
        owners = [uid for each in items for uid in each.owner_uids]
        self._training.stop_jobs(session, owners, why, now)
