"""PVCs that are made larger: the cost is shown first, and it is permanent."""

import pytest

from bot.approvals import Verdict
from bot.audit import lines_about
from bot.errors import UserError
from bot.snapshots.resizes.tables import ResizePhase
from playground.cluster.control.growing import NODE_EXPANDS
from playground.cluster.story import storage_class
from playground.ledger import Fault
from tests.bot.ground import CAROL, ERIN
from tests.bot.snapshots.resizes.resizing import APPROVALS, Resizing
from tests.bot.snapshots.rig import CLAIM, CLAIMS
from tests.bot.volumes.losing import lose
from tests.databases import ON_BOTH

PATCH = f"patch {CLAIMS}"


def refusal(rig: Resizing, size: str = "2Ti", claim: str = CLAIM) -> tuple[str, str]:
    with pytest.raises(UserError) as caught:
        rig.offer(size, claim)
    return caught.value.message, caught.value.hint


def lines(text: str) -> list[str]:
    return [" ".join(each.split()) for each in text.splitlines()]


def test_size_and_cost_are_shown_first(resizing: Resizing) -> None:
    assert lines(resizing.offer()) == [
        "Grow imagenet to 2 TiB?",
        "This is permanent: PVCs cannot shrink.",
        "Size 1 TiB → 2 TiB",
        "Class standard",
        "Monthly cost 102.40 → 204.80 (102.40 more)",
        "[Grow it]",
    ]
    assert resizing.effects() == []


def test_claim_grows_and_says_so(resizing: Resizing) -> None:
    row_id = resizing.resize()
    resizing.pass_time(minutes=1)
    assert resizing.row(row_id).phase == ResizePhase.DONE
    assert resizing.claim(CLAIM)["status"]["capacity"] == {"storage": "2Ti"}
    assert resizing.effects() == [PATCH]
    assert resizing.notes(row_id) == {"ended": f"<@{ERIN}> `imagenet` has grown to 2 TiB."}
    told = resizing.do(lambda session: lines_about(session, row_id))
    assert [(each.verb, each.person) for each in told] == [
        ("pvc.resize", ERIN), ("pvc.resize_ended", None),
    ]  # fmt: skip
    card = lines(resizing.card(row_id))
    assert card[0] == "✅ Resize PVC imagenet to 2 TiB · Grown"
    assert "Monthly cost 102.40 more" in card


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_lost_answer_patches_it_once(resizing: Resizing, fault: Fault) -> None:
    row_id = resizing.resize()
    resizing.outside.ledger.by_name[PATCH] = [fault]
    resizing.pass_time(minutes=2)
    assert resizing.row(row_id).phase == ResizePhase.DONE
    assert resizing.claim(CLAIM)["status"]["capacity"] == {"storage": "2Ti"}


@ON_BOTH
def test_every_step_of_it_outlives_restarts(resizing: Resizing) -> None:
    row_id = resizing.resize()
    for _ in range(20):
        resizing.restart()
        resizing.pass_time(seconds=2)
    assert (resizing.row(row_id).phase, resizing.effects()) == (ResizePhase.DONE, [PATCH])


@pytest.mark.parametrize(
    ("size", "told"),
    [
        ("1Ti", ("PVC imagenet already has 1 TiB. Nothing was changed.", "")),
        (
            "500Gi",
            (
                "PVC imagenet has 1 TiB, and PVCs cannot shrink.",
                "Ask for more, for example `/pvc resize imagenet 2Ti`.",
            ),
        ),
        ("999999999P", ("A PVC can have at most 8,192 PiB.", "Ask for less.")),
    ],
)
def test_sizes_that_do_not_grow_it_are_refused(
    resizing: Resizing, size: str, told: tuple[str, str]
) -> None:
    assert refusal(resizing, size) == told


def test_class_without_expansion_is_named(resizing: Resizing) -> None:
    resizing.add_claim("fixed-size", storageClassName="fixed")
    assert refusal(resizing, claim="fixed-size") == (
        "Storage class fixed does not allow PVCs to grow.",
        "A platform admin can set allowVolumeExpansion: true in it.",
    )


def test_claims_without_a_volume_are_refused(resizing: Resizing) -> None:
    resizing.world.create("storageclasses", storage_class("late", waits=True))
    resizing.add_claim("waiting", storageClassName="late")
    assert refusal(resizing, claim="waiting") == (
        "PVC waiting has no volume yet, and only PVCs with a volume can grow.",
        "Most PVCs get their volume when the first run mounts them.",
    )


