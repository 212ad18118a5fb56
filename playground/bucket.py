"""The object store of a world: buckets in SeaweedFS, and a hand in them for scenarios."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playground.cluster.cluster import Cluster
from playground.cluster.story import storage_class
from playground.seaweed import ACCESS_KEY, SECRET_KEY, seaweed

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

WORKER_IMAGE = "ghcr.io/acme/quartermaster:playground"
LAKE, STATE, NAMESPACE, SECRET = "lake", "quartermaster-state", "datasets", "lake-keys"
CACHES = "premium"
KEYS = {"access-key-id": ACCESS_KEY, "secret-access-key": SECRET_KEY}


class Bucket:
    """A bucket of data and one for the bot; what is done here somebody outside does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.endpoint = ""
        self._stack = contextlib.ExitStack()
        self._client: S3Client | None = None

    def open(self) -> None:
        """Starts the server and makes the buckets; returns when it is ready, after seconds."""
        self.endpoint = self._stack.enter_context(seaweed(self.folder / "store")).endpoint
        self._client = self._connect()
        for bucket in (LAKE, STATE):
            self._client.create_bucket(Bucket=bucket)
        keys = self.folder / "keys"
        keys.mkdir(mode=0o700, exist_ok=True)
        for name, value in KEYS.items():
            (keys / name).write_text(value, encoding="utf-8")

    def close(self) -> None:
        """Stops the server."""
        if self._client is not None:
            self._client.close()
        self._stack.close()

    def put(self, key: str, content: bytes) -> None:
        """Writes an object of the data."""
        self._s3.put_object(Bucket=LAKE, Key=key, Body=content)

    def remove(self, key: str) -> None:
        """Removes an object of the data."""
        self._s3.delete_object(Bucket=LAKE, Key=key)

    def objects(self, prefix: str) -> dict[str, bytes]:
        """What is in the data below a prefix: contents by their keys from there on."""
        pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=LAKE, Prefix=prefix)
        keys = [found["Key"] for page in pages for found in page.get("Contents", ())]
        return {key.removeprefix(prefix): self._read(key) for key in keys}

    def _read(self, key: str) -> bytes:
        return self._s3.get_object(Bucket=LAKE, Key=key)["Body"].read()

    def settings(self) -> dict[str, Any]:
        """The bot's configuration of it."""
        store = {
            "endpoint": self.endpoint,
            "path_style": True,
            "secret": SECRET,
            "credentials": str(self.folder / "keys"),
            "places": {"team-a": [f"s3://{LAKE}/"], "team-b": [f"s3://{LAKE}/team-b/"]},
        }
        classes = {CACHES: {"throughput_mib_per_tib": 64, "budget": "20Ti"}}
        datasets = {
            "namespace": NAMESPACE,
            "image": WORKER_IMAGE,
            "state": f"s3://{STATE}/datasets",
            "state_store": LAKE,
            "classes": classes,
        }
        return {"stores": {LAKE: store}, "datasets": datasets}

    def prepare(self, cluster: Cluster) -> None:
        """Makes the namespace of the pods that read from it, with its keys."""
        cluster.programs.waiting.add("receive")
        cluster.create("namespaces", {"metadata": {"name": NAMESPACE}})
        secret = {"metadata": {"name": SECRET}, "stringData": KEYS}
        cluster.create("secrets", secret, NAMESPACE)
        cluster.create("storageclasses", storage_class(CACHES))

    @property
    def _s3(self) -> "S3Client":
        if self._client is None:
            raise RuntimeError("the store does not run yet")
        return self._client

    def _connect(self) -> "S3Client":
        # Importing boto3 takes a third of a second, and most worlds have no bucket.
        import boto3  # noqa: PLC0415 - see above
        from botocore.config import Config  # noqa: PLC0415 - as above

        return boto3.session.Session(ACCESS_KEY, SECRET_KEY).client(
            "s3",
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            config=Config(
                s3={"addressing_style": "path"}, request_checksum_calculation="when_required"
            ),
        )
