"""Caches on FSx: names are imported by a task, then every file is read once and compared."""

from typing import Any

import pytest
from sqlmodel import Session

from bot.datasets.caches.answers import CacheOffer
from bot.datasets.caches.replies import offered
from bot.datasets.finding import Reference
from bot.errors import ConflictError, UsageError
from bot.slack.text import as_text
from playground.ledger import Fault
from tests.bot.datasets.caches.fsx.fsx_filling import SYSTEM, Importing
from tests.bot.datasets.caches.rows import DIGEST, add_dataset, add_version
from tests.bot.datasets.rig import with_places
from tests.bot.ground import ALICE
from tests.schemas import fits

IMPORT, RELEASE = "IMPORT_METADATA_FROM_REPOSITORY", "RELEASE_DATA_FROM_FILESYSTEM"
IMPORTED = [(IMPORT, "SUCCEEDED", ["s3://lake/chest-xray"])]
MADE = [
    "CreateDataRepositoryTask",
    "create persistentvolumes",
    "create persistentvolumeclaims",
    "create jobs",
    "delete jobs",
]


def test_names_come_first_then_files(importing: Importing) -> None:
    cache_id = importing.cache()
    importing.run()
    importing.pass_time(minutes=1)
    assert importing.shown(cache_id).splitlines()[:2] == [
        "▶️ chest-xray@v3 on lustre · Importing names for 58s",
        "▰▱▱▱▱▱▱▱▱▱▱▱ 16 % · 104,602 of 627,615 file names",
    ]
    assert importing.jobs() == []
    importing.pass_time(minutes=1, seconds=40)
    assert importing.shown(cache_id).startswith("▶️ chest-xray@v3 on lustre · Reading for ")
    importing.pass_time(minutes=5)
    cache = importing.found(cache_id)
    assert (cache.phase, cache.is_ready) == ("ready", True)
    assert importing.tasks() == IMPORTED
    assert importing.effects() == MADE
    assert importing.notes(cache_id)["filled"].startswith(
        f"<@{ALICE}> chest-xray@v3 is cached on lustre: 627,615 files, 250 GB."
    )


def test_the_offer_speaks_of_importing(importing: Importing) -> None:
    asked = importing.ask()
    assert isinstance(asked, CacheOffer)
    lines = [line.strip() for line in as_text(offered(asked)).splitlines()]
    assert "Imports     627,615 files, 250 GB (250,000,000,000 bytes)" in lines


def test_its_volume_names_the_file_system(importing: Importing) -> None:
    cache = importing.found(importing.ready())
    (volume,) = importing.volumes()
    assert volume["spec"]["csi"] == {
        "driver": "fsx.csi.aws.com",
        "volumeHandle": SYSTEM,
        "volumeAttributes": {
            "dnsname": f"{SYSTEM}.fsx.eu-central-1.amazonaws.com",
            "mountname": "abcdefgh/lake/chest-xray",
        },
    }
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert volume["spec"]["capacity"] == {"storage": "233Gi"}
    (claim,) = importing.claims()
    assert claim["spec"]["volumeName"] == claim["metadata"]["name"] == cache.claim_name
    assert claim["status"]["phase"] == "Bound"


def test_the_reader_sees_what_runs_see(importing: Importing) -> None:
    importing.cache()
    importing.pass_time(minutes=2, seconds=45)
    (job,) = importing.jobs()
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["args"][0] == "verify"
    assert container["args"][5:9] == ["--digest", DIGEST, "--source", "s3://lake/chest-xray/"]
    assert container["args"][-2:] == ["--target", "/data"]
    seen = {"name": "data", "mountPath": "/data", "readOnly": True}
    assert seen in container["volumeMounts"]
    assert "fsGroup" not in pod["securityContext"]


def test_all_objects_fit_the_kubernetes_schema(importing: Importing) -> None:
    importing.cache()
    importing.pass_time(minutes=2, seconds=45)
    for made, kind in ((importing.volumes(), "core.v1.PersistentVolume"),
                       (importing.claims(), "core.v1.PersistentVolumeClaim"),
                       (importing.jobs(), "batch.v1.Job")):  # fmt: skip
        fits(made[0], kind)


def ask(importing: Importing, **more: Any) -> CacheOffer:
    offer = importing.ask(**more)
    assert isinstance(offer, CacheOffer)
    return offer


def test_options_of_volumes_are_refused(importing: Importing) -> None:
    with pytest.raises(UsageError) as caught:
        ask(importing, size=2**40)
    assert (caught.value.message, caught.value.hint) == (
        (
            "lustre is a file system that shows the objects of a bucket, so there is no size to"
            " choose."
        ),
        "Leave out --size.",
    )
    with pytest.raises(UsageError, match="rearranging its files would change those objects"):
        ask(importing, layout="imagenet")
    assert ask(importing).plan.capacity_bytes == 233 * 2**30


