"""What goes on while a PVC is put back in place: snapshots, and answers that are lost."""

from datetime import timedelta

import pytest

from bot.errors import ConflictError
from bot.snapshots.copies.tables import Copy
from bot.snapshots.tables import RevertPhase
from playground.ledger import Fault
from tests.bot.ground import ALICE, NOON, TEAM_A
from tests.bot.snapshots.deletions.test_deletions import row_of
from tests.bot.snapshots.reverts.in_place import ACTIONS, RESULTS, InPlace
from tests.bot.snapshots.rig import CLAIMS
from tests.bot.snapshots.schedules.test_schedules import refusal, schedule, taken


def test_no_snapshot_is_taken_meanwhile(in_place: InPlace) -> None:
    schedule(in_place, "30 * * * *", claim=RESULTS)
    row = in_place.snapshot()
    row_id = in_place.put_back(row)
    assert refusal(lambda: in_place.take(claim=RESULTS))[0] == (
        f"PVC results is to be reverted to {row.name}, which has to stay its newest snapshot"
        " until then."
    )
    with pytest.raises(ConflictError):
        in_place.delete(row)
    in_place.pass_time(minutes=40)
    assert [each.slot for each in taken(in_place)] == [None]
    in_place.decides(row_id)
    in_place.pass_time(minutes=2)
    assert in_place.read(RESULTS) == "monday"
    in_place.pass_time(minutes=60)
    late, usual = [each.slot for each in taken(in_place) if each.slot]
    assert usual - late == timedelta(hours=1)
    assert late == NOON + timedelta(minutes=30)


def test_no_claim_is_reverted_while_it_is_copied(in_place: InPlace) -> None:
    """A copy that waits for its node would read files of before and after the revert."""
    row = in_place.snapshot()
    in_place.do(lambda session: session.add(row_of(Copy, claim_name=RESULTS, target="shared")))
    assert refusal(lambda: in_place.put_back(row)) == (
        f"<@{ALICE}> requested to copy PVC results to shared.",
        f"Its card in <#{TEAM_A}> shows the progress.",
    )


@pytest.mark.parametrize("fault", [Fault.REFUSE, Fault.LOSE_ANSWER])
@pytest.mark.parametrize("write", [f"create {ACTIONS}", f"delete {ACTIONS}", f"create {CLAIMS}"])
def test_lost_answers_do_nothing_twice(in_place: InPlace, fault: Fault, write: str) -> None:
    row_id = in_place.put_back(in_place.snapshot(), saves=True)
    in_place.outside.ledger.by_name = {write: [fault]}
    in_place.decides(row_id)
    for _ in range(4):
        in_place.pass_time(seconds=5)
        in_place.restart()
    in_place.pass_time(minutes=3)
    assert in_place.revert(row_id).phase == RevertPhase.DONE
    assert in_place.objects(ACTIONS) == []
    assert in_place.revert(row_id).is_cleared
    clones = [each for each in in_place.objects(CLAIMS) if each.startswith("results-")]
    assert len(clones) == 1
    assert not any(in_place.outside.ledger.by_name.values())
