"""Runs name PVCs and Secrets of their team only: others are refused, and never mounted."""

from typing import Any

import pytest

from bot.cluster import labels
from bot.slack.grammar.container_parameters import SecretReference, VolumeMount
from bot.training.tables import RunPhase
from playground.cluster.story import claim
from tests.bot.ground import ALICE, INSTALLATION
from tests.bot.training.rig import Rig, settings
from tests.bot.training.runs.test_data_runs import DATA, cached, refusal, share
from tests.bot.training.sessions.notebooks import running, with_ingress

CLAIMS, VOLUMES = "persistentvolumeclaims", "persistentvolumes"
OURS = {labels.MANAGED_BY: labels.MANAGER, labels.INSTALLATION: INSTALLATION}
OF_TEAM_A = {labels.TEAM: "team-a", labels.PERSON: ALICE}
WAY_OUT = "Use a PVC of the team. To read a dataset, use `--data chest-xray@v3:/data`."
NAME_YOURS = "Use a Secret that your team created: `--secret WANDB_API_KEY=wandb/api-key`."
SHOWS = "PVC there shows the cache of dataset chest-xray@v3, which is shared."


def marked(name: str, marks: dict[str, str], **annotations: str) -> dict[str, Any]:
    """A PVC with labels."""
    body: dict[str, Any] = claim(name)
    body["metadata"] |= {"labels": marks, "annotations": annotations}
    return body


def mount(name: str = "there", *, read_only: bool = False) -> dict[str, Any]:
    return {"pvc": (VolumeMount(name, "/data", read_only=read_only),)}


def secret(name: str, key: str = "token") -> dict[str, Any]:
    return {"secret": (SecretReference("T", name, key),)}


def failure(rig: Rig, run_id: str) -> tuple[str, str]:
    """Why a run has failed; nothing of it was made."""
    rig.pass_time(seconds=10)
    run = rig.get(run_id)
    assert (run.phase, run.job_uid, rig.job(run_id)) == (RunPhase.FAILED, None, None)
    return run.reason, run.unblock


FOREIGN = [
    ({labels.DATASET_SHARE: "s1"}, SHOWS),
    ({labels.DATASET_CACHE: "c1"}, SHOWS),
    ({labels.DATASET_PUSH: "p1"} | OF_TEAM_A, "PVC there belongs to Quartermaster itself."),
    ({"quartermaster.dev/new": "x"} | OF_TEAM_A, "PVC there belongs to Quartermaster itself."),
    ({labels.RUN: "r1", labels.TEAM: "team-b"}, "PVC there was created for team team-b."),
    ({labels.RESTORE: "r1", labels.TEAM: "team-b"}, "PVC there was created for team team-b."),
    ({labels.RUN: "r1"}, "PVC there belongs to Quartermaster itself."),
]


@pytest.mark.parametrize(("marks", "reason"), FOREIGN)
@pytest.mark.parametrize("read_only", [False, True])
def test_claims_with_our_labels_are_refused(
    rig: Rig, marks: dict[str, str], reason: str, *, read_only: bool
) -> None:
    body = marked("there", OURS | marks, **{"quartermaster.dev/dataset": "chest-xray@v3"})
    rig.world.create(CLAIMS, body, "team-a")
    rig.look()
    assert refusal(rig, **mount(read_only=read_only)) == (reason, WAY_OUT)


@pytest.mark.parametrize(("marks", "reason"), FOREIGN)
def test_claims_the_view_missed_end_runs(rig: Rig, marks: dict[str, str], reason: str) -> None:
    rig.world.create(CLAIMS, claim("there"), "team-a")
    rig.look()
    run_id = rig.submit(**mount())
    rig.world.delete(CLAIMS, "there", "team-a")
    body = marked("there", OURS | marks, **{"quartermaster.dev/dataset": "chest-xray@v3"})
    rig.world.create(CLAIMS, body, "team-a")
    assert failure(rig, run_id) == (reason, WAY_OUT)
    assert rig.card(run_id).splitlines()[:3] == ["❌ lane · Failed", reason, WAY_OUT]


def test_claims_gone_meanwhile_end_runs(rig: Rig) -> None:
    rig.world.create(CLAIMS, claim("there"), "team-a")
    rig.look()
    run_id = rig.submit(**mount())
    rig.world.delete(CLAIMS, "there", "team-a")
    reason, _ = failure(rig, run_id)
    assert reason == "Namespace team-a has no PVC there."


@pytest.mark.parametrize("label", [labels.RUN, labels.RESTORE])
def test_claims_made_for_the_team_are_mounted(rig: Rig, label: str) -> None:
    rig.world.create(CLAIMS, marked("there", OURS | OF_TEAM_A | {label: "r1"}), "team-a")
    rig.look()
    run_id = rig.submit(**mount())
    rig.pass_time(minutes=5)
    assert rig.get(run_id).phase == RunPhase.SUCCEEDED


