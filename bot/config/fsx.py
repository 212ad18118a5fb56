"""What quartermaster.yaml says of Amazon FSx for Lustre."""

from typing import Annotated

from pydantic import Field, StringConstraints

from bot.config.kinds import BucketUrl, Region, StoreUrl
from bot.config.section import Section


class FsxService(Section):
    """Amazon FSx, as the bot asks it; file systems there that nothing needs are reported."""

    region: Region
    """The region of the cluster, like eu-central-1."""

    endpoint: StoreUrl | None = None
    """Its address where that is not Amazon's own, as that of an interface in a VPC."""

    credentials: str | None = None
    """A folder with keys for the bot, as that of a store; else its own identity counts."""

    price_per_gib_month: Annotated[float, Field(gt=0)] | None = None
    """What a GiB of a file system costs a month, where `datasets.classes` does not say it."""


class FsxFolder(Section):
    """A folder of a Lustre file system that is linked to a bucket: versions there are imported."""

    file_system: Annotated[str, StringConstraints(pattern="^fs-[0-9a-f]{8,17}$")]
    """Its id, like fs-0123456789abcdef0."""

    repository: BucketUrl
    """What the folder is linked to: the DataRepositoryPath of the association, like s3://lake/."""

    path: Annotated[str, StringConstraints(pattern=r"^(/[A-Za-z0-9._-]+)+/?$", max_length=1024)]
    """The folder: the FileSystemPath of the association, like /lake; not / alone."""