def test_other_buckets_are_refused_at_once(importing: Importing) -> None:
    importing.policy = with_places(importing.policy, {"team-a": ["s3://elsewhere/"]})
    importing.do(
        lambda session: add_version(
            session, add_dataset(session, "other", source="s3://elsewhere/other/")
        )
    )
    with pytest.raises(ConflictError) as caught:
        ask(importing, reference=Reference("other", "v3"))
    assert (caught.value.message, caught.value.hint) == (
        "other@v3 is in s3://elsewhere/other/, but lustre shows only s3://lake/.",
        "Cache it on another class with --class.",
    )


def test_selected_files_are_not_imported(importing: Importing) -> None:
    def select(session: Session) -> None:
        dataset = add_dataset(session, "other", source="s3://lake/other/")
        version = add_version(session, dataset, "masses")
        version.selected_from = "1"
        session.add(version)

    importing.do(select)
    with pytest.raises(ConflictError) as caught:
        ask(importing, reference=Reference("other", "masses"))
    assert (caught.value.message, caught.value.hint) == (
        (
            "lustre is a file system that shows the objects of a bucket, so it cannot have the"
            " files of other@masses alone."
        ),
        "Use another class with --class.",
    )


def test_one_version_of_a_folder_at_once(importing: Importing) -> None:
    importing.ready()
    importing.do(
        lambda session: add_version(
            session, add_dataset(session, "inner", source="s3://lake/chest-xray/val/")
        )
    )
    with pytest.raises(ConflictError) as caught:
        ask(importing, reference=Reference("inner", "v3"))
    assert (caught.value.message, caught.value.hint) == (
        (
            "chest-xray@v3 is in folder lake/chest-xray of lustre, which importing"
            " inner@v3 would change."
        ),
        "Evict chest-xray@v3 first, or use another class with --class.",
    )


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_a_lost_answer_makes_one_task(importing: Importing, fault: Fault) -> None:
    importing.outside.ledger.by_name["CreateDataRepositoryTask"] = [fault]
    importing.ready()
    assert importing.tasks() == IMPORTED


def test_a_task_is_found_without_its_token(importing: Importing) -> None:
    importing.outside.ledger.by_name["CreateDataRepositoryTask"] = [Fault.LOSE_ANSWER]
    cache_id = importing.cache()
    importing.pass_time(seconds=3)
    (task,) = importing.region.estate.tasks
    task.asked.pop("ClientRequestToken")
    importing.restart()
    importing.pass_time(minutes=10)
    assert (importing.found(cache_id).phase, importing.tasks()) == ("ready", IMPORTED)


@pytest.mark.parametrize("verb", ["create persistentvolumes", "create persistentvolumeclaims"])
@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_lost_answers_make_one_object(importing: Importing, verb: str, fault: Fault) -> None:
    importing.outside.ledger.by_name[verb] = [fault]
    importing.ready()
    assert (len(importing.volumes()), len(importing.claims())) == (1, 1)


def test_steps_that_were_never_saved_repeat(importing: Importing) -> None:
    cache_id = importing.cache()
    for _ in range(12):
        importing.keeper.step(cache_id)  # The bot dies before it saves what it did.
        importing.pass_time(seconds=30)
    importing.pass_time(minutes=10)
    assert importing.found(cache_id).phase == "ready"
    assert importing.tasks() == IMPORTED
    assert [each for each in importing.effects() if "delete" not in each].count("create jobs") == 1


def test_another_task_is_waited_for(importing: Importing) -> None:
    importing.region.estate.answer(
        "CreateDataRepositoryTask",
        {"Type": "EXPORT_TO_REPOSITORY", "FileSystemId": SYSTEM, "Report": {"Enabled": False}},
    )
    cache_id = importing.cache()
    importing.pass_time(minutes=1)
    assert (
        f"FSx runs one task per file system at a time, and {SYSTEM} has another one"
        " running." in importing.shown(cache_id)
    )
    importing.pass_time(minutes=10)
    assert importing.found(cache_id).phase == "ready"


def test_what_passes_is_tried_again(importing: Importing) -> None:
    for operation in ("CreateDataRepositoryTask", "DescribeDataRepositoryTasks"):
        importing.region.app.refuse(operation, "ThrottlingException")
        importing.region.app.refuse(operation, "InternalServerError", 500)
    importing.ready()
    assert importing.tasks() == IMPORTED
