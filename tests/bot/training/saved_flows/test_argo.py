"""Saved flows as Workflows of Argo, checked by the schema that Argo publishes."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from bot.errors import ConflictError
from bot.slack.grammar.container_parameters import EnvironmentVariable, NewVolume, VolumeMount
from bot.training.kinds import ROOTS
from bot.training.kinds.pods.volumes import claim_name
from bot.training.saved_flows.argo import SUCCESS
from bot.training.saved_flows.tables import Flow
from tests.bot.ground import ALICE
from tests.bot.training.rig import Rig
from tests.bot.training.saved_flows.flowing import after, saves, schedules, submits
from tests.schemas import fits_its_kind

SCHEMA = Path(__file__).parent / "argo_schema.json"
RUN = "{{workflow.name}}"


@cache
def validator() -> jsonschema.Draft202012Validator:
    """What checks Workflows and CronWorkflows."""
    return jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text("utf-8")))


def written(rig: Rig, flow_id: str) -> str:
    """The flow as Argo's YAML."""
    by = rig.caller(ALICE)
    return rig.do(lambda s: rig.saved_flows.argo(s, by, s.get_one(Flow, flow_id)))


def documents(rig: Rig, flow_id: str) -> list[Any]:
    """The objects of that YAML, which fit Argo's schema; so do the manifests in them."""
    found = list(yaml.safe_load_all(written(rig, flow_id)))
    for each in found:
        validator().validate(each)
    for manifest in manifests(found[0]).values():
        fits_its_kind(manifest)
    return found


def manifests(workflow: Any) -> dict[str, Any]:
    """The manifests of a Workflow by the names of their templates."""
    return {
        each["name"]: json.loads(each["resource"]["manifest"])
        for each in workflow["spec"]["templates"]
        if "resource" in each
    }


def graph(workflow: Any) -> Mapping[str, str]:
    """What each task waits for."""
    (dag,) = (each["dag"] for each in workflow["spec"]["templates"] if "dag" in each)
    return {each["name"]: each.get("depends", "") for each in dag["tasks"]}


def test_a_workflow_has_a_task_for_each_run(rig: Rig) -> None:
    submits(rig)
    rig.submit("report", gpus=0, **after("train", is_any=True))
    (workflow,) = documents(rig, saves(rig))
    assert workflow["metadata"] == {"generateName": "nightly-", "namespace": "team-a"}
    assert graph(workflow) == {
        "prep": "",
        "train": "prep.Succeeded",
        "eval": "train.Succeeded",
        "report": "(train.Succeeded || train.Failed || train.Errored || train.Omitted)",
    }
    train = next(each for each in workflow["spec"]["templates"] if each["name"] == "train")
    assert {name: train["resource"][name] for name in train["resource"] if name != "manifest"} == {
        "action": "create",
        "setOwnerReference": True,
        "successCondition": "status.completionTime",
        "failureCondition": ",".join(
            f"status.conditions.{place}.type in (Failed, FailureTarget)" for place in range(5)
        ),
    }


def test_runs_wait_in_their_queue_as_usual(rig: Rig) -> None:
    submits(rig)
    (workflow,) = documents(rig, saves(rig))
    job = manifests(workflow)["train"]
    assert job["metadata"]["name"] == f"{RUN}-train"
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "team-a"
    assert job["spec"]["suspend"] is True
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["python", "train.py", "--epochs", "3"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "2"


def test_the_bot_takes_objects_for_no_runs(rig: Rig) -> None:
    submits(rig)
    flow_id = saves(rig)
    assert '"quartermaster.dev/' not in written(rig, flow_id)
    (workflow,) = documents(rig, flow_id)
    job = manifests(workflow)["train"]
    assert job["metadata"]["labels"]["argo.quartermaster.dev/run"] == f"{RUN}-train"
    assert job["metadata"]["annotations"] == {"argo.quartermaster.dev/name": "train"}
    assert "app.kubernetes.io/managed-by" not in job["metadata"]["labels"]


def test_a_schedule_becomes_a_cron_workflow(rig: Rig) -> None:
    submits(rig)
    flow_id = saves(rig)
    schedules(rig, flow_id)
    workflow, cron = documents(rig, flow_id)
    assert cron["metadata"] == {"name": "nightly", "namespace": "team-a"}
    assert cron["spec"].pop("workflowSpec") == workflow["spec"]
    assert cron["spec"] == {
        "schedules": ["0 2 * * *"],
        "timezone": "UTC",
        "concurrencyPolicy": "Forbid",
        "startingDeadlineSeconds": 21_600,
    }


def test_new_pvcs_are_created_and_kept(rig: Rig) -> None:
    rig.look()
    prep = rig.submit("prep", gpus=0, pvc=(NewVolume("standard", "10Gi", "/mnt"),))
    claim = claim_name(rig.get(prep).job_name, 0)
    rig.submit("train", pvc=(VolumeMount(claim, "/data", read_only=True),), **after("prep"))
    (workflow,) = documents(rig, saves(rig))
    create = "create-persistentvolumeclaim-0-prep"
    assert graph(workflow) == {
        create: "",
        "prep": f"{create}.Succeeded",
        "train": "prep.Succeeded",
    }
    found = manifests(workflow)
    name = f"pvc-{RUN}-prep-0"
    assert found[create]["metadata"]["name"] == name
    volumes = found["train"]["spec"]["template"]["spec"]["volumes"]
    assert {"claimName": name} in [each.get("persistentVolumeClaim") for each in volumes]
    (pvc,) = (each for each in workflow["spec"]["templates"] if each["name"] == create)
    assert pvc["resource"]["setOwnerReference"] is False


def test_braces_of_commands_are_no_expressions(rig: Rig) -> None:
    template = "{{workflow.name}} {{=1}} {a}"
    env = (EnvironmentVariable("TEMPLATE", template),)
    rig.submit("prep", gpus=0, command=("echo", template), env=env)
    flow_id = saves(rig, run="prep")
    text = written(rig, flow_id)
    assert text.count("{{") == text.count(f"{RUN}-prep")
    (workflow,) = documents(rig, flow_id)
    (container,) = manifests(workflow)["prep"]["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["echo", template]


def test_kinds_with_secrets_of_their_own_are_refused(rig: Rig) -> None:
    rig.submit("wide", kind="sync", nodes=2)
    flow_id = saves(rig, run="wide")
    with pytest.raises(ConflictError) as caught:
        written(rig, flow_id)
    assert caught.value.message == (
        "Run wide cannot be written out: it is of `--kind sync`, for which Quartermaster makes a"
        " Secret for each run."
    )


def test_every_root_has_a_success_condition() -> None:
    assert set(SUCCESS) == {each.kind for each in ROOTS}


def test_the_header_names_what_is_needed(rig: Rig) -> None:
    submits(rig)
    assert written(rig, saves(rig)).splitlines()[:4] == [
        "# Flow nightly of team-a, written by Quartermaster for Argo Workflows 3.6 or newer.",
        "# The service account of the workflow needs to create, get and watch: Job.",
        (
            "# What Quartermaster does beside creating these objects is not part of it: cards and"
            " messages,"
        ),
        (
            "# limits of the team, holds on the caches of datasets, snapshots at the end, metrics"
            " and records."
        ),
    ]
