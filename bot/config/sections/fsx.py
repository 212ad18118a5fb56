"""Settings of Amazon FSx for Lustre."""

from typing import Annotated

from pydantic import Field, StringConstraints

from bot.config.kinds import Region, S3BucketUrl, StoreUrl
from bot.config.sections.section import Section


class FsxService(Section):
    """The connection to Amazon FSx; file systems there that nothing needs are reported."""

    region: Region
    """The region of the cluster, like eu-central-1."""

    endpoint: StoreUrl | None = None
    """Its address, if it is not Amazon's own, such as that of a VPC interface endpoint."""

    credentials: str | None = None
    """A folder with keys for the bot, as for a store; without it, the bot's own identity."""

    price_per_gib_month: Annotated[float, Field(gt=0)] | None = None
    """The monthly price of one GiB of a file system, if `datasets.classes` does not give it."""


class FsxFolder(Section):
    """A folder of a Lustre file system that is linked to a bucket; versions there are imported."""

    file_system: Annotated[str, StringConstraints(pattern="^fs-[0-9a-f]{8,17}$")]
    """The id of the file system, like fs-0123456789abcdef0."""

    repository: S3BucketUrl
    """The linked bucket: the DataRepositoryPath of the association, like s3://lake/."""

    path: Annotated[str, StringConstraints(pattern=r"^(/[A-Za-z0-9._-]+)+/?$", max_length=1024)]
    """The folder: the FileSystemPath of the association, like /lake; it cannot be /."""
