"""A dataset in a bucket without versions, and copies of what was recorded of it."""

from dataclasses import dataclass, field
from pathlib import Path

from bot.datasets.manifest import Entry
from bot.datasets.worker.copies import name_of
from tests.bot.datasets.worker.workers import End, ended
from tests.object_stores import Lake


@dataclass
class CopiedDataset:
    """Objects below `set/`, manifests below `manifests/`, and copies in a bucket of the bot."""

    lake: Lake
    bucket: str
    state: str
    folder: Path
    volumes: int = field(default=0)

    def put(self, content: dict[str, bytes]) -> None:
        self.lake.put(self.bucket, content)

    def put_in_parts(self, key: str, parts: list[bytes]) -> None:
        """Uploads an object in these parts."""
        client, place = self.lake.client, {"Bucket": self.bucket, "Key": f"set/{key}"}
        upload = client.create_multipart_upload(Bucket=self.bucket, Key=f"set/{key}")["UploadId"]
        sent = [
            client.upload_part(
                Bucket=self.bucket, Key=f"set/{key}", UploadId=upload, PartNumber=n, Body=part
            )["ETag"]
            for n, part in enumerate(parts, 1)
        ]
        client.complete_multipart_upload(
            Bucket=place["Bucket"],
            Key=place["Key"],
            UploadId=upload,
            MultipartUpload={
                "Parts": [{"PartNumber": n, "ETag": etag} for n, etag in enumerate(sent, 1)]
            },
        )

    def delete(self, key: str) -> None:
        self.lake.client.delete_object(Bucket=self.bucket, Key=f"set/{key}")

    def record(self, version: str, *, copy: bool = True, source: str = "", state: str = "") -> End:
        """Surveys a version, with copies unless `copy` is false; the stores may be others."""
        words = self.words(version, source or self.lake.store(), state or self.lake.store())
        return ended(*(words if copy else words[:-4]), "--patience", "3")

    def words(self, version: str, source: str, state: str) -> tuple[str, ...]:
        """The command that surveys a version with copies, from one store to another one."""
        return (
            *("survey", "--source", f"s3://{self.bucket}/set/", "--source-store", source),
            *("--manifest", f"s3://{self.state}/manifests/{version}/"),
            *("--manifest-store", self.lake.store()),
            *("--copies", f"s3://{self.state}/copies/", "--copies-store", state),
        )

    def fill(self, version: str, *, from_copies: bool = True, source: str = "") -> End:
        """Fills a new volume with a version."""
        self.volumes += 1
        self.volume.mkdir()
        digest = self.lake.manifest(self.state, f"manifests/{version}/")[0].digest
        copies = ("--copies", f"s3://{self.state}/copies/", "--copies-store", self.lake.store())
        return ended(
            *("fill", "--source", f"s3://{self.bucket}/set/"),
            *("--source-store", source or self.lake.store()),
            *("--manifest", f"s3://{self.state}/manifests/{version}/"),
            *("--manifest-store", self.lake.store(), "--digest", digest),
            *("--target", str(self.volume), "--patience", "3"),
            *(copies if from_copies else ()),
        )

    def sweep(self, *kept: str, store: str = "") -> End:
        """Deletes the copies that none of these versions needs."""
        keep = (("--keep", f"s3://{self.state}/manifests/{each}/") for each in kept)
        return ended(
            *("sweep", "--copies", f"s3://{self.state}/copies/"),
            *("--copies-store", store or self.lake.store(), "--patience", "3"),
            *(word for words in keep for word in words),
        )

    @property
    def volume(self) -> Path:
        """The volume of the last fill."""
        return self.folder / f"volume-{self.volumes}"

    def files(self) -> dict[str, bytes]:
        """What runs would see on it."""
        root = self.volume / "ready" / "files"
        found = (path for path in root.rglob("*") if path.is_file())
        return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}

    def copies(self) -> dict[str, bytes]:
        """All copies, by name."""
        listed = self.lake.client.list_objects_v2(Bucket=self.state, Prefix="copies/")
        names = [each["Key"].removeprefix("copies/") for each in listed.get("Contents", [])]
        return {name: self.lake.get(self.state, "copies/", name) for name in names}

    def names(self, version: str) -> dict[str, str]:
        """The name of each object's copy, by key."""
        return {entry.key: name_of(entry) for entry in self.entries(version)}

    def entries(self, version: str) -> list[Entry]:
        return self.lake.manifest(self.state, f"manifests/{version}/")[1]
