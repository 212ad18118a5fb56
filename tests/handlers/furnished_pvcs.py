"""What the buttons of PVCs say where everything is furnished, and the rows behind them."""

import json
from datetime import UTC, datetime
from typing import Any

from sqlmodel import Session

from bot.app import Application
from bot.cluster.resources import PVCS
from bot.snapshots.copies.tables import Copy, CopyPhase
from playground.arm.trident import CLASS
from playground.cluster.story import claim
from tests.handlers.command_client import ALICE, TEAM_A

DISK = "scratch"


def disk() -> dict[str, Any]:
    """A PVC for one node at a time."""
    body: dict[str, Any] = claim(DISK, "10Gi")
    body["spec"]["accessModes"] = ["ReadWriteOnce"]
    return body


def of_pvcs(application: Application) -> dict[str, str]:
    """What the buttons say that delete a PVC which nothing needs, and copy one."""
    view = application.clusters["default"].view
    spare, copied = view.get(PVCS, "team-a-data", "team-a"), view.get(PVCS, DISK, "team-a")
    assert spare is not None
    assert copied is not None
    deletes = json.dumps({"t": "team-a", "c": "default", "p": "team-a-data", "u": spare.uid})
    asked = {"t": "team-a", "c": "default", "p": DISK, "u": copied.uid, "a": "shared", "k": CLASS}
    return {
        "pvc.delete": deletes,
        "pvc.delete-ask": deletes,
        "pvc.copy": json.dumps(asked),
    }


def of_copies(session: Session) -> dict[str, str]:
    """A copy that waits for approval."""
    now = datetime.now(UTC)
    row = Copy(
        workspace_id="T0QM", team="team-a", person=ALICE, channel=TEAM_A, cluster="default",
        namespace="team-a", claim_name="other", claim_uid="any", source_class="any",
        source_bytes=1, access_mode="ReadWriteOnce", reads="idle", target="other-rwx",
        storage_class="any", size_bytes=1, job_name="copy-other", asked_at=now, since=now,
        phase=CopyPhase.ASKED,
    )  # fmt: skip
    session.add(row)
    session.flush()
    return {"pvc.copy-stop": row.id}
