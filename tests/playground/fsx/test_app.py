"""FSx in the playground is as strict as FSx, and says what its service model lets it say."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.client import BaseClient
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.loaders import Loader
from botocore.model import ListShape, ServiceModel, Shape, StructureShape

from playground.fsx.refusals import FsxRefusalError
from playground.fsx.requests import REQUESTS
from playground.fsx.signing import ACCESS_KEY, SECRET_KEY
from tests.bot.datasets.fsx.region import Region
from tests.bot.ground import Outside

SYSTEM = "fs-0123456789abcdef0"
TASK: dict[str, Any] = {
    "Type": "IMPORT_METADATA_FROM_REPOSITORY",
    "FileSystemId": SYSTEM,
    "Paths": ["s3://lake/chest"],
    "Report": {"Enabled": False},
    "ClientRequestToken": "row-1",
    "Tags": [{"Key": "quartermaster.dev/row", "Value": "1"}],
}
KINDS: dict[str, Any] = {
    "string": str,
    "integer": int,
    "long": int,
    "boolean": bool,
    "timestamp": float,
}


@pytest.fixture
def region(tmp_path: Path) -> Iterator[Region]:
    outside = Outside(tmp_path)
    made = Region(outside, tmp_path)
    system = made.estate.add(SYSTEM, tags={"team": "a"})
    made.estate.link(system, "/lake", "s3://lake/", imports=["NEW"])
    yield made
    made.close()
    outside.close()


def client(region: Region, secret: str = SECRET_KEY, name: str = "eu-central-1") -> BaseClient:
    """The real client, which checks nothing that the server is to check."""
    config = Config(retries={"total_max_attempts": 1}, parameter_validation=False)
    return boto3.client(
        "fsx",
        endpoint_url=region.url,
        region_name=name,
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=secret,
        config=config,
    )


def code(region: Region, operation: str, **asked: Any) -> str:
    """The code of the refusal of a request."""
    made = client(region)
    try:
        with pytest.raises(ClientError) as caught:
            getattr(made, operation)(**asked)
    finally:
        made.close()
    return caught.value.response["Error"]["Code"]


def do(region: Region, operation: str, **asked: Any) -> Any:
    """The answer to a request."""
    made = client(region)
    try:
        return getattr(made, operation)(**asked)
    finally:
        made.close()


def misfits(shape: Shape, value: Any, where: str = "") -> list[str]:
    """What of an answer is not as the service model has it."""
    if isinstance(shape, StructureShape):
        unknown = [f"{where}.{key} is unknown" for key in set(value) - set(shape.members)]
        missing = [f"{where}.{key} is missing" for key in set(shape.required_members) - set(value)]
        inner = [
            misfit
            for key, one in value.items()
            if key in shape.members
            for misfit in misfits(shape.members[key], one, f"{where}.{key}")
        ]
        return [*unknown, *missing, *inner]
    if isinstance(shape, ListShape):
        return [misfit for one in value for misfit in misfits(shape.member, one, f"{where}[]")]
    words = getattr(shape, "enum", None)
    if not isinstance(value, KINDS[shape.type_name]) or (words and value not in words):
        return [f"{where} is {value!r}"]
    return []


def test_answers_are_as_the_service_model_says(region: Region) -> None:
    model = ServiceModel(Loader().load_service_model("fsx", "service-2"), "fsx")
    region.estate.fails = "The path is not there."
    task = do(region, "create_data_repository_task", **TASK)["DataRepositoryTask"]
    for seconds in (0, 60, 600):
        region.app.estate.now = lambda ahead=seconds: (  # type: ignore[misc]
            region._outside.clock.now() + timedelta(seconds=ahead)
        )
        do(region, "describe_data_repository_tasks", TaskIds=[task["TaskId"]])
    do(region, "describe_file_systems")
    do(region, "describe_data_repository_associations")
    region.app.estate.now = region._outside.clock.now
    do(region, "cancel_data_repository_task", TaskId=task["TaskId"])
    assert {name for name, _ in region.app.answers} == {
        "CreateDataRepositoryTask",
        "DescribeDataRepositoryTasks",
        "DescribeFileSystems",
        "DescribeDataRepositoryAssociations",
        "CancelDataRepositoryTask",
    }
    for name, body in region.app.answers:
        shape = model.operation_model(name).output_shape
        assert shape is not None
        assert misfits(shape, body, name) == []


def test_what_the_model_requires_is_required() -> None:
    model = ServiceModel(Loader().load_service_model("fsx", "service-2"), "fsx")
    wholes = {"CreateDataRepositoryTask": TASK, "CancelDataRepositoryTask": {"TaskId": "x"}}
    for name, check in REQUESTS.items():
        shape = model.operation_model(name).input_shape
        assert shape is not None
        for key in shape.required_members:
            with pytest.raises(FsxRefusalError, match=rf"missing \['{key}'\]"):
                check(name, {other: one for other, one in wholes[name].items() if other != key})
        with pytest.raises(FsxRefusalError, match=r"unknown \['Colour'\]"):
            check(name, {**wholes.get(name, {}), "Colour": "red"})


@pytest.mark.parametrize(
    "change",
    [
        {"Type": "COPY"},
        {"FileSystemId": "chest"},
        {"Paths": ["s3://elsewhere/"]},
        {"Paths": ["x"] * 101},
        {"ClientRequestToken": "a" * 64},
        {"Report": {}},
    ],
)
def test_malformed_tasks_are_refused(region: Region, change: dict[str, Any]) -> None:
    assert code(region, "create_data_repository_task", **(TASK | change)) == "BadRequest"


def test_one_task_at_a_time_and_tokens(region: Region) -> None:
    first = do(region, "create_data_repository_task", **TASK)["DataRepositoryTask"]
    again = do(region, "create_data_repository_task", **TASK)["DataRepositoryTask"]
    assert again["TaskId"] == first["TaskId"]
    changed = TASK | {"Paths": ["s3://lake/other"]}
    assert code(region, "create_data_repository_task", **changed) == "IncompatibleParameterError"
    other = TASK | {"ClientRequestToken": "row-2"}
    assert code(region, "create_data_repository_task", **other) == "DataRepositoryTaskExecuting"
    do(region, "cancel_data_repository_task", TaskId=first["TaskId"])
    region._outside.clock.moment += timedelta(seconds=6)
    ended = code(region, "cancel_data_repository_task", TaskId=first["TaskId"])
    assert ended == "DataRepositoryTaskEnded"
    assert do(region, "create_data_repository_task", **other)


def test_strangers_are_refused_with_reasons(region: Region) -> None:
    request = urllib.request.Request(
        f"{region.url}/", b"{}", {"content-type": "application/x-amz-json-1.1"}
    )
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=20)
    with caught.value as answer:
        assert json.load(answer)["__type"] == "MissingAuthenticationToken"
    for made in (client(region, "other"), client(region, name="us-east-1")):
        with pytest.raises(ClientError) as refused:
            made.describe_file_systems()  # type: ignore[attr-defined]
        made.close()
        assert refused.value.response["Error"]["Code"] == "SignatureDoesNotMatch"
