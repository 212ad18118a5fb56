"""The state of the PVC that a run waits for."""

from sqlmodel import Session

from bot.datasets.caches.using import THERE, DataReadiness
from bot.snapshots import finding
from bot.snapshots.tables import RestorePhase


def standing(session: Session, run_id: str) -> DataReadiness:
    """What a run that starts on a snapshot waits for, or why its PVC failed."""
    row = finding.for_run(session, run_id)
    if row is None:
        return DataReadiness(failed="The PVC that the run should start on no longer exists.")
    if row.phase in {RestorePhase.FAILED, RestorePhase.CANCELLED}:
        said = f"PVC {row.claim_name} was not created from {row.source}. {row.reason}"
        return DataReadiness(failed=said, advice=row.unblock)
    # If its class creates volumes only for a pod, the volume appears when the run mounts it.
    if row.phase in {RestorePhase.READY, RestorePhase.WAITING}:
        return THERE
    trouble = f"{row.trouble} Retrying." if row.trouble else ""
    said = f"Waiting for PVC {row.claim_name}, which is being created from {row.source}."
    return DataReadiness(waits=" ".join(filter(None, (said, row.obstacle, trouble))))