def test_foreign_claims_are_not_resized(resizing: Resizing) -> None:
    marks = {"quartermaster.dev/dataset-share": "s1", "quartermaster.dev/installation": "i"}
    resizing.world.patch(CLAIMS, CLAIM, {"metadata": {"labels": marks}}, "team-a")
    assert refusal(resizing) == (
        "PVC imagenet shows the cache of a dataset, which is shared.",
        "Name one of the team's own PVCs: `/pvc list` shows them.",
    )


def test_lost_volumes_are_not_resized(resizing: Resizing) -> None:
    lose(resizing, CLAIM)
    assert refusal(resizing)[0].endswith("cannot be grown now. Pods that use it keep running.")


def test_one_resize_of_a_claim_at_a_time(resizing: Resizing) -> None:
    resizing.resize()
    assert refusal(resizing, "3Ti") == (
        f"<@{ERIN}> already requested to resize imagenet to 2 TiB.",
        "Its card in <#C0TEAMA> shows the progress.",
    )


def test_growth_made_by_hand_is_named(resizing: Resizing) -> None:
    larger = {"spec": {"resources": {"requests": {"storage": "3Ti"}}}}
    resizing.world.patch(CLAIMS, CLAIM, larger, "team-a")
    assert refusal(resizing, "4Ti") == (
        "PVC imagenet is already growing from 1 TiB to 3 TiB.",
        "`/pvc show` tells what it waits for.",
    )


@ON_BOTH
def test_costly_resize_waits_for_approval(resizing: Resizing) -> None:
    resizing.set_limit(100)
    assert "An approver other than you has to approve it." in resizing.offer()
    row_id = resizing.resize()
    resizing.pass_time(minutes=1)
    assert (resizing.row(row_id).phase, resizing.effects()) == (ResizePhase.ASKED, [])
    assert f"@{CAROL} can decide." in resizing.card(row_id, APPROVALS)
    assert "[Withdraw]" in resizing.card(row_id)
    resizing.decides(row_id)
    resizing.pass_time(minutes=1)
    assert (resizing.row(row_id).phase, resizing.effects()) == (ResizePhase.DONE, [PATCH])
    assert resizing.asked_anew == [CAROL]


def test_unknown_price_waits_for_approval(resizing: Resizing) -> None:
    resizing.world.create("storageclasses", storage_class("plain", seconds=0))
    resizing.add_claim("plain", storageClassName="plain")
    assert "Monthly cost unknown: its class has no price" in lines(resizing.offer(claim="plain"))
    assert "[Grow it]" in resizing.offer(claim="plain")
    resizing.set_limit(1000)
    assert "[Request it]" in resizing.offer(claim="plain")
    assert "[Grow it]" in resizing.offer()


def test_denied_resize_changes_nothing(resizing: Resizing) -> None:
    resizing.set_limit(0)
    row_id = resizing.resize()
    resizing.decides(row_id, Verdict.DENY)
    resizing.pass_time(minutes=1)
    assert (resizing.row(row_id).phase, resizing.effects()) == (ResizePhase.DENIED, [])
    assert resizing.notes(row_id)["ended"] == (
        f"<@{ERIN}> The resize of `imagenet` was denied. Nothing was changed."
    )


def test_undecided_resize_expires_unchanged(resizing: Resizing) -> None:
    resizing.set_limit(0)
    row_id = resizing.resize()
    resizing.pass_time(hours=25)
    assert (resizing.row(row_id).phase, resizing.effects()) == (ResizePhase.EXPIRED, [])
    assert resizing.notes(row_id)["ended"] == (
        f"<@{ERIN}> The resize of `imagenet` was not decided in time. Nothing was changed."
    )


def test_withdrawn_resize_changes_nothing(resizing: Resizing) -> None:
    resizing.set_limit(0)
    row_id = resizing.resize()
    resizing.withdraws(row_id)
    resizing.pass_time(minutes=1)
    assert (resizing.row(row_id).phase, resizing.effects()) == (ResizePhase.WITHDRAWN, [])
    with pytest.raises(UserError, match="The resize of imagenet has already ended"):
        resizing.withdraws(row_id)


