"""Pushes from the question to the version, and what becomes of their objects."""

from datetime import timedelta
from typing import Any

import pytest

from bot.database.database import Session
from bot.datasets.tables import PushPhase, Version
from bot.errors import UserError
from playground.ledger import Fault
from tests.bot.datasets.pushes.pushing import CLAIMS, NFS, TARGET, TRIDENT, Pushing
from tests.bot.datasets.rig import DIGEST, DONE
from tests.bot.ground import ALICE, BOB, DENIAL, ERIN, TEAM_B

DENIED = {
    "event": "failed",
    "reason": "no_access",
    "message": "labels.csv cannot be read by uid 10001.",
    "hint": "Allow it to read everything below the folder, or push a folder that it may read.",
    "keys": ["labels.csv"],
}


def refusal(rig: Pushing, **options: Any) -> tuple[str, str]:
    with pytest.raises(UserError) as caught:
        rig.ask(**options)
    return caught.value.message, caught.value.hint


def test_a_folder_is_read_by_its_share(rig: Pushing) -> None:
    push_id = rig.push(is_overwriting=True)
    rig.pass_time(seconds=15)
    (job,), (claim,) = rig.jobs(), rig.world.list(CLAIMS, "datasets")
    pod = job["spec"]["template"]["spec"]
    assert pod["volumes"][-1] == {
        "name": "data",
        "persistentVolumeClaim": {"claimName": claim["metadata"]["name"], "readOnly": True},
    }
    worker = pod["containers"][0]
    assert worker["volumeMounts"][-1] == {"name": "data", "mountPath": "/data", "readOnly": True}
    assert worker["args"][:5] == ["push", "--source", "/data/run-7", "--target", TARGET]
    assert worker["args"][-1] == "--overwrite"
    assert [each["secret"]["secretName"] for each in pod["volumes"] if "secret" in each] == [
        "lake-keys"
    ]
    shared = rig.volume(claim["spec"]["volumeName"])
    own = rig.volume(rig.own_claim()["spec"]["volumeName"])
    assert shared["csi"] == own["csi"]
    assert (shared["persistentVolumeReclaimPolicy"], rig.found(push_id).phase) == (
        "Retain", PushPhase.COPYING,
    )  # fmt: skip


def test_no_path_is_filled_in(rig: Pushing) -> None:
    rig.push(folder="/$(HOME)/a$$b", target="s3://lake/$(HOME)/a$$b/")
    rig.pass_time(seconds=15)
    (job,) = rig.jobs()
    arguments = job["spec"]["template"]["spec"]["containers"][0]["args"]
    # Kubernetes makes $ of $$, and fills in $(NAME).
    assert (arguments[2], arguments[4]) == (
        "/data/$$(HOME)/a$$$$b", "s3://lake/$$(HOME)/a$$$$b/",
    )  # fmt: skip


def test_the_card_says_how_far_it_is(rig: Pushing) -> None:
    rig.pushes_so(seconds=200)
    push_id = rig.push()
    rig.pass_time(seconds=120)
    push = rig.found(push_id)
    assert (push.phase, push.files_total, push.stage) == (PushPhase.COPYING, 1200, "copying")
    card = rig.shown(push_id)
    assert card.startswith(f"▶️ results:/run-7 to {TARGET} · Pushing for ")
    assert f"{push.files_done} of 1200 files" in card.replace(",", "")
    assert "1.2 GB/s" in card
    assert "Left          about " in card


def test_what_is_pushed_becomes_a_version(rig: Pushing) -> None:
    push_id = rig.push(dataset="chest-xray", version="v4", note="new labels")
    rig.pass_time(seconds=60)
    push = rig.found(push_id)
    assert (push.phase, push.links, push.version_id is None) == (PushPhase.PUSHED, 2, False)
    assert rig.notes(push_id)["ended"] == (
        f"<@{ALICE}> results:/run-7 was pushed to {TARGET}: 1,200 files, 48 GB.\n"
        "Recording it as chest-xray@v4."
    )
    rig.says(DONE | {"digest": DIGEST}, seconds=20)
    rig.pass_time(minutes=3)
    version = rig.get(push.version_id or "")
    assert (version.reference, version.note, version.phase, version.source) == (
        "chest-xray@v4", "new labels", "ready", TARGET,
    )  # fmt: skip
    assert (rig.found(push_id).is_cleared, rig.nothing_is_left()) == (True, True)


def test_a_look_for_new_content_hinders_nothing(rig: Pushing) -> None:
    rig.add(source=TARGET)
    look_id = rig.version()

    def refreshes(session: Session) -> None:
        session.get_one(Version, look_id).is_refresh = True

    assert refusal(rig)[0] == "chest-xray@v1 is being recorded."
    rig.do(refreshes)
    assert rig.ask().dataset == "chest-xray"


