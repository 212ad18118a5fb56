"""What the account has: Lustre file systems, their associations, and tasks, one at a time each."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from playground.fsx.refusals import FsxRefusalError, bad_request

ACCOUNT = "123456789012"
ENDED = frozenset({"SUCCEEDED", "FAILED", "CANCELED"})
Body = dict[str, Any]


@dataclass
class Task:
    """A task, which begins `waits` after it was asked for and `takes` so long for its files."""

    asked: Body
    id: str
    created: datetime
    waits: timedelta
    takes: timedelta
    files: int
    failed_files: int = 0
    fails: str = ""
    canceled: datetime | None = None

    def lifecycle(self, now: datetime) -> str:
        """How far it is."""
        if self.canceled is not None:
            return "CANCELING" if now < self.canceled + timedelta(seconds=5) else "CANCELED"
        if now < self.created + self.waits:
            return "PENDING"
        if now < self.ends:
            return "EXECUTING"
        return "FAILED" if self.fails else "SUCCEEDED"

    @property
    def ends(self) -> datetime:
        """When it ends unless somebody ends it before."""
        return self.created + self.waits + self.takes

    def done(self, now: datetime) -> int:
        """Files that were handled."""
        until = min(now, self.canceled or now) - self.created - self.waits
        part = min(max(until / self.takes, 0.0), 1.0) if self.takes else float(until >= timedelta())
        return int(self.files * part)


@dataclass
class Lustre:
    """A file system; associations as FSx shows them."""

    id: str
    made: datetime
    capacity_gib: int = 1200
    lifecycle: str = "AVAILABLE"
    storage_type: str = "SSD"
    tags: dict[str, str] = field(default_factory=dict)
    associations: list[Body] = field(default_factory=list)


class Estate:
    """One region. `waits`, `takes`, `files`, `fails` are how the next tasks go.

    `on_import` shows the files of an import, and says how many there are.
    """

    def __init__(self, region: str, now: Callable[[], datetime]) -> None:
        self.region = region
        self.now = now
        self.systems: dict[str, Lustre] = {}
        self.tasks: list[Task] = []
        self.waits, self.takes = timedelta(seconds=10), timedelta(minutes=2)
        self.files, self.failed_files, self.fails = 1000, 0, ""
        self.page = 100
        self.on_import: Callable[[Body], int] = lambda _asked: self.files

    def add(self, system_id: str, **more: Any) -> Lustre:
        """Somebody makes a file system."""
        made = self.systems[system_id] = Lustre(system_id, self.now(), **more)
        return made

    def link(
        self, system: Lustre, path: str, repository: str, *, imports: Sequence[str] = ()
    ) -> Body:
        """Somebody links a folder of a file system to a bucket."""
        link_id = f"dra-{hashlib.sha256(f'{system.id}{path}'.encode()).hexdigest()[:17]}"
        policy: Body = {"AutoImportPolicy": {"Events": list(imports)}} if imports else {}
        link: Body = {
            "AssociationId": link_id,
            "ResourceARN": f"{self._arn('association', system.id)}/{link_id}",
            "FileSystemId": system.id,
            "Lifecycle": "AVAILABLE",
            "FileSystemPath": path,
            "DataRepositoryPath": repository,
            "BatchImportMetaDataOnCreate": False,
            "ImportedFileChunkSize": 1024,
            "S3": policy,
            "Tags": [],
            "CreationTime": system.made.timestamp(),
        }
        system.associations.append(link)
        return link

    def answer(self, operation: str, asked: Body) -> Body:
        """The answer to a request that was found well formed."""
        match operation:
            case "DescribeFileSystems":
                return self._file_systems(asked)
            case "DescribeDataRepositoryAssociations":
                return self._associations(asked)
            case "DescribeDataRepositoryTasks":
                return self._tasks(asked)
            case "CreateDataRepositoryTask":
                return self._create(asked)
            case _:
                return self._cancel(asked)

    def _file_systems(self, asked: Body) -> Body:
        wanted = asked.get("FileSystemIds")
        for system_id in wanted or ():
            self._system(system_id)
        found = [each for each in self.systems.values() if not wanted or each.id in wanted]
        return self._paged(asked, "FileSystems", [self._shown(each) for each in found])

    def _shown(self, system: Lustre) -> Body:
        return {
            "OwnerId": ACCOUNT,
            "CreationTime": system.made.timestamp(),
            "FileSystemId": system.id,
            "FileSystemType": "LUSTRE",
            "Lifecycle": system.lifecycle,
            "StorageCapacity": system.capacity_gib,
            "StorageType": system.storage_type,
            "VpcId": "vpc-0123456789abcdef0",
            "SubnetIds": ["subnet-0123456789abcdef0"],
            "DNSName": f"{system.id}.fsx.{self.region}.amazonaws.com",
            "ResourceARN": self._arn("file-system", system.id),
            "Tags": [{"Key": key, "Value": value} for key, value in system.tags.items()],
            "LustreConfiguration": {"MountName": "abcdefgh", "DeploymentType": "PERSISTENT_2",
                                    "PerUnitStorageThroughput": 250},
        }  # fmt: skip

    def _associations(self, asked: Body) -> Body:
        wanted = _filtered(asked, "file-system-id")
        for system_id in wanted or ():
            self._system(system_id)
        found = [
            link
            for system in self.systems.values()
            if wanted is None or system.id in wanted
            for link in system.associations
        ]
        return self._paged(asked, "Associations", found)

    def _tasks(self, asked: Body) -> Body:
        ids, systems = asked.get("TaskIds"), _filtered(asked, "file-system-id")
        states, known = _filtered(asked, "task-lifecycle"), {each.id for each in self.tasks}
        for task_id in ids or ():
            if task_id not in known:
                raise FsxRefusalError("DataRepositoryTaskNotFound", f"No task {task_id}.")
        found = [
            each
            for each in reversed(self.tasks)
            if (not ids or each.id in ids)
            and (systems is None or each.asked["FileSystemId"] in systems)
            and (states is None or each.lifecycle(self.now()) in states)
        ]
        return self._paged(asked, "DataRepositoryTasks", [self._told(each) for each in found])

    def _create(self, asked: Body) -> Body:
        system = self._system(asked["FileSystemId"])
        token = asked.get("ClientRequestToken")
        same = next(
            (each for each in self.tasks if each.asked.get("ClientRequestToken") == token), None
        )
        if same is not None and token is not None:
            changed = next((k for k in asked | same.asked if asked.get(k) != same.asked.get(k)), "")
            if changed:
                message = f"{changed} is not that of the request with the same token."
                raise FsxRefusalError("IncompatibleParameterError", message, Parameter=changed)
            return {"DataRepositoryTask": self._told(same)}
        self._refuse_unfit(system, asked)
        number = hashlib.sha256(f"{len(self.tasks)}{system.id}".encode()).hexdigest()[:17]
        files = self.on_import(asked) if asked["Type"].startswith("IMPORT") else self.files
        task = Task(asked, f"task-{number}", self.now(), self.waits, self.takes, files,
                    self.failed_files, self.fails)  # fmt: skip
        self.tasks.append(task)
        return {"DataRepositoryTask": self._told(task)}

    def _refuse_unfit(self, system: Lustre, asked: Body) -> None:
        if not system.associations:
            raise bad_request(f"{system.id} is not linked to a data repository.")
        running = [
            each.id
            for each in self.tasks
            if each.asked["FileSystemId"] == system.id and each.lifecycle(self.now()) not in ENDED
        ]
        if running:
            message = f"Task {running[0]} is executing on {system.id}."
            raise FsxRefusalError("DataRepositoryTaskExecuting", message)
        is_import = asked["Type"].startswith("IMPORT")
        if not is_import and any(path.startswith("/") for path in asked.get("Paths", ())):
            raise bad_request("Paths are relative to the mount point.")
        linked = [each["DataRepositoryPath"] for each in system.associations]
        for path in asked.get("Paths", ()) if is_import else ():
            if not any(path.startswith(each) for each in linked):
                raise bad_request(f"{path} is in no data repository of {system.id}.")

    def _cancel(self, asked: Body) -> Body:
        task = next((each for each in self.tasks if each.id == asked["TaskId"]), None)
        if task is None:
            raise FsxRefusalError("DataRepositoryTaskNotFound", f"No task {asked['TaskId']}.")
        if task.lifecycle(self.now()) in ENDED:
            raise FsxRefusalError("DataRepositoryTaskEnded", f"{task.id} has ended.")
        task.canceled = task.canceled or self.now()
        return {"Lifecycle": "CANCELING", "TaskId": task.id}

    def _told(self, task: Task) -> Body:
        now, state = self.now(), task.lifecycle(self.now())
        done = task.done(now)
        failed = min(task.failed_files, done)
        told: Body = {
            "TaskId": task.id,
            "Lifecycle": state,
            "Type": task.asked["Type"],
            "CreationTime": task.created.timestamp(),
            "ResourceARN": self._arn("task", task.id),
            "Tags": task.asked.get("Tags", []),
            "FileSystemId": task.asked["FileSystemId"],
            "Paths": task.asked.get("Paths", []),
            "Report": task.asked["Report"],
            "Status": {"TotalCount": task.files, "SucceededCount": done - failed,
                       "FailedCount": failed, "LastUpdatedTime": now.timestamp()},
        }  # fmt: skip
        if state != "PENDING":
            told["StartTime"] = (task.created + task.waits).timestamp()
        if state in ENDED:
            told["EndTime"] = (task.canceled or task.ends).timestamp()
        if state == "FAILED":
            told["FailureDetails"] = {"Message": task.fails}
        return told

    def _system(self, system_id: str) -> Lustre:
        if system_id not in self.systems:
            message = f"File system '{system_id}' does not exist."
            raise FsxRefusalError("FileSystemNotFound", message)
        return self.systems[system_id]

    def _paged(self, asked: Body, name: str, found: Sequence[Body]) -> Body:
        begin = asked.get("NextToken", "0")
        if not begin.isdecimal():
            raise bad_request("NextToken is none of ours.")
        end = int(begin) + min(asked.get("MaxResults", self.page), self.page)
        more = {"NextToken": str(end)} if end < len(found) else {}
        return {name: list(found[int(begin) : end]), **more}

    def _arn(self, kind: str, name: str) -> str:
        return f"arn:aws:fsx:{self.region}:{ACCOUNT}:{kind}/{name}"


def _filtered(asked: Body, name: str) -> list[str] | None:
    filters = [each["Values"] for each in asked.get("Filters", ()) if each["Name"] == name]
    return filters[0] if filters else None
