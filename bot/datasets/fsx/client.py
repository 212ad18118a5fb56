"""Client of Amazon FSx. Each request has a short time-out and is not retried."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bot.config import FsxService
from bot.datasets.amazon import amazon_session
from bot.datasets.fsx.answers import (
    Association,
    FileSystem,
    Task,
    TaskKind,
    association_of,
    file_system_of,
    task_of,
)
from bot.datasets.keys import read_keys
from bot.errors import StorageError

if TYPE_CHECKING:
    from mypy_boto3_fsx import FSxClient

CONNECT_SECONDS, READ_SECONDS = 5, 20
_LUSTRE = "LUSTRE"
_MOST_PAGES, _SHOWN = 50, 300
_SETTING = "datasets.fsx.credentials"
_BUSY = frozenset({"ThrottlingException", "Throttling", "RequestLimitExceeded",
                   "TooManyRequestsException"})  # fmt: skip
_REFUSED = frozenset(
    {
        "AccessDeniedException",
        "UnrecognizedClientException",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "SignatureDoesNotMatch",
        "ExpiredTokenException",
        "MissingAuthenticationToken",
    }
)


@dataclass(frozen=True)
class NewTask:
    """The request for a task: its kind, and which path of which file system.

    `token` makes the request idempotent. `tags` find the task again once FSx has forgotten the
    token.
    """

    kind: TaskKind
    file_system: str
    path: str
    token: str
    tags: Mapping[str, str]


class Fsx:
    """A client of FSx in one region; close it after use.

    Each instance reads the keys again, so that it uses rotated ones.
    """

    def __init__(self, service: FsxService) -> None:
        self._service = service
        self._client: FSxClient | None = None

    def file_systems(self) -> list[FileSystem]:
        """All Lustre file systems in the region; StorageError if the request fails."""
        with self._asking("Listing file systems") as client:
            found = _pages(client.describe_file_systems, "FileSystems")
            return [file_system_of(each) for each in found if each["FileSystemType"] == _LUSTRE]

    def file_system(self, name: str) -> FileSystem | None:
        """The file system with that id, or None."""
        with self._asking(f"Reading {name}") as client:
            ask = client.describe_file_systems
            told = _unless({"FileSystemNotFound"}, ask, FileSystemIds=[name])
            return file_system_of(told["FileSystems"][0]) if told else None

    def associations(self, file_system: str) -> list[Association]:
        """The data repository associations of a file system."""
        with self._asking(f"Reading the links of {file_system}") as client:
            found = _pages(
                client.describe_data_repository_associations,
                "Associations",
                Filters=[{"Name": "file-system-id", "Values": [file_system]}],
            )
            return [association_of(each) for each in found]

    def tasks(self, file_system: str) -> list[Task]:
        """The tasks of a file system that FSx still knows, ended ones included."""
        with self._asking(f"Reading the tasks of {file_system}") as client:
            found = _pages(
                client.describe_data_repository_tasks,
                "DataRepositoryTasks",
                Filters=[{"Name": "file-system-id", "Values": [file_system]}],
            )
            return [task_of(each) for each in found]

    def task(self, name: str) -> Task | None:
        """The task with that id, or None once FSx has forgotten it."""
        with self._asking(f"Reading {name}") as client:
            ask = client.describe_data_repository_tasks
            told = _unless({"DataRepositoryTaskNotFound"}, ask, TaskIds=[name]) or {}
            return next(map(task_of, told.get("DataRepositoryTasks", ())), None)

    def begin(self, new: NewTask) -> Task | None:
        """Starts a task, or returns it if it was started before; None while another task runs."""
        released: dict[str, Any] = (
            {"ReleaseConfiguration": {"DurationSinceLastAccess": {"Unit": "DAYS", "Value": 0}}}
            if new.kind is TaskKind.RELEASE
            else {}
        )
        doing = f"Starting {new.kind} on {new.file_system}"
        with self._asking(doing) as client:
            told = _unless(
                {"DataRepositoryTaskExecuting"},
                client.create_data_repository_task,
                Type=new.kind.value,
                FileSystemId=new.file_system,
                Paths=[new.path],
                Report={"Enabled": False},
                ClientRequestToken=new.token,
                Tags=[{"Key": key, "Value": value} for key, value in new.tags.items()],
                **released,
            )
            return task_of(told["DataRepositoryTask"]) if told else None

    def cancel(self, name: str) -> None:
        """Cancels a task; does nothing if it has ended or is unknown."""
        over = {"DataRepositoryTaskEnded", "DataRepositoryTaskNotFound"}
        with self._asking(f"Canceling {name}") as client:
            _unless(over, client.cancel_data_repository_task, TaskId=name)

    def close(self) -> None:
        """Closes its connections."""
        if self._client is not None:
            self._client.close()

    def _open(self) -> "FSxClient":
        from botocore.config import Config  # noqa: PLC0415 - a third of a second, when needed

        config = Config(
            connect_timeout=CONNECT_SECONDS,
            read_timeout=READ_SECONDS,
            # The controller retries with a growing delay; retries here would add to its attempts.
            retries={"mode": "standard", "total_max_attempts": 1},
        )
        keys = read_keys(self._service.credentials, "FSx", _SETTING)
        return amazon_session(**keys).client(
            "fsx",
            endpoint_url=self._service.endpoint,
            region_name=self._service.region,
            config=config,
        )

    @contextmanager
    def _asking(self, doing: str) -> "Iterator[FSxClient]":
        """The client; turns exceptions of the library into a StorageError without secrets."""
        from botocore import exceptions  # noqa: PLC0415 - as above

        doing = f"{doing} in FSx of {self._service.region}"
        try:
            if self._client is None:
                self._client = self._open()
            yield self._client
        except exceptions.ClientError as error:
            raise _refusal(doing, error.response) from error
        except exceptions.NoCredentialsError as error:
            raise StorageError(
                f"{doing} failed: the bot has no keys for it and no identity of its own.",
                f"A platform admin must set {_SETTING}.",
            ) from error
        except exceptions.BotoCoreError as error:
            raise StorageError(
                f"{doing} failed: FSx cannot be reached ({type(error).__name__}).",
                "datasets.fsx sets its endpoint and region.",
            ) from error


def _unless(codes: Collection[str], ask: Callable[..., Any], **what: Any) -> Any:
    """The answer of FSx, or None for an error with one of these codes."""
    from botocore import exceptions  # noqa: PLC0415 - as above

    try:
        return ask(**what)
    except exceptions.ClientError as error:
        if error.response.get("Error", {}).get("Code") not in codes:
            raise
    return None


def _pages(ask: Callable[..., Any], name: str, **what: Any) -> Iterator[Any]:
    """The items of all pages of an answer; StorageError if there are too many pages."""
    more: dict[str, str] = {}
    for _ in range(_MOST_PAGES):
        told = ask(**what, **more)
        yield from told.get(name, ())
        if not told.get("NextToken"):
            return
        more = {"NextToken": told["NextToken"]}
    raise StorageError(f"FSx returned more than {_MOST_PAGES} pages of {name}.")


def _refusal(doing: str, answer: Any) -> StorageError:
    error = answer.get("Error", {})
    code, said = str(error.get("Code", "unknown")), str(error.get("Message", ""))[:_SHOWN]
    status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode")
    sentence, hint = f"{doing} failed: FSx returned {code}. {said}".rstrip(), ""
    if code in _BUSY:
        sentence = f"{doing} failed: FSx rate-limited the bot ({code})."
    if code in _REFUSED:
        sentence = f"{doing} failed: FSx denied access to the bot ({code}). {said}".rstrip()
        hint = (
            "A platform admin must check datasets.fsx and the permissions of the bot's identity"
            " (see docs/datasets.md)."
        )
    return StorageError(sentence, hint, status=status, code=code)