def test_without_a_dataset_nothing_is_recorded(rig: Pushing) -> None:
    push_id = rig.push()
    rig.pass_time(minutes=3)
    assert (rig.found(push_id).version_id, rig.found(push_id).phase) == (None, PushPhase.PUSHED)
    assert rig.notes(push_id)["ended"].splitlines()[1] == (
        f"To add it as a dataset: `/dataset add NAME {TARGET} --store lake`"
    )


def test_a_name_taken_meanwhile_is_told(rig: Pushing) -> None:
    push_id = rig.push(dataset="chest-xray")
    rig.add(source="s3://lake/elsewhere/")
    rig.pass_time(minutes=3)
    push = rig.found(push_id)
    assert (push.phase, push.unrecorded, push.is_cleared) == (
        PushPhase.PUSHED, "The source of chest-xray is now s3://lake/elsewhere/.", True,
    )  # fmt: skip


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_an_end_that_nobody_heard_is_repeated(rig: Pushing, fault: Fault) -> None:
    push_id = rig.push(dataset="chest-xray")
    rig.pass_time(seconds=20)
    first = rig.found(push_id).job_uid
    rig.outside.clock.moment += timedelta(minutes=1)
    rig.world.settle()
    (pod,) = rig.world.list("pods", "datasets")
    rig.world.delete("pods", pod["metadata"]["name"], "datasets")
    rig.outside.ledger.by_name["delete jobs"] = [fault]
    rig.pass_time(minutes=5)
    push = rig.found(push_id)
    assert (push.phase, push.reason, push.version_id is None, push.job_uid == first) == (
        PushPhase.PUSHED, "", False, False,
    )  # fmt: skip


def test_the_worker_says_why_it_failed(rig: Pushing) -> None:
    rig.pushes_so(DENIED, seconds=10, code=65)
    push_id = rig.push(dataset="chest-xray")
    rig.pass_time(minutes=3)
    push = rig.found(push_id)
    assert (push.phase, push.version_id, push.is_cleared) == (PushPhase.FAILED, None, True)
    assert rig.notes(push_id)["ended"].splitlines() == [
        (
            f"<@{ALICE}> results:/run-7 was not pushed to {TARGET}. labels.csv cannot be read by"
            " uid 10001."
        ),
        "First files affected: labels.csv.",
        "Allow it to read everything below the folder, or push a folder that it may read.",
    ]
    assert rig.nothing_is_left()


def test_whoever_began_it_stops_it(rig: Pushing) -> None:
    push_id = rig.push()
    rig.pass_time(seconds=20)
    with pytest.raises(UserError, match="This push belongs to team-a"):
        rig.stop(push_id, BOB, TEAM_B)
    rig.stop(push_id, ERIN)
    rig.pass_time(minutes=2)
    assert rig.found(push_id).reason == f"<@{ERIN}> stopped it."
    assert rig.nothing_is_left()


def test_nobody_pushes_beside_a_job_that_goes(rig: Pushing) -> None:
    push_id = rig.push()
    rig.pass_time(seconds=20)
    rig.world.forbid("delete", "jobs")
    rig.stop(push_id)
    rig.pass_time(seconds=20)
    assert (rig.found(push_id).phase, len(rig.jobs())) == (PushPhase.FAILED, 1)
    assert refusal(rig, target="s3://lake/") == (
        f"The push of <@{ALICE}> to {TARGET} has ended, but its Job has not been deleted yet.",
        "Try again in a minute.",
    )


def test_a_deleted_claim_ends_the_push(rig: Pushing) -> None:
    push_id = rig.push()
    rig.world.delete(CLAIMS, "results", "team-a")
    rig.pass_time(minutes=2)
    assert (rig.found(push_id).reason, rig.found(push_id).is_cleared) == (
        "PVC results is no longer in namespace team-a.", True,
    )  # fmt: skip


def test_one_push_at_a_time_to_a_place(rig: Pushing) -> None:
    rig.push()
    busy = f"<@{ALICE}> is already pushing to {TARGET}."
    assert refusal(rig)[0] == busy
    assert refusal(rig, target=f"{TARGET}train/")[0] == busy
    assert refusal(rig, target="s3://lake/")[0] == busy
    rig.pass_time(minutes=3)
    assert rig.ask().dataset == ""


def test_places_of_others_are_refused(rig: Pushing) -> None:
    rig.add(source=TARGET)
    rig.policy = rig.policy.model_copy(
        update={"stores": {
            **rig.policy.stores,
            "lake": rig.policy.stores["lake"].model_copy(
                update={"places": {"team-a": ("s3://lake/",), "team-b": ("s3://lake/",)}}
            ),
        }}
    )  # fmt: skip
    assert refusal(rig, person=BOB, channel=TEAM_B) == (
        f"{TARGET} overlaps a dataset of another team.",
        "Push to a folder of your own team.",
    )
    assert refusal(rig, target="s3://qm-state/prod/manifests/")[0] == (
        "s3://qm-state/prod/ is reserved for the bot, which keeps the manifests of versions there."
    )
    assert refusal(rig, store="state")[0] == f"team-a may not push to {TARGET}."