def test_a_share_is_mounted_by_data_alone(rig: Rig) -> None:
    cached(rig)
    run_id = rig.submit(data=DATA)
    name = share(rig)
    there = rig.world.get(CLAIMS, name, "team-a")
    assert there is not None
    marks = OURS | {labels.DATASET_SHARE: "s"}
    rig.world.patch(CLAIMS, name, {"metadata": {"labels": marks}}, "team-a")
    rig.pass_time(minutes=5)
    assert rig.get(run_id).phase == RunPhase.SUCCEEDED
    assert "shows the cache of" in refusal(rig, **mount(name))[0]


@pytest.mark.parametrize("marks", [{}, OURS | OF_TEAM_A | {labels.RUN: "r1"}], ids=["none", "ours"])
def test_another_name_of_a_cache_is_refused(rig: Rig, marks: dict[str, str]) -> None:
    body = marked("cache", OURS | {labels.DATASET_CACHE: "c1"})
    rig.world.create(CLAIMS, body, "team-b")
    rig.world.create(CLAIMS, marked("alias", marks, **{labels.SHARED_FROM: "team-b/cache"}),
                     "team-a")  # fmt: skip
    rig.look()
    reason = "PVC alias is on the volume of a dataset's cache, which is shared."
    assert refusal(rig, **mount("alias")) == (reason, WAY_OUT)


def test_a_second_volume_of_a_cache_is_refused(rig: Rig) -> None:
    body = marked("cache", OURS | {labels.DATASET_CACHE: "c1"})
    rig.world.create(CLAIMS, body, "team-b")
    rig.world.settle()
    made = rig.world.get(CLAIMS, "cache", "team-b") or {}
    volume = rig.world.get(VOLUMES, made["spec"]["volumeName"]) or {}
    twin = {
        "metadata": {"name": "twin"},
        "spec": {
            key: value for key, value in volume["spec"].items() if key != "claimRef"
        } | {"claimRef": {"namespace": "team-a", "name": "twin"}, "storageClassName": ""},
    }  # fmt: skip
    rig.world.create(VOLUMES, twin)
    bound = claim("twin")
    bound["spec"] |= {"volumeName": "twin", "storageClassName": ""}
    rig.world.create(CLAIMS, bound, "team-a")
    rig.look()
    reason = "PVC twin is on the volume of a dataset's cache, which is shared."
    assert refusal(rig, **mount("twin")) == (reason, WAY_OUT)


@pytest.mark.parametrize(
    "name",
    [
        "session-nb-0123456789",
        "lane-0123456789-ssh",
        "lane-0123456789-mpi-ssh",
    ],
)
def test_secrets_named_like_ours_are_refused(rig: Rig, name: str) -> None:
    assert refusal(rig, **secret(name)) == (refused(name), NAME_YOURS)


def refused(name: str) -> str:
    return f"Secret {name} does not belong to the team: it holds the token of a session, or keys."


def test_the_token_of_a_session_is_refused(rig: Rig) -> None:
    with_ingress(rig)
    name = f"session-{rig.get(running(rig)).job_name}"
    assert rig.world.get("secrets", name, "team-a") is not None
    assert refusal(rig, **secret(name)) == (refused(name), NAME_YOURS)


def test_the_certificate_of_sessions_is_refused(rig: Rig) -> None:
    name = "notebooks-tls"
    with_ingress(rig, tls_secret=name)
    assert refusal(rig, **secret(name, "tls.key")) == (refused(name), NAME_YOURS)


@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": OURS | OF_TEAM_A | {labels.RUN: "r1"}},
        {"labels": {labels.INSTALLATION: "another"}},
    ],
    ids=["ours", "another installation's"],
)
def test_secrets_marked_as_ours_end_runs(rig: Rig, metadata: dict[str, Any]) -> None:
    rig.world.create("secrets", {"metadata": {"name": "odd", **metadata}, "data": {}}, "team-a")
    run_id = rig.submit(**secret("odd"))
    assert failure(rig, run_id) == (refused("odd"), NAME_YOURS)


def test_secrets_of_other_workloads_end_runs(rig: Rig) -> None:
    rig.submit("owner")
    rig.pass_time(seconds=10)
    job = rig.world.list("jobs", "team-a")[0]
    of_job = {"apiVersion": "batch/v1", "kind": "Job"} | {
        key: job["metadata"][key] for key in ("name", "uid")
    }
    body = {"metadata": {"name": "odd", "ownerReferences": [of_job]}, "data": {}}
    rig.world.create("secrets", body, "team-a")
    run_id = rig.submit(**secret("odd"))
    assert failure(rig, run_id) == (refused("odd"), NAME_YOURS)


def test_pull_secrets_are_looked_at_too(rig: Rig) -> None:
    rig.policy = settings(pull_secrets=["session-nb-0123456789"])
    assert refusal(rig) == (refused("session-nb-0123456789"), NAME_YOURS)


@pytest.mark.parametrize("name", ["wandb", "session-keys", "deploy-ssh", "absent"])
def test_secrets_of_the_team_are_used(rig: Rig, name: str) -> None:
    body = {"metadata": {"name": name}, "data": {"token": "eA=="}}
    if name not in {"absent", "wandb"}:
        rig.world.create("secrets", body, "team-a")
    run_id = rig.submit(**secret(name))
    rig.pass_time(seconds=10)
    assert rig.job(run_id) is not None
