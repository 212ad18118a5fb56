"""How far a PVC is that a run waits for."""

from sqlmodel import Session

from bot.datasets.caches.using import THERE, Standing
from bot.snapshots import finding
from bot.snapshots.tables import RestorePhase


def standing(session: Session, run_id: str) -> Standing:
    """What a run waits for that starts on a snapshot, or why its PVC will not come."""
    row = finding.for_run(session, run_id)
    if row is None:
        return Standing(failed="The PVC that it was to start on is not known any more.")
    if row.phase in {RestorePhase.FAILED, RestorePhase.CANCELLED}:
        said = f"PVC {row.claim_name} was not made from {row.source}. {row.reason}"
        return Standing(failed=said, advice=row.unblock)
    if row.phase == RestorePhase.CANCELLED:
        said = f"PVC {row.claim_name} is not made from {row.source}: somebody cancelled it."
        return Standing(failed=said)
    # One whose class makes volumes only for a pod is there once the run mounts it.
    if row.phase in {RestorePhase.READY, RestorePhase.WAITING}:
        return THERE
    trouble = f"{row.trouble} It is tried again." if row.trouble else ""
    said = f"It waits for PVC {row.claim_name}, which is made from {row.source}."
    return Standing(waits=" ".join(filter(None, (said, row.obstacle, trouble))))