def test_names_that_cannot_be_are_refused(rig: Pushing) -> None:
    assert (
        refusal(rig, version="v4")[1]
        == "Name the dataset that it becomes, for example --as chest-xray."
    )
    rig.add(source="s3://lake/elsewhere/")
    assert refusal(rig, dataset="chest-xray")[0] == (
        "The name chest-xray is taken by another dataset at s3://lake/elsewhere/."
    )
    assert refusal(rig, target="s3://lake/elsewhere/", dataset="other") == (
        "s3://lake/elsewhere/ is already the dataset chest-xray.",
        "Omit --as, or use --as chest-xray.",
    )
    assert rig.ask(target="s3://lake/elsewhere/").dataset == "chest-xray"


@pytest.mark.parametrize(
    ("driver", "mode", "said"),
    [
        (
            "ebs.csi.aws.com",
            "ReadWriteMany",
            (
                "PVC other cannot be read from namespace datasets, where the stores' keys are. It"
                " is on a volume of driver ebs.csi.aws.com, which is not known to let several"
                " namespaces mount one volume."
            ),
        ),
        (
            NFS,
            "ReadWriteOnce",
            (
                "Only one node at a time can mount PVC other (access modes: ReadWriteOnce). A push"
                " would also mount it in namespace datasets, where the stores' keys are."
            ),
        ),
    ],
)
def test_volumes_that_cannot_be_seen_are_refused(
    rig: Pushing, driver: str, mode: str, said: str
) -> None:
    rig.claim("other", driver, mode)
    assert refusal(rig, claim="other")[0] == said
    assert refusal(rig, claim="resluts")[1] == "Did you mean results?"


@pytest.mark.parametrize(
    ("marks", "said"),
    [
        (
            {"quartermaster.dev/dataset-cache": "c1"},
            "PVC other shows the cache of a dataset, which is shared.",
        ),
        (
            {"quartermaster.dev/run": "r1", "quartermaster.dev/team": "team-b"},
            "PVC other was created for team team-b.",
        ),
    ],
)
def test_foreign_claims_are_not_pushed(rig: Pushing, marks: dict[str, str], said: str) -> None:
    rig.claim("other")
    rig.snapshot(of="other")
    rig.world.patch(CLAIMS, "other", {"metadata": {"labels": marks}}, "team-a")
    rig.view()
    assert refusal(rig, claim="other") == (said, "Use a PVC that your runs wrote to.")
    assert refusal(rig, claim="", snapshot="monday") == (
        "VolumeSnapshot monday does not belong to a PVC of team-a.",
        "Use a snapshot of your own team.",
    )


def test_snapshots_of_other_teams_are_not_pushed(rig: Pushing) -> None:
    rig.snapshot()
    marks = {"quartermaster.dev/snapshot": "s1", "quartermaster.dev/team": "team-b"}
    rig.world.patch("volumesnapshots", "monday", {"metadata": {"labels": marks}}, "team-a")
    rig.view()
    assert refusal(rig, claim="", snapshot="monday")[0] == (
        "VolumeSnapshot monday does not belong to a PVC of team-a."
    )


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
@pytest.mark.parametrize("driver", [NFS, TRIDENT])
def test_each_request_may_be_lost(rig: Pushing, driver: str, fault: Fault) -> None:
    rig.world.install("trident")
    rig.claim("made", driver)
    rig.others = rig.volumes()
    for name in ("create jobs", f"create {CLAIMS}", "create persistentvolumes", "delete jobs",
                 f"delete {CLAIMS}", "delete persistentvolumes", f"patch {CLAIMS}",
                 "create tridentvolumereferences", "delete tridentvolumereferences"):  # fmt: skip
        rig.outside.ledger.by_name[name] = [fault]
    push_id = rig.push(claim="made")
    rig.pass_time(seconds=1)
    rig.restart()
    rig.pass_time(minutes=6)
    assert (rig.found(push_id).phase, rig.found(push_id).is_cleared) == (PushPhase.PUSHED, True)
    assert rig.nothing_is_left()
    assert rig.world.list("tridentvolumereferences") == []


@pytest.mark.parametrize("made", ["jobs", "persistentvolumes", CLAIMS])
def test_a_policy_that_denies_ends_it(rig: Pushing, made: str) -> None:
    rig.deny(made)
    push_id = rig.push()
    rig.pass_time(minutes=10)
    push = rig.found(push_id)
    assert (push.phase, DENIAL in push.reason) == (PushPhase.FAILED, True)
