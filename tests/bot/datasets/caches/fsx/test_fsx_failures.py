"""What goes wrong with caches on FSx: said in words, and cleaned up after."""

from datetime import timedelta

import pytest

from bot.datasets.checking import checks
from bot.errors import StorageError
from bot.findings import Finding
from tests.bot.datasets.caches.fsx.fsx_filling import SYSTEM, Importing
from tests.bot.datasets.caches.fsx.test_fsx_filling import IMPORT, IMPORTED, MADE

RELEASE = "RELEASE_DATA_FROM_FILESYSTEM"


def unlink(importing: Importing) -> str:
    importing.system.associations.clear()
    return f"/lake of {SYSTEM} is not linked to a bucket."


def test_the_doctor_looks_at_the_link(importing: Importing) -> None:
    def told() -> Finding:
        datasets = importing.policy.datasets
        assert datasets is not None
        found = checks(importing.policy, datasets, importing.cluster)
        return next(each for each in found if each.about == "cache class lustre")

    assert told() == Finding(
        "cache class lustre", "ok", f"/lake of {SYSTEM} is linked to s3://lake/"
    )
    unlink(importing)
    assert told() == Finding(
        "cache class lustre",
        "failed",
        f"/lake of {SYSTEM} is not linked to a bucket.",
        "A platform admin must fix it, or datasets.classes.NAME.fsx in quartermaster.yaml.",
    )


def test_trouble_is_shown_on_the_card(importing: Importing) -> None:
    importing.region.give_keys("wrong")
    cache_id = importing.cache()
    importing.pass_time(minutes=2)
    assert "FSx denied access to the bot (SignatureDoesNotMatch)" in importing.shown(cache_id)
    importing.region.give_keys()
    importing.pass_time(minutes=30)
    assert importing.found(cache_id).phase == "ready"


def test_a_wrong_link_is_said(importing: Importing) -> None:
    said = unlink(importing)
    cache_id = importing.cache()
    importing.pass_time(minutes=2)
    reason, unblock = importing.failed(cache_id)
    assert (reason, importing.tasks(), bool(unblock)) == (said, [], True)
    assert (importing.volumes(), importing.claims(), importing.jobs()) == ([], [], [])
    assert importing.found(cache_id).is_cleared


def test_a_file_system_being_made_is_awaited(importing: Importing) -> None:
    importing.system.lifecycle = "CREATING"
    cache_id = importing.cache()
    importing.pass_time(minutes=1)
    assert f"File system {SYSTEM} is being created." in importing.shown(cache_id)
    importing.system.lifecycle = "AVAILABLE"
    importing.pass_time(minutes=10)
    assert importing.found(cache_id).phase == "ready"


def test_a_failed_task_is_quoted(importing: Importing) -> None:
    importing.region.estate.fails = "The path is not there."
    importing.region.estate.failed_files = 3
    cache_id = importing.cache()
    importing.pass_time(minutes=5)
    task = importing.region.estate.tasks[0].id
    assert importing.failed(cache_id) == (
        f"FSx task {task} failed. 3 of 627,615 files failed. The path is not there.",
        "Check the folder in FSx, then cache it again.",
    )
    assert (importing.effects(), importing.found(cache_id).is_cleared) == (MADE[:1], True)


def test_a_task_that_somebody_ended_is_said(importing: Importing) -> None:
    cache_id = importing.cache()
    importing.pass_time(seconds=45)
    (task,) = importing.region.estate.tasks
    task.canceled = importing.clock.now()
    importing.pass_time(minutes=2)
    reason, _ = importing.failed(cache_id)
    assert reason.startswith(f"FSx task {task.id} was ended outside Quartermaster (CANCEL")


def test_a_task_that_never_ends_is_ended(importing: Importing) -> None:
    importing.region.estate.takes = timedelta(days=90)
    cache_id = importing.cache()
    importing.pass_time(minutes=2)
    importing.leap(hours=8)
    importing.pass_time(minutes=5)
    reason, unblock = importing.failed(cache_id)
    task = importing.region.estate.tasks[0]
    assert reason.startswith(f"It was not imported within 6h 52m: {task.id} is EXECUTING, ")
    assert (unblock, importing.found(cache_id).stage) == ("Cache it again.", "deadline")
    importing.pass_time(minutes=5)
    assert importing.tasks() == [(IMPORT, "CANCELED", ["s3://lake/chest-xray"])]
    assert importing.found(cache_id).is_cleared


def test_what_differs_is_failed_and_released(importing: Importing) -> None:
    last = {
        "event": "failed",
        "reason": "changed",
        "message": "a.png has another content than was recorded.",
        "hint": "What runs would read is not the version. Record a new one.",
        "keys": ["a.png"],
    }
    importing.fills(last=last, code=65)
    cache_id = importing.cache()
    importing.pass_time(minutes=20)
    reason, unblock = importing.failed(cache_id)
    assert (reason, unblock) == (last["message"], last["hint"])
    assert importing.found(cache_id).stage == "changed"
    assert importing.tasks() == [*IMPORTED, (RELEASE, "SUCCEEDED", ["lake/chest-xray"])]
    assert (importing.volumes(), importing.claims(), importing.jobs()) == ([], [], [])
    assert importing.found(cache_id).is_cleared


def test_a_volume_of_somebody_is_left_alone(importing: Importing) -> None:
    cache_id = importing.cache()
    name = importing.found(cache_id).claim_name
    csi = {"driver": "other", "volumeHandle": "x"}
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"], "csi": csi}
    importing.world.create("persistentvolumes", {"metadata": {"name": name}, "spec": spec})
    importing.pass_time(minutes=10)
    assert importing.failed(cache_id) == (
        (
            f"PersistentVolume {name} already exists and belongs to something else, so it was not"
            " changed."
        ),
        "Cache it again.",
    )
    assert [each["metadata"]["name"] for each in importing.volumes()] == [name]


def test_a_region_that_was_removed_is_said(importing: Importing) -> None:
    cache_id = importing.cache()
    datasets = importing.policy.datasets
    assert datasets is not None
    gone = datasets.model_copy(update={"fsx": None})
    importing.policy = importing.policy.model_copy(update={"datasets": gone})
    with pytest.raises(StorageError) as caught:
        importing.keeper.step(cache_id)
    assert caught.value.message == "datasets.fsx is no longer in quartermaster.yaml."
