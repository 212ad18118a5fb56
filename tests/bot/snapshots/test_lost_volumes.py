"""Snapshots, restores and clones of volumes that Trident does not find any more."""

from collections.abc import Callable

import pytest

from bot.errors import ConflictError
from bot.snapshots.tables import RestorePhase, SnapshotPhase
from tests.bot.snapshots.rig import CLAIM, Rig
from tests.bot.volumes.losing import UNBLOCK, find, lose, said


def refusal(act: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(ConflictError) as caught:
        act()
    return caught.value.message, caught.value.hint


def test_what_needs_trident_is_refused_meanwhile(rig: Rig) -> None:
    row = rig.taken()
    lose(rig, CLAIM)
    assert refusal(rig.take) == said(CLAIM, "snapshotted")
    assert refusal(lambda: rig.restore(row)) == said(CLAIM, "restored or cloned")
    assert refusal(rig.clone) == said(CLAIM, "restored or cloned")
    find(rig)
    rig.restore(row)


def test_snapshot_that_was_asked_before_fails(rig: Rig) -> None:
    row_id = rig.take()
    lose(rig, CLAIM)
    rig.pass_time(seconds=10)
    row = rig.found(row_id)
    assert (row.phase, row.reason, row.unblock) == (
        SnapshotPhase.FAILED, said(CLAIM, "snapshotted")[0], UNBLOCK,
    )  # fmt: skip
    assert rig.world.list("volumesnapshots") == []


def test_restore_that_was_asked_before_fails(rig: Rig) -> None:
    made_id = rig.restore(rig.taken(), name="again")
    lose(rig, CLAIM)
    rig.pass_time(seconds=10)
    made = rig.made(made_id)
    assert (made.phase, made.unblock) == (RestorePhase.FAILED, UNBLOCK)
    assert rig.world.get("persistentvolumeclaims", "again", "team-a") is None
