"""Snapshots that are restored in another team's namespace, where Trident and the PVC allow it."""

from collections.abc import Callable

import pytest
from sqlmodel import Session

from bot.errors import UserError
from bot.snapshots.restores.service import RestoreRequest
from bot.snapshots.tables import RestorePhase, Snapshot
from playground.ledger import Fault
from tests.bot.ground import CAROL
from tests.bot.snapshots.reverts.in_place import RESULTS, InPlace
from tests.bot.snapshots.rig import CLAIMS

LEAVES = "tridentvolumereferences"


def abroad(rig: InPlace, row: Snapshot, **options: object) -> str:
    """Carol, who may in both teams, has it restored for team-b; the id of that."""
    rig.look()
    here, there = rig.caller(CAROL), rig.caller(CAROL, "D0CAROL", team="team-b")

    def work(session: Session) -> str:
        found = session.get_one(Snapshot, row.id)
        asked = RestoreRequest("again", is_read_only=bool(options.get("is_read_only")))
        return rig.restores.restore(session, here, found, asked, rig.clock.now(), there).id

    return rig.do(work)


def allow(rig: InPlace, namespaces: str = "team-b") -> None:
    notes = {"metadata": {"annotations": {"trident.netapp.io/cloneToNamespace": namespaces}}}
    rig.world.patch(CLAIMS, RESULTS, notes, "team-a")


def refusal(act: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(UserError) as caught:
        act()
    return caught.value.message, caught.value.hint


def test_a_snapshot_is_restored_for_others(in_place: InPlace) -> None:
    row = in_place.snapshot()
    allow(in_place)
    row_id = abroad(in_place, row)
    in_place.pass_time(minutes=1)
    made = in_place.made(row_id)
    assert (made.phase, made.team, made.namespace) == (RestorePhase.READY, "team-b", "team-b")
    path = in_place.world.programs.volume("team-b", "again") / "labels.csv"
    assert path.read_text(encoding="utf-8") == "monday"
    assert in_place.objects(LEAVES, "team-b") == []
    assert made.is_cleared
    assert "again" not in in_place.objects(CLAIMS)


def test_what_is_not_allowed_says_how(in_place: InPlace) -> None:
    row, other = in_place.snapshot(), in_place.taken()
    assert refusal(lambda: abroad(in_place, row)) == (
        (
            "PVC results does not allow clones in namespace team-b: its annotation"
            " trident.netapp.io/cloneToNamespace does not list that namespace."
        ),
        (
            "Anyone who may change the PVC can allow it: kubectl annotate --overwrite pvc"
            " results -n team-a trident.netapp.io/cloneToNamespace=team-b"
        ),
    )
    assert refusal(lambda: abroad(in_place, other)) == (
        (
            "Kubernetes restores a snapshot only in its own namespace. Trident can restore one"
            f" in another namespace, but {other.name} uses csi.playground."
        ),
        "Restore it here, then push what the other team needs as a dataset.",
    )
    allow(in_place, "*")
    assert refusal(lambda: abroad(in_place, row, is_read_only=True))[0] == (
        "--read-only works only in the snapshot's own namespace."
    )


def test_what_trident_refuses_is_told(in_place: InPlace) -> None:
    row = in_place.snapshot()
    allow(in_place)
    row_id = abroad(in_place, row)
    allow(in_place, "team-c")
    in_place.pass_time(minutes=1)
    assert "cloning to namespace team-b is not allowed" in in_place.card(row_id)
    in_place.pass_time(hours=7)
    assert in_place.made(row_id).phase == RestorePhase.FAILED
    assert in_place.objects(LEAVES, "team-b") == []
    assert "again" not in in_place.objects(CLAIMS, "team-b")


@pytest.mark.parametrize("fault", [Fault.REFUSE, Fault.LOSE_ANSWER])
@pytest.mark.parametrize("write", [f"create {LEAVES}", f"create {CLAIMS}", f"delete {LEAVES}"])
def test_lost_answers_leave_nothing(in_place: InPlace, fault: Fault, write: str) -> None:
    row = in_place.snapshot()
    allow(in_place)
    row_id = abroad(in_place, row)
    in_place.outside.ledger.by_name = {write: [fault]}
    for _ in range(3):
        in_place.pass_time(seconds=10)
        in_place.restart()
    in_place.pass_time(minutes=1)
    assert in_place.made(row_id).is_cleared
    assert in_place.objects(CLAIMS, "team-b").count("again") == 1
    assert in_place.objects(LEAVES, "team-b") == []
