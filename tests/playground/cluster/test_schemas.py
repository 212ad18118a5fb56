import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from playground.cluster.control.training import Training
from playground.cluster.objects.expressions import broken_rules
from playground.cluster.objects.kinds import Kinds
from playground.cluster.objects.schemas import find
from playground.cluster.story import training_job
from tests.playground.cluster.served import JOBS, KUEUE, Served, refusal

ROOT = Path(__file__).parents[3]
SOURCES = ROOT.parent / "shared" / "references"
FROM_MODULES = ("rayclusters.ray.io", "rayjobs.ray.io")  # tests/cluster defines them from there
PUBLISHED = ROOT / "playground" / "cluster" / "objects" / "published.json.gz"


def test_every_kind_served_has_a_schema() -> None:
    missing = {kind.qualified for kind in Kinds() if find(kind, kind.version) is None}
    assert missing == set()


@pytest.mark.skipif(not SOURCES.is_dir(), reason="the schemas' sources (../shared) are not here")
def test_schemas_are_those_of_their_sources(tmp_path: Path) -> None:
    script, made = ROOT / "scripts" / "published_schemas.py", tmp_path / "made.json.gz"
    subprocess.run([sys.executable, str(script), str(SOURCES), str(made)], check=True)
    kept = read(PUBLISHED)
    for name in FROM_MODULES:
        del kept["custom"][name]
    assert read(made) == kept


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return found


def test_unknown_field_is_refused_when_strict(served: Served) -> None:
    body = training_job("lane", 1)
    body["spec"]["colour"] = "red"
    answer = served.admin.post(JOBS, json=body, params={"fieldValidation": "Strict"})
    assert refusal(answer) == (
        400,
        "BadRequest",
        (
            'Job in version "v1" cannot be handled as a Job: strict decoding error: '
            'unknown field "spec.colour"'
        ),
    )


def test_unknown_field_passes_when_not_strict(served: Served) -> None:
    body = training_job("lane", 1)
    body["spec"]["colour"] = "red"
    assert served.admin.post(JOBS, json=body).status_code == 201


def test_wrong_type_cannot_be_decoded(served: Served) -> None:
    answer = served.admin.post(JOBS, json=training_job("lane", 1, parallelism="two"))
    assert refusal(answer) == (
        400,
        "BadRequest",
        (
            'Job in version "v1" cannot be handled as a Job: json: cannot unmarshal string into '
            "Go struct field Job.spec.parallelism of type int32"
        ),
    )


def test_quantity_must_be_one(served: Served) -> None:
    body = training_job("lane", 1)
    resources = body["spec"]["template"]["spec"]["containers"][0]["resources"]
    resources["requests"]["memory"] = "lots"
    assert refusal(served.admin.post(JOBS, json=body))[:2] == (400, "BadRequest")


def test_missing_field_of_custom_object_is_invalid(served: Served) -> None:
    queue = {"metadata": {"name": "new"}, "spec": {"resourceGroups": [{"flavors": []}]}}
    answer = served.admin.post(f"{KUEUE}/clusterqueues", json=queue)
    code, reason, message = refusal(answer)
    assert (code, reason) == (422, "Invalid")
    assert "spec.resourceGroups[0].coveredResources: Required value" in message


def test_enum_of_custom_object_is_kept(served: Served) -> None:
    answer = served.patch(f"{KUEUE}/clusterqueues/team-a", {"spec": {"stopPolicy": "Maybe"}})
    assert refusal(answer) == (
        422,
        "Invalid",
        (
            'ClusterQueue.kueue.x-k8s.io "team-a" is invalid: [spec.stopPolicy: Unsupported '
            'value: "Maybe": supported values: "None", "Hold", "HoldAndDrain", <nil>: Invalid '
            "value: null: some validation rules were not checked because the object was invalid; "
            "correct the existing errors to complete validation]"
        ),
    )


def test_everything_the_cluster_writes_is_valid(served: Served) -> None:
    served.cluster.behaviours["bad"] = Training(fails_after=10)
    served.cluster.miss_image("absent:1")
    jobs = [
        training_job("usual", 2, "team-a"),
        training_job("borrower", 4, "team-a", completions=2, parallelism=2),
        training_job("failing", 1, "team-b", image="bad", backoffLimit=1),
        training_job("unpullable", 1, "team-b", image="absent:1"),
        training_job("owner", 8, "team-b"),
        training_job("nowhere", 1, "no-queue"),
    ]
    for job in jobs:
        team = "team-b" if job["metadata"]["name"] in {"failing", "owner"} else "team-a"
        served.cluster.create("jobs", job, team)
    found: list[object] = []
    for seconds in (0, 5, 10, 60, 600):
        served.pass_time(seconds)
        found += [problem for problem in problems(served) if problem not in found]
    assert found == []


def problems(served: Served) -> list[object]:
    inside = served.cluster.inside
    found: list[object] = []
    for kind in inside.kinds:
        if kind.group == "events.k8s.io":
            continue
        for obj in served.cluster.list(kind.plural):
            told = inside.validator.findings(kind, obj, kind.version)
            found += [(kind.kind, *row) for row in told.wrong_types]
            found += [(kind.kind, row) for row in (*told.unknown, *told.causes)]
            found += [(kind.kind, row) for row in broken_rules(kind, obj, None)]
    return found
