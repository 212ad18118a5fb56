"""Who asks to start on the state of a snapshot is told which there are."""

import pytest

from bot.errors import NotFoundError
from tests.bot.training.keeping import MOUNTS, SnapshotRig


def hint(keeping: SnapshotRig) -> str:
    """What somebody is told who starts `plain` on its end, which no snapshot shows."""
    with pytest.raises(NotFoundError, match="There is no snapshot of the end of plain") as error:
        keeping.start_on("plain")
    return error.value.hint


def test_snapshots_of_what_it_mounts_are_offered(keeping: SnapshotRig) -> None:
    keeping.submit("plain", pvc=MOUNTS)
    keeping.pass_time(minutes=5)
    assert hint(keeping) == "Its PVCs have none: `/snapshot create imagenet` takes one."
    run_id = keeping.train()
    keeping.pass_time(minutes=5)
    kept = keeping.kept(run_id).name
    assert hint(keeping) == (
        f"The newest of imagenet, which it mounts, is {kept}:"
        f" `/train resubmit plain --from-snapshot {kept}`"
    )
    assert keeping.made(keeping.start_on("plain", kept)).source == kept
