"""PVCs that are not the team's have no snapshots, clones or schedules, and are not put back."""

from collections.abc import Callable

import pytest

from bot.cluster import labels
from bot.errors import UserError
from bot.snapshots.tables import SnapshotPhase
from tests.bot.ground import INSTALLATION
from tests.bot.snapshots.reverts.in_place import RESULTS, InPlace
from tests.bot.snapshots.rig import CLAIM, CLAIMS, Rig
from tests.bot.snapshots.schedules.test_schedules import schedule

OF_TEAM_B = {labels.INSTALLATION: INSTALLATION, labels.RUN: "r1", labels.TEAM: "team-b"}
OF_A_CACHE = {labels.INSTALLATION: INSTALLATION, labels.DATASET_SHARE: "s1"}
WAY_OUT = "Name a PVC that your runs write to."
FOREIGN = [
    (OF_TEAM_B, "PVC imagenet was created for team team-b."),
    (OF_A_CACHE, "PVC imagenet shows the cache of a dataset, which is shared."),
]


def mark(rig: Rig, marks: dict[str, str], claim: str = CLAIM) -> None:
    rig.world.patch(CLAIMS, claim, {"metadata": {"labels": marks}}, "team-a")


def refusal(act: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(UserError) as caught:
        act()
    return caught.value.message, caught.value.hint


@pytest.mark.parametrize(("marks", "reason"), FOREIGN)
@pytest.mark.parametrize("verb", ["take", "clone", "schedule"])
def test_nothing_is_made_of_foreign_claims(
    rig: Rig, verb: str, marks: dict[str, str], reason: str
) -> None:
    mark(rig, marks)
    acts: dict[str, Callable[[], object]] = {
        "take": rig.take,
        "clone": rig.clone,
        "schedule": lambda: schedule(rig),
    }
    assert refusal(acts[verb]) == (reason, WAY_OUT)
    assert rig.objects() == []


@pytest.mark.parametrize(("marks", "reason"), FOREIGN)
def test_claims_that_changed_hands_fail(rig: Rig, marks: dict[str, str], reason: str) -> None:
    row_id = rig.take()
    mark(rig, marks)
    rig.pass_time(seconds=10)
    row = rig.found(row_id)
    assert (row.phase, row.reason, row.unblock) == (SnapshotPhase.FAILED, reason, WAY_OUT)
    assert rig.objects() == []


def test_claims_made_for_the_team_have_snapshots(rig: Rig) -> None:
    mark(rig, OF_TEAM_B | {labels.TEAM: "team-a"})
    assert rig.taken().phase == SnapshotPhase.READY


def test_foreign_claims_are_not_put_back(in_place: InPlace) -> None:
    row = in_place.snapshot()
    mark(in_place, OF_TEAM_B, RESULTS)
    in_place.look()
    assert refusal(lambda: in_place.put_back(row)) == (
        "PVC results was created for team team-b.",
        WAY_OUT,
    )
