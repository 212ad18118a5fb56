"""PVCs that are put back in place: approved by others, looked at twice, and by Trident alone."""

from collections.abc import Callable

import pytest

from bot import holds
from bot.approvals import Verdict
from bot.cluster.resources import SNAPSHOT_ACTIONS
from bot.errors import ConflictError, LimitError, NotAllowedError, UserError
from bot.snapshots.tables import SNAPSHOT, RevertPhase
from playground.cluster.story import claim
from tests.bot.ground import ALICE, CAROL, ERIN
from tests.bot.snapshots.reverts.in_place import ACTIONS, APPROVALS, RESULTS, InPlace, approved_by
from tests.bot.snapshots.rig import CLAIMS


def refusal(act: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(UserError) as caught:
        act()
    return caught.value.message, caught.value.hint


def test_a_pvc_is_put_back_in_place(in_place: InPlace) -> None:
    row = in_place.snapshot()
    in_place.fill("tuesday")
    uid = in_place.claim(RESULTS)["metadata"]["uid"]
    in_place.pass_time(hours=3)
    row_id = in_place.put_back(row)
    in_place.pass_time(minutes=5)
    assert in_place.objects(ACTIONS) == []
    assert in_place.card(row_id, APPROVALS).splitlines() == [
        f"⏳ Revert PVC results to {row.name} · Waiting for approval",
        "results loses what was written in the last 3h 5m.",
        "Waiting for 1 approval until 2026-11-22 15:01 UTC.",
        f"@{CAROL} can decide.",
        "  PVC           `team-a/results`",
        f"  Revert to     `{row.name}`, as of 2026-11-21 12:00 UTC",
        "  Old data      not saved: no clone was requested",
        "  Reason        a bad run",
        "  Requested by  Alice",
        "  Requested     2026-11-21 15:01 UTC",
        "  [Approve] [Deny]",
    ]
    assert in_place.card(row_id).splitlines()[-1] == "  [Cancel]"
    in_place.decides(row_id)
    in_place.pass_time(seconds=2)
    assert len(in_place.objects(ACTIONS)) == 1
    in_place.pass_time(minutes=1)
    assert in_place.revert(row_id).phase == RevertPhase.DONE
    assert in_place.read(RESULTS) == "monday"
    assert in_place.claim(RESULTS)["metadata"]["uid"] == uid
    assert in_place.objects(ACTIONS) == []
    assert in_place.revert(row_id).is_cleared
    assert in_place.notes(row_id) == {
        "ended": (
            f"<@{ALICE}> PVC `results` was reverted to `{row.name}`, as of"
            " <!date^1795262457^{date_short_pretty} {time}|2026-11-21 12:00 UTC>."
        )
    }


def test_each_thing_is_asked_for_once(in_place: InPlace) -> None:
    row = in_place.snapshot()
    row_id = in_place.put_back(row)
    in_place.decides(row_id)
    in_place.pass_time(minutes=1)
    assert set(in_place.asked_anew) == {CAROL}
    assert in_place.do(lambda s: holds.on(s, SNAPSHOT, row.id, in_place.clock.now())) == []
    assert [each for each in in_place.effects() if "trident" in each] == [
        f"create {ACTIONS}", f"delete {ACTIONS}",
    ]  # fmt: skip


def test_what_it_holds_is_saved_first(in_place: InPlace) -> None:
    row = in_place.snapshot()
    in_place.fill("tuesday")
    row_id = in_place.put_back(row, saves=True)
    in_place.decides(row_id)
    in_place.pass_time(seconds=1)
    assert in_place.revert(row_id).phase == RevertPhase.SAVING
    assert in_place.objects(ACTIONS) == []
    in_place.pass_time(minutes=2)
    clone = in_place.revert(row_id).clone
    assert (in_place.read(RESULTS), in_place.read(clone)) == ("monday", "tuesday")
    assert in_place.notes(row_id)["ended"].splitlines()[1] == (
        f"Its earlier data is in PVC {clone} (`--pvc {clone}:/mnt`). When it is no longer needed:"
        f" `kubectl delete pvc {clone} -n team-a`"
    )


def test_a_clone_is_split_off_first(in_place: InPlace) -> None:
    row = in_place.snapshot()
    in_place.fill("tuesday")
    row_id = in_place.put_back(row, saves=True)
    in_place.decides(row_id)
    in_place.pass_time(seconds=25)
    revert = in_place.revert(row_id)
    assert revert.phase == RevertPhase.REVERTING
    assert revert.obstacle == (
        f"The storage refuses it until PVC {revert.clone} is split off, which may take hours."
        " failed to restore volume: Snapshot copy is busy because one or more FlexClone volumes"
        " depend on a newer one."
    )
    in_place.restart()
    in_place.pass_time(minutes=2)
    assert in_place.revert(row_id).phase == RevertPhase.DONE
    assert in_place.read(RESULTS) == "monday"
    assert in_place.effects().count(f"create {ACTIONS}") >= 2
    assert in_place.objects(ACTIONS) == []


def test_waiting_for_a_split_can_be_cancelled(in_place: InPlace) -> None:
    row = in_place.snapshot()
    in_place.fill("tuesday")
    row_id = in_place.put_back(row, saves=True)
    in_place.decides(row_id)
    in_place.pass_time(seconds=25)
    in_place.cancels(row_id)
    in_place.pass_time(minutes=2)
    assert in_place.revert(row_id).phase == RevertPhase.CANCELLED
    assert (in_place.read(RESULTS), in_place.objects(ACTIONS)) == ("tuesday", [])


def test_other_clones_make_it_fail(in_place: InPlace) -> None:
    row = in_place.snapshot()
    source = {"kind": "PersistentVolumeClaim", "name": RESULTS}
    body = claim("mine")
    body["spec"] |= {"storageClassName": "anf", "dataSource": source}
    in_place.world.create(CLAIMS, body, "team-a")
    in_place.pass_time(minutes=1)
    row_id = in_place.put_back(row)
    in_place.decides(row_id)
    in_place.pass_time(minutes=2)
    revert = in_place.revert(row_id)
    assert revert.phase == RevertPhase.FAILED
    assert "ONTAP refuses while a clone depends" in revert.unblock


def test_nothing_is_put_back_unsaved(in_place: InPlace) -> None:
    row = in_place.snapshot()
    in_place.set(restored_within="10m")
    in_place.policy = in_place.policy.model_copy(update={"approvals": approved_by().approvals})
    in_place.world.inside.claims.failures["anf"] = "pool is full"
    row_id = in_place.put_back(row, saves=True)
    in_place.decides(row_id)
    in_place.pass_time(minutes=20)
    assert in_place.revert(row_id).phase == RevertPhase.FAILED
    assert in_place.card(row_id).splitlines()[1:4] == [
        f"@{CAROL} approved 2026-11-21 12:01 UTC",
        (
            "The data of results could not be saved. It had no volume after 10m. Kubernetes"
            ' warns: failed to provision volume with StorageClass "anf": pool is full.'
        ),
        "The PVC was not reverted. Request it again, with or without a clone.",
    ]
    assert in_place.effects().count(f"create {ACTIONS}") == 0


def test_nobody_approves_their_own(in_place: InPlace) -> None:
    row = in_place.snapshot()
    row_id = in_place.put_back(row)
    with pytest.raises(NotAllowedError) as caught:
        in_place.decides(row_id, ALICE)
    assert caught.value.message == "You cannot decide your own request."
    with pytest.raises(NotAllowedError):
        in_place.decides(row_id, ERIN)
    in_place.decides(row_id, verdict=Verdict.DENY)
    in_place.pass_time(seconds=10)
    assert in_place.revert(row_id).phase == RevertPhase.DENIED
    assert in_place.notes(row_id)["ended"] == (
        f"<@{ALICE}> PVC `results` was not reverted: the request was denied. "
    )
    assert in_place.revert(row_id).is_cleared
    in_place.policy = approved_by(approvers={"people": [ALICE]})
    with pytest.raises(LimitError):
        in_place.put_back(row)


def test_nobody_decides_and_it_expires(in_place: InPlace) -> None:
    row_id = in_place.put_back(in_place.snapshot())
    in_place.pass_time(hours=25)
    assert in_place.revert(row_id).phase == RevertPhase.EXPIRED
    assert in_place.notes(row_id)["ended"].splitlines() == [
        f"<@{ALICE}> PVC `results` was not reverted. It was not decided in time.",
        "Request it again.",
    ]


def test_only_the_newest_and_only_trident(in_place: InPlace) -> None:
    first = in_place.snapshot()
    in_place.pass_time(minutes=5)
    second = in_place.snapshot()
    assert refusal(lambda: in_place.put_back(first)) == (
        (
            f"{first.name} is not the newest snapshot of results, and Trident can revert a volume"
            f" only to the newest. Newer: {second.name}."
        ),
        (
            "Restore the newest, or delete the newer ones first. To restore the snapshot to a"
            f" new PVC: `/snapshot restore {first.name} --as results-before`."
        ),
    )
    other = in_place.taken()
    assert refusal(lambda: in_place.put_back(other)) == (
        "Only Trident can revert a PVC in place, and imagenet uses csi.playground.",
        (
            "Restoring to a new PVC always works, and the old PVC stays: `/snapshot restore"
            f" {other.name} --as imagenet-before`."
        ),
    )
    in_place.cluster.view.store(SNAPSHOT_ACTIONS).absent = True
    assert refusal(lambda: in_place.put_back(second))[0] == (
        "Trident in cluster default cannot do it: it serves no TridentActionSnapshotRestore."
    )


def test_who_mounts_it_is_named(in_place: InPlace) -> None:
    row = in_place.snapshot()
    in_place.runs("lane-0")
    assert refusal(lambda: in_place.put_back(row)) == (
        (
            "PVC results is mounted, and a volume in use cannot be reverted: pod lane-0 of run"
            f" lane#2 (<@{ALICE}>)."
        ),
        "Stop them, or wait until they end.",
    )


def test_all_is_looked_at_again_when_approved(in_place: InPlace) -> None:
    row_id = in_place.put_back(in_place.snapshot())
    in_place.runs("lane-0")
    in_place.decides(row_id)
    in_place.pass_time(minutes=1)
    assert in_place.revert(row_id).phase == RevertPhase.FAILED
    assert in_place.notes(row_id)["ended"].splitlines() == [
        (
            f"<@{ALICE}> PVC `results` was not reverted. Nothing was changed. PVC results is"
            " mounted, and a volume in use cannot be reverted: pod lane-0 of run lane#2"
            f" (<@{ALICE}>)."
        ),
        "Stop them, or wait until they end.",
    ]
    assert in_place.effects().count(f"create {ACTIONS}") == 0


def test_all_is_looked_at_again_after_saving(in_place: InPlace) -> None:
    row_id = in_place.put_back(in_place.snapshot(), saves=True)
    in_place.decides(row_id)
    in_place.pass_time(seconds=1)
    spec = {"source": {"persistentVolumeClaimName": RESULTS}}
    in_place.world.create("volumesnapshots", {"metadata": {"name": "mine"}, "spec": spec}, "team-a")
    in_place.pass_time(minutes=2)
    assert in_place.revert(row_id).phase == RevertPhase.FAILED
    assert "only to the newest. Newer: mine." in in_place.notes(row_id)["ended"]
    assert in_place.effects().count(f"create {ACTIONS}") == 0


def test_who_may_no_longer_approve_stops_it(in_place: InPlace) -> None:
    row = in_place.snapshot()
    row_id = in_place.put_back(row, saves=True)
    in_place.decides(row_id)
    in_place.pass_time(seconds=1)
    in_place.policy = approved_by(approvers={"people": [ERIN]})
    in_place.pass_time(minutes=2)
    assert in_place.revert(row_id).reason == "A person who approved it is no longer allowed to."
    assert in_place.effects().count(f"create {ACTIONS}") == 0
    in_place.policy = approved_by()
    again = in_place.put_back(row)
    in_place.decides(again)
    in_place.policy = approved_by(approvers={"people": [ERIN]})
    in_place.pass_time(minutes=2)
    assert in_place.revert(again).phase == RevertPhase.ASKED
    assert "An approver lost the right to approve, so a new approval is needed." in in_place.card(
        again
    )


def test_what_trident_says_is_shown(in_place: InPlace) -> None:
    row_id = in_place.put_back(in_place.snapshot())
    in_place.decides(row_id)
    in_place.pass_time(seconds=2)
    in_place.runs("lane-0")
    in_place.pass_time(minutes=1)
    assert in_place.notes(row_id)["ended"].splitlines() == [
        (
            f"<@{ALICE}> PVC `results` was not reverted. Trident did not revert it. cannot"
            " restore attached volume to snapshot."
        ),
        "When that is fixed, request it again. Otherwise restore to a new PVC.",
    ]
    assert in_place.objects(ACTIONS) == []


def test_a_trident_that_sleeps_is_late(in_place: InPlace) -> None:
    actions = in_place.world.inside.snapshot_actions
    actions.sleeps = True
    row_id = in_place.put_back(in_place.snapshot())
    in_place.decides(row_id)
    in_place.pass_time(minutes=20)
    assert in_place.notes(row_id)["late"] == (
        f"<@{ALICE}> PVC `results` should have been reverted by now. Trident has not started yet."
        " A platform admin has to check Trident."
    )
    in_place.cancels(row_id)
    in_place.pass_time(minutes=2)
    assert in_place.revert(row_id).phase == RevertPhase.CANCELLED
    assert in_place.objects(ACTIONS) == []


def test_a_request_is_cancelled_by_its_owner(in_place: InPlace) -> None:
    row = in_place.snapshot()
    row_id = in_place.put_back(row, ERIN)
    with pytest.raises(NotAllowedError):
        in_place.cancels(row_id)
    in_place.cancels(row_id, ERIN)
    in_place.pass_time(seconds=10)
    assert in_place.revert(row_id).phase == RevertPhase.CANCELLED
    with pytest.raises(ConflictError):
        in_place.decides(row_id)
    with pytest.raises(ConflictError):
        in_place.cancels(row_id, ERIN)
    assert in_place.put_back(row) != row_id
