"""What goes wrong with surveys: said in words, and cleaned up."""

import pytest

from bot.datasets.tables import VersionPhase
from tests.bot.datasets.rig import SETTINGS, Rig
from tests.bot.ground import ALICE, DENIAL

NO_ACCESS = {
    "event": "failed",
    "reason": "no_access",
    "message": "The store refuses the keys for s3://lake/chest-xray/ (AccessDenied).",
    "hint": "A platform admin checks the Secret of store lake.",
    "keys": [],
}
UNMOUNTED = 'MountVolume.SetUp failed for volume "keys-0" : secret "lake-keys" not found'
STORE_DOWN = {
    "event": "failed",
    "reason": "store_down",
    "message": "The store does not answer.",
    "hint": "",
    "keys": [],
}


def first_lines(rig: Rig, version_id: str) -> list[str]:
    return rig.card(version_id).partition("\n  Source")[0].splitlines()


def test_what_the_worker_says_is_told(rig: Rig) -> None:
    rig.says(NO_ACCESS, seconds=10, code=65)
    rig.add()
    version_id = rig.version()
    rig.pass_time(minutes=3)
    assert (rig.get(version_id).phase, rig.jobs()) == (VersionPhase.FAILED, [])
    assert first_lines(rig, version_id) == [
        "❌ chest-xray@v1 · Not recorded",
        "The store refuses the keys for s3://lake/chest-xray/ (AccessDenied).",
        "A platform admin checks the Secret of store lake.",
    ]
    assert rig.notes(version_id) == {
        "ended": f"<@{ALICE}> chest-xray@v1 was not recorded. The store refuses the keys for"
        " s3://lake/chest-xray/ (AccessDenied).\nA platform admin checks the Secret of store lake."
    }


def test_a_store_that_is_down_is_tried_again(rig: Rig) -> None:
    rig.says(STORE_DOWN, seconds=10, code=75)
    rig.add()
    version_id = rig.version()
    rig.pass_time(seconds=18)
    assert rig.card(version_id).splitlines()[0] == "⚠️ chest-xray@v1 · Listing for 15s"
    assert "The store does not answer. Retrying." in rig.card(version_id)
    rig.pass_time(minutes=30)
    assert (rig.get(version_id).phase, rig.get(version_id).reason) == (
        VersionPhase.FAILED,
        "The store does not answer.",
    )


def test_keys_of_a_failure_are_named(rig: Rig) -> None:
    bad = NO_ACCESS | {"reason": "bad_keys", "message": "Two keys cannot be files.", "hint": ""}
    rig.says(bad | {"keys": ["a/../b", "/c"]}, seconds=10, code=65)
    rig.add()
    version_id = rig.version()
    rig.pass_time(minutes=3)
    assert first_lines(rig, version_id)[1:] == [
        "Two keys cannot be files.",
        "First keys: `a/../b`, `/c`",
    ]


def test_a_missing_secret_is_named_in_time(rig: Rig) -> None:
    rig.world.delete("secrets", "lake-keys", "datasets")
    rig.add()
    version_id = rig.version()
    rig.pass_time(minutes=11)
    assert first_lines(rig, version_id) == [
        "⚠️ chest-xray@v1 · Starting",
        f"Kubernetes warns: {UNMOUNTED}.",
        "Late: its pod should have started by now.",
    ]
    rig.pass_time(hours=1)
    assert rig.get(version_id).reason == (
        f"Its pod did not start within 1h. Kubernetes warns: {UNMOUNTED}."
    )
    assert rig.jobs() == []


def test_a_deleted_job_is_told_and_final(rig: Rig) -> None:
    rig.add()
    version_id = rig.version()
    rig.pass_time(seconds=20)
    rig.world.delete("jobs", rig.get(version_id).job_name, "datasets")
    rig.pass_time(minutes=1)
    assert first_lines(rig, version_id) == [
        "❌ chest-xray@v1 · Not recorded",
        "Its Job was deleted outside Quartermaster.",
        "Record the version again.",
    ]
    assert rig.effects() == ["create jobs"]


def test_a_job_of_somebody_else_stays(rig: Rig) -> None:
    rig.add()
    version_id = rig.version()
    name = rig.get(version_id).job_name
    template = {
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "x"}]},
    }
    body = {"metadata": {"name": name}, "spec": {"template": template}}
    rig.world.create("jobs", body, "datasets")
    rig.pass_time(minutes=1)
    assert first_lines(rig, version_id)[1] == (
        f"Job {name} in namespace datasets already exists and does not belong to Quartermaster, so"
        " it was not changed."
    )
    assert (rig.effects(), len(rig.jobs())) == ([], 1)


def test_a_missing_namespace_is_told_and_retried(rig: Rig) -> None:
    datasets = SETTINGS.datasets
    assert datasets is not None
    there = datasets.model_copy(update={"namespace": "nowhere"})
    rig.policy = SETTINGS.model_copy(update={"datasets": there})
    rig.add()
    version_id = rig.version()
    rig.pass_time(seconds=30)
    assert first_lines(rig, version_id)[0] == "⚠️ chest-xray@v1 · Starting"
    assert 'namespaces "nowhere" not found' in rig.get(version_id).trouble


def test_a_store_taken_away_waits_for_it(rig: Rig) -> None:
    rig.add()
    version_id = rig.version()
    rig.policy = SETTINGS.model_copy(update={"stores": {}})
    rig.pass_time(seconds=30)
    assert rig.get(version_id).trouble == (
        "quartermaster.yaml no longer has stores.lake and stores.state."
    )
    rig.policy = SETTINGS
    rig.pass_time(minutes=10)
    assert (rig.get(version_id).phase, rig.get(version_id).trouble) == (VersionPhase.READY, "")


@pytest.mark.parametrize("silent", [{"event": "progress"}, {"event": "done", "digest": 7}])
def test_an_end_without_result_is_no_version(rig: Rig, silent: dict[str, object]) -> None:
    rig.says(silent, seconds=10)
    rig.add()
    version_id = rig.version()
    rig.pass_time(minutes=3)
    assert (rig.get(version_id).phase, rig.get(version_id).reason) == (
        VersionPhase.FAILED,
        "The survey succeeded, but its pod was gone before the result was read.",
    )


def test_a_policy_that_denies_ends_it(rig: Rig) -> None:
    rig.deny("jobs")
    rig.add()
    version_id = rig.version()
    rig.pass_time(minutes=3)
    version = rig.get(version_id)
    assert (version.phase, DENIAL in version.reason) == (VersionPhase.FAILED, True)
