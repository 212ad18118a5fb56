"""Restores that are cancelled: nothing is left of them, and nothing that is there goes."""

from collections.abc import Callable

import pytest
from sqlmodel import Session

from bot import holds
from bot.errors import ConflictError, NotAllowedError, NotFoundError
from bot.snapshots.cancelling import service
from bot.snapshots.tables import SNAPSHOT, Restore, RestorePhase, RevertPhase
from playground.cluster.story import storage_class
from playground.ledger import Fault
from tests.bot.ground import ALICE, BOB, ERIN
from tests.bot.snapshots.reverts.in_place import ACTIONS, RESULTS, InPlace
from tests.bot.snapshots.rig import CLAIMS, Rig


def cancel(rig: Rig, row_id: str, person: str = ALICE) -> None:
    by = rig.caller(person)

    def work(session: Session) -> None:
        service.cancel(session, by, session.get_one(Restore, row_id), rig.clock.now())

    rig.do(work)


def slow(rig: Rig, *, waits: bool = False) -> None:
    """A class whose volumes take ten minutes, or a pod."""
    rig.world.create("storageclasses", storage_class("slow", seconds=600, waits=waits))


def pod(rig: Rig, claim: str) -> None:
    body = {
        "metadata": {"name": "reader"},
        "spec": {
            "containers": [{"name": "main", "image": "busybox"}],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}],
        },
    }
    rig.world.create("pods", body, "team-a")


def refusal(act: Callable[[], object]) -> str:
    with pytest.raises((ConflictError, NotAllowedError, NotFoundError)) as caught:
        act()
    return caught.value.message


@pytest.mark.parametrize("waits", [False, True])
def test_nothing_is_left_of_a_cancelled_one(rig: Rig, *, waits: bool) -> None:
    slow(rig, waits=waits)
    row = rig.taken()
    row_id = rig.restore(row, name="again", storage_class="slow")
    rig.pass_time(minutes=1)
    assert "again" in rig.objects(CLAIMS)
    assert rig.card(row_id).splitlines()[-1] == "  [Cancel]"
    cancel(rig, row_id)
    assert rig.card(row_id).splitlines()[0] == f"▶️ PVC again from {row.name} · Cancelling"
    rig.pass_time(minutes=1)
    assert "again" not in rig.objects(CLAIMS)
    assert rig.made(row_id).phase == RestorePhase.CANCELLED
    assert rig.made(row_id).is_cleared
    assert rig.card(row_id).splitlines()[:2] == [
        f"⏹️ PVC again from {row.name} · Cancelled",
        f"@{ALICE} cancelled it.",
    ]
    assert rig.do(lambda s: holds.on(s, SNAPSHOT, row.id, rig.clock.now())) == []
    assert rig.notes(row_id) == {}
    assert refusal(lambda: cancel(rig, row_id)) == (
        "The restore to PVC again has already ended: cancelled."
    )
    assert rig.restore(row, name="again") != row_id


def test_one_that_was_never_begun_is_cancelled(rig: Rig) -> None:
    row = rig.taken()
    row_id = rig.restore(row, name="again")
    cancel(rig, row_id)
    rig.pass_time(minutes=1)
    assert rig.made(row_id).phase == RestorePhase.CANCELLED
    assert rig.effects().count(f"create {CLAIMS}") == 0


def test_what_has_its_volume_stays(rig: Rig) -> None:
    row = rig.taken()
    row_id = rig.restore(row, name="again")
    rig.loop.run_due()
    rig.outside.clock.moment = rig.clock.now().replace(second=59)
    rig.world.settle()
    cancel(rig, row_id)
    rig.pass_time(minutes=1)
    assert rig.made(row_id).phase == RestorePhase.READY
    assert rig.read("again") == "monday"


def test_what_pods_wait_for_stays(rig: Rig) -> None:
    slow(rig)
    row_id = rig.restore(rig.taken(), name="again", storage_class="slow")
    rig.pass_time(seconds=30)
    pod(rig, "again")
    cancel(rig, row_id)
    rig.pass_time(seconds=30)
    assert rig.made(row_id).cancelled_by is None
    assert "again" in rig.objects(CLAIMS)
    rig.pass_time(minutes=15)
    assert rig.made(row_id).phase == RestorePhase.READY


def test_only_its_owner_and_heads_cancel(rig: Rig) -> None:
    slow(rig)
    row = rig.taken()
    row_id = rig.restore(row, ERIN, name="again", storage_class="slow")
    assert refusal(lambda: cancel(rig, row_id)) == f"<@{ERIN}> requested this restore."
    assert refusal(lambda: cancel(rig, row_id, BOB)) == f"<@{ERIN}> requested this restore."
    assert refusal(lambda: rig.do(lambda s: service.waiting(s, "team-a", "other"))) == (
        "team-a has no restore to PVC other in progress."
    )
    assert rig.do(lambda s: service.waiting(s, "team-a", "again").id) == row_id
    assert rig.do(lambda s: service.waiting(s, "team-a", "again").id) == row_id
    other = rig.restore(row, name="other", storage_class="slow")
    cancel(rig, other, ERIN)
    rig.pass_time(minutes=1)
    assert rig.notes(other) == {
        "ended": f"<@{ALICE}> PVC `other` was not created: <@{ERIN}> cancelled it."
    }


@pytest.mark.parametrize("fault", [Fault.REFUSE, Fault.LOSE_ANSWER])
def test_a_lost_answer_leaves_nothing(rig: Rig, fault: Fault) -> None:
    slow(rig)
    row_id = rig.restore(rig.taken(), name="again", storage_class="slow")
    rig.outside.ledger.by_name = {f"create {CLAIMS}": [fault], f"delete {CLAIMS}": [fault]}
    rig.loop.run_due()
    cancel(rig, row_id)
    rig.restart()
    rig.pass_time(minutes=2)
    assert "again" not in rig.objects(CLAIMS)
    assert rig.made(row_id).phase == RestorePhase.CANCELLED


def test_a_clone_that_saves_is_cancelled_too(in_place: InPlace) -> None:
    row_id = in_place.put_back(in_place.snapshot(), saves=True)
    in_place.decides(row_id)
    in_place.loop.run_due()
    assert in_place.revert(row_id).phase == RevertPhase.SAVING
    in_place.cancels(row_id)
    in_place.pass_time(minutes=2)
    assert in_place.revert(row_id).phase == RevertPhase.CANCELLED
    assert [each for each in in_place.objects(CLAIMS) if each.startswith(f"{RESULTS}-")] == []
    assert in_place.effects().count(f"create {ACTIONS}") == 0
