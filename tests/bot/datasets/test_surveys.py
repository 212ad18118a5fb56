"""A version from the wish to its end: what the cluster is asked for, and what people read."""

import json

import pytest

from bot.datasets.job import survey_job
from bot.datasets.tables import VersionPhase
from playground.ledger import Fault
from tests.bot.datasets.rig import DIGEST, DONE, IMAGE, OTHER_DIGEST, SETTINGS, Rig
from tests.bot.ground import ALICE
from tests.schemas import fits

UNFIT = (
    "2 keys cannot be stored as files, for example because they contain `..`, or because another"
    " key needs them as a folder. This version cannot be copied as it is."
)


def test_a_version_is_recorded_from_what_was_found(rig: Rig) -> None:
    rig.add()
    version_id = rig.version(note="as delivered")
    rig.pass_time(minutes=2)
    version = rig.get(version_id)
    assert (version.phase, version.digest) == (VersionPhase.READY, DIGEST)
    assert (version.objects, version.size_bytes) == (3, 2_500_000)
    assert rig.notes(version_id) == {
        "ended": f"<@{ALICE}> chest-xray@v1 is recorded: 3 objects, 2.5 MB."
    }
    assert (rig.effects(), rig.jobs()) == (["create jobs", "delete jobs"], [])


def test_the_card_follows_a_survey(rig: Rig) -> None:
    rig.add()
    version_id = rig.version(name="first", note="as delivered")
    assert rig.card(version_id).splitlines()[0] == "⏳ chest-xray@first · Starting"
    rig.pass_time(seconds=36)
    assert rig.card(version_id) == _LISTING
    rig.pass_time(minutes=2)
    assert rig.card(version_id) == _RECORDED


def test_the_pod_is_confined_and_has_keys(rig: Rig) -> None:
    rig.add()
    version_id = rig.version()
    rig.run()
    (job,) = rig.jobs()
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    store = {
        "endpoint": "https://grid.example.com:8082",
        "region": "us-east-1",
        "path_style": True,
        "ca_file": "/etc/quartermaster/stores/lake/ca.crt",
        "credentials": "/etc/quartermaster/stores/lake",
        "public_endpoint": None,
    }
    state = {
        "endpoint": None,
        "region": "us-east-1",
        "path_style": False,
        "ca_file": None,
        "credentials": "/etc/quartermaster/stores/state",
        "public_endpoint": None,
    }
    assert container["image"] == IMAGE
    assert container["args"] == [
        *("survey", "--source", "s3://lake/chest-xray/", "--source-store", json.dumps(store)),
        *("--manifest", f"s3://qm-state/prod/manifests/{version_id}/"),
        *("--manifest-store", json.dumps(state)),
    ]
    assert [each["mountPath"] for each in container["volumeMounts"]] == [
        "/etc/quartermaster/stores/lake",
        "/etc/quartermaster/stores/state",
        "/tmp",  # noqa: S108 - in the pod
    ]
    assert [each["secret"]["secretName"] for each in pod["volumes"][:2]] == [
        "lake-keys",
        "state-keys",
    ]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True


def test_a_source_is_taken_as_it_stands(rig: Rig) -> None:
    """Kubernetes fills in $(NAME) in arguments, and makes $ of $$."""
    rig.add(source="s3://lake/$(HOME)/$$/")
    rig.version()
    rig.run()
    (job,) = rig.jobs()
    arguments = job["spec"]["template"]["spec"]["containers"][0]["args"]
    assert arguments[2] == "s3://lake/$$(HOME)/$$$$/"


def test_the_same_content_is_no_new_version(rig: Rig) -> None:
    rig.add()
    first = rig.version()
    rig.pass_time(minutes=2)
    again = rig.version(name="v2")
    rig.pass_time(minutes=2)
    found = rig.get(again)
    assert (found.phase, found.same_as) == (VersionPhase.UNCHANGED, first)
    assert rig.notes(again) == {
        "ended": f"<@{ALICE}> chest-xray has not changed since v1, so there is no version v2."
    }
    assert rig.card(again).splitlines()[:2] == [
        "chest-xray@v2 · Unchanged",
        "No changes since v1: the content is the same, so the name v2 is still free.",
    ]


def test_changed_content_is_a_version_with_parent(rig: Rig) -> None:
    rig.add()
    first = rig.version()
    rig.pass_time(minutes=2)
    rig.finds(OTHER_DIGEST)
    second = rig.version()
    rig.pass_time(minutes=2)
    found = rig.get(second)
    assert (found.name, found.phase, found.parents) == ("v2", VersionPhase.READY, [first])
    assert rig.notes(second)["ended"] == (
        f"<@{ALICE}> chest-xray@v2 is recorded: 3 objects, 2.5 MB.\n"
        "To see what changed: `/dataset diff chest-xray@v1 chest-xray@v2`"
    )


def test_keys_that_cannot_be_files_are_told(rig: Rig) -> None:
    rig.says(DONE | {"digest": DIGEST, "problems": 2, "warnings": 1}, seconds=10)
    rig.add()
    version_id = rig.version()
    rig.pass_time(minutes=2)
    assert rig.get(version_id).phase == VersionPhase.READY
    assert rig.card(version_id).splitlines()[:2] == [
        "⚠️ chest-xray@v1 · Recorded",
        UNFIT,
    ]


def test_a_cloud_identity_brings_no_kubernetes_token(rig: Rig) -> None:
    rig.add()
    version = rig.get(rig.version())
    assert SETTINGS.datasets is not None
    datasets = SETTINGS.datasets.model_copy(update={"service_account": "reads-lake"})
    job = survey_job(version, datasets, SETTINGS.stores, "installation")
    pod = job["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == "reads-lake"
    assert pod["automountServiceAccountToken"] is False


def test_the_job_fits_the_kubernetes_schema(rig: Rig) -> None:
    rig.add()
    version = rig.get(rig.version())
    datasets = SETTINGS.datasets
    assert datasets is not None
    job = survey_job(version, datasets, SETTINGS.stores, "installation")
    fits({"apiVersion": "batch/v1", "kind": "Job", **job}, "batch.v1.Job")


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
@pytest.mark.parametrize("verb", ["create jobs", "delete jobs"])
def test_lost_answers_make_one_job(rig: Rig, verb: str, fault: Fault) -> None:
    rig.outside.ledger.by_name[verb] = [fault]
    rig.add()
    version_id = rig.version()
    rig.pass_time(minutes=5)
    assert (rig.get(version_id).phase, rig.jobs()) == (VersionPhase.READY, [])
    assert list(rig.notes(version_id)) == ["ended"]


def test_a_step_that_was_never_saved_repeats(rig: Rig) -> None:
    rig.add()
    version_id = rig.version()
    for _ in range(3):
        rig.controller.step(version_id)
        rig.restart()
    rig.pass_time(minutes=2)
    assert rig.get(version_id).phase == VersionPhase.READY
    assert rig.effects() == ["create jobs", "delete jobs"]


_LISTING = """\
▶️ chest-xray@first · Listing for 33s
3,000 objects, 30 MB so far
  Source        `s3://lake/chest-xray/`
  Store         `lake`
  Requested by  Alice
  Requested     2026-11-21 12:00 UTC
  Rate          97 objects/s
  Note          as delivered"""
_RECORDED = f"""\
✅ chest-xray@first · Recorded
  Source        `s3://lake/chest-xray/`
  Store         `lake`
  Requested by  Alice
  Requested     2026-11-21 12:00 UTC
  Objects       3
  Size          2.5 MB (2,500,000 bytes)
  Duration      40s
  Digest        `{DIGEST}`
  Note          as delivered"""
