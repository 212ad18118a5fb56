"""The answers of FSx, reduced to the fields that the bot uses."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mypy_boto3_fsx.type_defs import (
        DataRepositoryAssociationTypeDef,
        DataRepositoryTaskTypeDef,
        FileSystemTypeDef,
        TagTypeDef,
    )

GIB = 2**30
# Where a file system does not say what it is mounted as: those of the first kind.
_MOUNT_NAME = "fsx"


@dataclass(frozen=True)
class FileSystem:
    """A Lustre file system; `storage` is its deployment and storage type as text."""

    id: str
    arn: str
    lifecycle: str
    size_bytes: int
    storage: str
    dns_name: str
    mount_name: str
    made_at: datetime | None = None
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Association:
    """A folder linked to a bucket; `follows` are the changes that are imported automatically."""

    id: str
    path: str
    repository: str
    lifecycle: str
    follows: tuple[str, ...] = ()


class TaskKind(StrEnum):
    """The kind of a data repository task."""

    IMPORT = "IMPORT_METADATA_FROM_REPOSITORY"
    RELEASE = "RELEASE_DATA_FROM_FILESYSTEM"


@dataclass(frozen=True)
class Task:
    """A data repository task and its file counts; `why` is its failure message."""

    id: str
    kind: str
    lifecycle: str
    total: int = 0
    succeeded: int = 0
    failed: int = 0
    why: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_going_on(self) -> bool:
        """Whether it has not ended; until then no other task of its file system starts."""
        return self.lifecycle in _GOING_ON


_GOING_ON = frozenset({"PENDING", "EXECUTING", "CANCELING"})


def file_system_of(told: "FileSystemTypeDef") -> FileSystem:
    """The file system of an answer."""
    lustre = told.get("LustreConfiguration", {})
    words = (lustre.get("DeploymentType"), told.get("StorageType"))
    return FileSystem(
        id=told.get("FileSystemId", ""),
        arn=told.get("ResourceARN", ""),
        lifecycle=told.get("Lifecycle", ""),
        size_bytes=told.get("StorageCapacity", 0) * GIB,
        storage=" ".join(each for each in words if each),
        dns_name=told.get("DNSName", ""),
        mount_name=lustre.get("MountName", _MOUNT_NAME),
        made_at=told.get("CreationTime"),
        tags=tags_of(told.get("Tags", [])),
    )


def association_of(told: "DataRepositoryAssociationTypeDef") -> Association:
    """The association of an answer."""
    return Association(
        id=told.get("AssociationId", ""),
        path=told.get("FileSystemPath", ""),
        repository=told.get("DataRepositoryPath", ""),
        lifecycle=told.get("Lifecycle", ""),
        follows=tuple(told.get("S3", {}).get("AutoImportPolicy", {}).get("Events", ())),
    )


def task_of(told: "DataRepositoryTaskTypeDef") -> Task:
    """The task of an answer."""
    counts = told.get("Status", {})
    return Task(
        id=told["TaskId"],
        kind=told["Type"],
        lifecycle=told["Lifecycle"],
        total=counts.get("TotalCount", 0),
        succeeded=counts.get("SucceededCount", 0),
        failed=counts.get("FailedCount", 0),
        why=told.get("FailureDetails", {}).get("Message", ""),
        tags=tags_of(told.get("Tags", [])),
    )


def tags_of(told: "Sequence[TagTypeDef]") -> dict[str, str]:
    """Tags by their keys."""
    return {each["Key"]: each["Value"] for each in told}
