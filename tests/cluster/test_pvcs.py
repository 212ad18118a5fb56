"""A PVC grows and is deleted on a real control plane, with the bot's own rights."""

from typing import Any

import pytest

from bot.approvals import Approvals
from bot.approvals.context import ApprovalContext
from bot.cluster.resources import PVCS
from bot.errors import ClusterError
from bot.people.access import Access
from bot.reconcile.frame import ControllerContext
from bot.snapshots.deletions.controller import DeletionController
from bot.snapshots.deletions.tables import Deletion, DeletionPhase
from bot.snapshots.resizes.controller import ResizeController
from bot.snapshots.resizes.tables import Resize, ResizePhase
from bot.training.records.mounting import runs_needing
from playground.arm.estate import TIB
from playground.arm.trident import CLASS
from tests.arm import Arm
from tests.bot.ground import ERIN, TEAM_A
from tests.bot.volumes.conftest import identity
from tests.cluster.api import wait_for
from tests.cluster.test_growths import CLAIM, CLAIMS, Rig, rig
from tests.cluster.test_repairs import nobody

__all__ = ["identity", "rig"]


def context(rig: Rig) -> ControllerContext:
    return ControllerContext(
        rig.database, rig.clock, lambda: rig.settings, rig.clusters, lambda text: f"/{text}"
    )


def deciding(rig: Rig) -> ApprovalContext:
    access = Access(lambda: rig.settings)
    approvals = Approvals(lambda: rig.settings, access)
    return ApprovalContext(rig.database, rig.clock, access, approvals, nobody)


def add(rig: Rig, table: Any, **fields: Any) -> str:
    """A row of Erin's about the PVC; its id."""
    now = rig.clock.now()
    row = table(
        workspace_id="T0QM", team="team-a", person=ERIN, channel=TEAM_A, cluster="default",
        namespace=rig.team, claim_name=CLAIM, claim_uid=rig.claim["metadata"]["uid"],
        storage_class=CLASS, asked_at=now, since=now, **fields,
    )  # fmt: skip
    row_id: str = row.id
    rig.database.transaction(lambda session: session.add(row))
    return row_id


def phase_of(rig: Rig, controller: Any, table: Any, row_id: str) -> str:
    """Its phase after one step."""
    rig.database.transaction(controller.step(row_id).save)
    return rig.database.transaction(lambda session: str(session.get_one(table, row_id).phase))


def test_claim_is_resized_by_its_driver(rig: Rig, arm: Arm) -> None:
    rig.cluster.view.store(PVCS).replace(rig.cluster.list(PVCS))
    rig.grow("2Ti")  # reads the classes into the view, and asks for nothing before its first step
    row_id = add(rig, Resize, size_bytes=2 * TIB, from_bytes=TIB)
    controller = ResizeController(context(rig), deciding(rig))
    assert phase_of(rig, controller, Resize, row_id) == ResizePhase.GROWING
    assert rig.claim["spec"]["resources"]["requests"] == {"storage": "2Ti"}

    def is_done() -> bool:
        rig.plays()
        return phase_of(rig, controller, Resize, row_id) == ResizePhase.DONE

    wait_for(is_done, "resize")
    assert arm.estate.volumes[0].quota == 2 * TIB


def test_claim_is_deleted_as_it_was_read(rig: Rig) -> None:
    seen = rig.cluster.get(PVCS, CLAIM, rig.team)
    assert seen is not None
    rig.api.patch(CLAIMS, CLAIM, {"metadata": {"labels": {"paper": "yes"}}}, rig.team)
    with pytest.raises(ClusterError) as caught:
        rig.cluster.delete(
            PVCS, CLAIM, rig.team, uid=seen.uid, version=seen.metadata.resource_version
        )
    assert caught.value.reason == "Conflict"
    row_id = add(rig, Deletion, size_bytes=TIB)
    controller = DeletionController(context(rig), runs_needing)
    assert phase_of(rig, controller, Deletion, row_id) == DeletionPhase.LEAVING

    def is_done() -> bool:
        rig.plays()
        return phase_of(rig, controller, Deletion, row_id) == DeletionPhase.DONE

    wait_for(is_done, "deletion")
