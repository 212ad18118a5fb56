"""A real S3 server for the tests, and what they put into it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import pytest
from botocore.config import Config

from bot.datasets.manifest import Entry, Index, read_entries, read_index
from playground.seaweed import ObjectStore, seaweed

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

REGION = "us-east-1"
_NUMBERS = count()


@dataclass(frozen=True)
class Lake:
    """The server, a client that may do everything, and the folder with its keys."""

    server: ObjectStore
    client: "S3Client"
    credentials: Path

    def bucket(self) -> str:
        """The name of a new bucket."""
        name = f"lake-{next(_NUMBERS)}"
        self.client.create_bucket(Bucket=name)
        return name

    def put(self, bucket: str, objects: Mapping[str, bytes]) -> None:
        """Stores objects below `set/`."""
        for key, content in objects.items():
            self.client.put_object(Bucket=bucket, Key=f"set/{key}", Body=content)

    def store(self, endpoint: str | None = None, **others: object) -> str:
        """The server as the worker's options name it, perhaps behind another endpoint."""
        settings = {
            "endpoint": endpoint or self.server.endpoint,
            "region": REGION,
            "path_style": True,
            "credentials": str(self.credentials),
        }
        return json.dumps(settings | others)

    def get(self, bucket: str, prefix: str, name: str) -> bytes:
        """The content of an object."""
        answer = self.client.get_object(Bucket=bucket, Key=f"{prefix}{name}")
        return answer["Body"].read()

    def manifest(self, bucket: str, prefix: str) -> tuple[Index, list[Entry]]:
        """A manifest that a survey wrote."""

        def get(name: str) -> bytes:
            return self.get(bucket, prefix, name)

        index = read_index(get)
        return index, list(read_entries(get, index))


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """One server for all tests; each takes buckets of its own."""
    folder = tmp_path_factory.mktemp("lake")
    with seaweed(folder) as server:
        (folder / "access-key-id").write_text(server.access_key)
        (folder / "secret-access-key").write_text(server.secret_key)
        client = boto3.client(
            "s3",
            endpoint_url=server.endpoint,
            region_name=REGION,
            aws_access_key_id=server.access_key,
            aws_secret_access_key=server.secret_key,
            config=Config(connect_timeout=5, read_timeout=60, retries={"max_attempts": 5}),
        )
        try:
            yield Lake(server, client, folder)
        finally:
            client.close()