def test_approver_who_lost_the_right_does_not_count(resizing: Resizing) -> None:
    resizing.set_limit(0)
    row_id = resizing.resize()
    resizing.decides(row_id)
    resizing.set_limit(0, approvers=["U0ALICE"])
    resizing.pass_time(minutes=1)
    assert (resizing.row(row_id).phase, resizing.effects()) == (ResizePhase.ASKED, [])
    assert "a new approval is needed" in resizing.card(row_id)


def test_claim_deleted_before_the_patch_fails(resizing: Resizing) -> None:
    resizing.set_limit(0)
    row_id = resizing.resize()
    resizing.world.delete(CLAIMS, CLAIM, "team-a")
    resizing.add_claim(CLAIM)
    resizing.decides(row_id)
    resizing.pass_time(minutes=1)
    row = resizing.row(row_id)
    assert (row.phase, row.reason, resizing.effects()) == (
        ResizePhase.FAILED, "PVC imagenet no longer exists. Nothing was changed.", [],
    )  # fmt: skip


def test_error_of_the_driver_is_shown(resizing: Resizing) -> None:
    problems = ["rpc error: code = ResourceExhausted desc = pool is full", ""]
    resizing.world.inside.claims.growers["csi.playground"] = lambda _name, _size: problems[0]
    row_id = resizing.resize()
    resizing.pass_time(seconds=30)
    assert lines(resizing.card(row_id))[:2] == [
        "⚠️ Resize PVC imagenet to 2 TiB · Growing",
        "ControllerResizeError: rpc error: code = ResourceExhausted desc = pool is full",
    ]
    problems.pop(0)
    resizing.pass_time(minutes=4)
    assert resizing.row(row_id).phase == ResizePhase.DONE


def test_driver_that_never_grows_it_is_named(resizing: Resizing) -> None:
    resizing.world.inside.claims.growers["csi.playground"] = lambda _name, _size: "pool is full"
    row_id = resizing.resize()
    resizing.pass_time(minutes=30)
    resizing.skip(hours=23)
    resizing.pass_time(hours=1)
    row = resizing.row(row_id)
    assert (row.phase, row.reason, row.unblock) == (
        ResizePhase.FAILED,
        "It did not grow within 1d. ControllerResizeError: pool is full",
        (
            "The PVC keeps requesting 2 TiB, and its driver keeps trying. A platform admin has to"
            " check the CSI driver."
        ),
    )


def test_file_system_grows_when_a_pod_mounts_it(resizing: Resizing) -> None:
    kind = storage_class("disks", seconds=0)
    resizing.world.create("storageclasses", kind | {"parameters": {NODE_EXPANDS: "true"}})
    resizing.add_claim("disk", storageClassName="disks")
    resizing.pass_time(seconds=10)
    row_id = resizing.resize(claim="disk")
    resizing.pass_time(hours=1)
    resizing.skip(days=2)
    assert resizing.row(row_id).phase == ResizePhase.MOUNTING
    assert lines(resizing.card(row_id))[:2] == [
        "⏳ Resize PVC disk to 2 TiB · Waiting for a pod to mount it",
        (
            "The volume has the new size. Its file system grows when a pod mounts it next: start a"
            " run that mounts the PVC, or restart a pod that does."
        ),
    ]
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "disk"}}
    main = {"name": "main", "image": "ghcr.io/acme/lane:3.1"}
    spec = {"containers": [main], "volumes": [volume]}
    resizing.world.create("pods", {"metadata": {"name": "user"}, "spec": spec}, "team-a")
    resizing.pass_time(minutes=5)
    assert resizing.row(row_id).phase == ResizePhase.DONE
    assert list(resizing.notes(row_id)) == ["mounting", "ended"]
    assert resizing.notes(row_id)["mounting"] == (
        f"<@{ERIN}> The volume of `disk` has 2 TiB now, but its file system has not. It grows when"
        " a pod mounts the PVC next: start a run that mounts it, or restart a pod that does."
    )


def test_quota_of_the_namespace_is_named(resizing: Resizing) -> None:
    quota = {"metadata": {"name": "storage"}, "spec": {"hard": {"requests.storage": "2Ti"}}}
    resizing.world.create("resourcequotas", quota, "team-a")
    resizing.world.settle()
    row_id = resizing.resize("4Ti")
    resizing.pass_time(minutes=1)
    row = resizing.row(row_id)
    assert row.phase == ResizePhase.FAILED
    assert row.reason.startswith("The namespace's ResourceQuota does not allow it.")
