"""Caches that FSx imports, as rows beside those of the caches."""

from datetime import datetime
from typing import Any, ClassVar

from sqlmodel import Field, SQLModel

from bot.config import FsxFolder
from bot.database.columns import Moment


class Import(SQLModel, table=True):
    """The import of a cache by FSx: names are imported, and later the files are released.

    The service writes the first block once, the controller the rest. `objects` in the bucket are
    the files below `folder`, relative to the mount point; `root` is the folder linked to
    `repository`. `task_id` and `release_id` are set once the tasks have started. `kept` describes
    the files that were not released.
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
        """The linked folder as it was configured."""
        return FsxFolder(file_system=self.file_system, repository=self.repository, path=self.root)
