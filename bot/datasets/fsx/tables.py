"""Caches that FSx imports, as rows beside those of the caches."""

from datetime import datetime
from typing import Any, ClassVar

from sqlmodel import Field, SQLModel

from bot.config import FsxFolder
from bot.database.columns import Moment


class Import(SQLModel, table=True):
    """What FSx does for a cache: names are imported, later the space of the files is released.

    The first block is written once by the service, the rest by the controller. `objects` in the
    bucket are the files below `folder`, told from the mount point; `root` is the folder that is
    linked to `repository`. Tasks are known by their ids once they were begun. `kept` says what of
    the files was not released.
    """

    __tablename__: ClassVar[Any] = "dataset_imports"

    cache_id: str = Field(foreign_key="dataset_caches.id", primary_key=True)
    file_system: str = Field(index=True)
    repository: str
    root: str
    objects: str
    folder: str

    association_id: str = ""
    dns_name: str = ""
    mount_name: str = ""
    task_id: str = ""
    begun_at: datetime | None = Field(default=None, sa_type=Moment)
    imported_at: datetime | None = Field(default=None, sa_type=Moment)
    release_id: str = ""
    release_begun_at: datetime | None = Field(default=None, sa_type=Moment)
    released_at: datetime | None = Field(default=None, sa_type=Moment)
    kept: str = ""

    @property
    def linked(self) -> FsxFolder:
        """The folder in which it is, as the configuration had it."""
        return FsxFolder(file_system=self.file_system, repository=self.repository, path=self.root)
