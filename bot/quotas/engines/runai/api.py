"""The REST API of a Run:ai control plane, as far as the bot needs it.

Source: https://run-ai-docs.nvidia.com/api/2.24/, and the models of runapy 1.224.0.
"""

import time
from collections.abc import Callable, Mapping
from decimal import Decimal
from http import HTTPStatus
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote, urlencode

import msgspec
import urllib3
from urllib3.exceptions import HTTPError
from urllib3.exceptions import TimeoutError as LateError

from bot.cluster.api.answers import decoder
from bot.cluster.types.objects import ObjectPart
from bot.config import RunaiSettings
from bot.errors import ClusterError
from bot.masking import hide_secrets
from bot.quotas.engines.runai.objects import (
    PENDING,
    RUNNING,
    DepartmentRecord,
    GpuShare,
    NodePoolRecord,
    ProjectRecord,
    WorkloadRecord,
)

T = TypeVar("T")
R = TypeVar("R", ProjectRecord, DepartmentRecord, NodePoolRecord, WorkloadRecord)

TIME_OUT = urllib3.Timeout(connect=3.0, read=10.0)
_WHOLE_SECONDS = 25.0
_CHUNK_BYTES = 1_048_576
PAGE = 500
_PROJECTS = "/api/v1/org-unit/projects"
_MOST_PAGES = 100
# A token is renewed this long before its end.
_MARGIN_SECONDS = 60.0
_USUAL_LIFE_SECONDS = 300
_LONGEST_QUOTE = 200
_JSON = {"Accept": "application/json", "Content-Type": "application/json"}
_OVERLOADED = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}
_LOGIN_HINT = "Check runai.client_id and runai.client_secret_file."
_RIGHTS_HINT = (
    "Give the bot's service account in Run:ai an access rule for the cluster whose role may view"
    " projects, node pools and workloads, and edit projects; for `/team create` also view"
    " departments, and create and delete projects."
)
_REASONS = {
    HTTPStatus.BAD_REQUEST: "BadRequest",
    HTTPStatus.UNAUTHORIZED: "Unauthorized",
    HTTPStatus.FORBIDDEN: "Forbidden",
    HTTPStatus.NOT_FOUND: "NotFound",
    HTTPStatus.CONFLICT: "Conflict",
    HTTPStatus.UNPROCESSABLE_ENTITY: "Invalid",
}


class ClusterRecord(ObjectPart, frozen=True, kw_only=True):
    """A cluster in Run:ai."""

    uuid: str
    name: str = ""
    version: str | None = None


class NewProject(NamedTuple):
    """A project to create, with a quota in one node pool, and no limit to what it borrows."""

    name: str
    description: str
    department_id: str
    namespace: str
    node_pool: NodePoolRecord
    gpus: int


class _Answer(NamedTuple):
    status: int
    data: bytes


class _Token(ObjectPart, frozen=True, kw_only=True):
    access_token: str = ""
    expires_in: int | None = None


class _Refusal(ObjectPart, frozen=True, kw_only=True):
    message: str = ""


class _Page(ObjectPart, frozen=True, kw_only=True):
    """A page of a list; `next` is where the next one begins."""

    projects: tuple[ProjectRecord, ...] | None = None
    departments: tuple[DepartmentRecord, ...] | None = None
    nodepools: tuple[NodePoolRecord, ...] | None = None
    workloads: tuple[WorkloadRecord, ...] | None = None
    next: int | None = None


# Threads must not meet a class for the first time at once.
for _class in (ClusterRecord, _Token, _Refusal, _Page):
    decoder(_class)


class RunaiApi:
    """One control plane and one of its clusters; requests raise ClusterError.

    An answer has to begin within 10 s, and to end within another 25 s. It may be used by several
    threads; they share a token.
    """

    def __init__(
        self, name: str, settings: RunaiSettings, seconds: Callable[[], float] = time.monotonic
    ) -> None:
        self._where = f"Run:ai (cluster {name})"
        self._settings = settings
        self._seconds = seconds
        self._pool = urllib3.PoolManager(
            retries=False, timeout=TIME_OUT, maxsize=4, ca_certs=settings.ca_file
        )
        self._lock = Lock()
        self._token = ""
        self._renew_at = float("-inf")

    def cluster(self) -> ClusterRecord:
        """The configured cluster; ClusterError with reason NotFound if there is none."""
        path = f"/api/v1/clusters/{quote(self._settings.cluster_id, safe='')}"
        body = self._call("GET", path, "read the cluster", query={"verbosity": "metadata"})
        return self._decoded(body, ClusterRecord)

    def projects(self) -> list[ProjectRecord]:
        """All projects of the cluster."""
        return self._all(_PROJECTS, "projects", lambda page: page.projects)

    def departments(self) -> list[DepartmentRecord]:
        """All departments of the cluster."""
        return self._all(
            "/api/v1/org-unit/departments", "departments", lambda page: page.departments
        )

    def node_pools(self) -> list[NodePoolRecord]:
        """All node pools of the cluster."""
        return self._all("/api/v1/node-pools", "node pools", lambda page: page.nodepools)

    def workloads(self) -> list[WorkloadRecord]:
        """The workloads of the cluster that wait or run."""
        path, what = "/api/v1/workloads", "workloads"
        return [
            each
            for phase in (PENDING, RUNNING)
            for each in self._all(path, what, lambda page: page.workloads, f",phase=={phase}")
        ]

    def workloads_of(self, project: str) -> list[WorkloadRecord]:
        """All workloads of a project that Run:ai still keeps, in any phase."""
        of_it = f",projectName=={project}"
        return self._all("/api/v1/workloads", "workloads", lambda page: page.workloads, of_it)

    def create_project(self, project: NewProject) -> None:
        """Creates a project; ClusterError with reason Conflict if the name is taken."""
        gpu = {"deserved": project.gpus, "limit": -1}
        body = {
            "name": project.name,
            "description": project.description,
            "clusterId": self._settings.cluster_id,
            "parentId": project.department_id,
            "requestedNamespace": project.namespace,
            "defaultNodePools": [project.node_pool.name],
            "resources": [{"nodePool": {"id": project.node_pool.id}, "gpu": gpu}],
        }
        self._call("POST", _PROJECTS, f"create project {project.name}", body=body)

    def delete_project(self, project_id: str, name: str) -> None:
        """Deletes a project; nothing happens if there is none with that id."""
        path = f"{_PROJECTS}/{quote(project_id, safe='')}"
        try:
            self._call("DELETE", path, f"delete project {name}")
        except ClusterError as error:
            if error.reason != "NotFound":
                raise

    def set_gpu(self, project: ProjectRecord, pool_id: str, share: GpuShare) -> None:
        """Sets what a project may use of the GPUs of a node pool; to repeat it is harmless.

        The request names every field of the share, so that it means the same whether the API
        merges or replaces it.
        """
        values = {"deserved": share.deserved, "limit": share.limit}
        values["overQuotaWeight"] = share.over_quota_weight
        gpu = {name: value if value is None else _number(value) for name, value in values.items()}
        path = f"{_PROJECTS}/{quote(project.id, safe='')}/resources"
        body = [{"nodePool": {"id": pool_id}, "gpu": gpu}]
        self._call("PATCH", path, f"change the quota of project {project.name}", body=body)

    def close(self) -> None:
        """Closes its connections."""
        self._pool.clear()

    def _all(
        self,
        path: str,
        what: str,
        items: Callable[[_Page], tuple[R, ...] | None],
        conditions: str = "",
    ) -> list[R]:
        found: list[R] = []
        mine, offset = self._settings.cluster_id, 0
        for _ in range(_MOST_PAGES):
            query = {"filterBy": f"clusterId=={mine}{conditions}"}
            query |= {"limit": str(PAGE), "offset": str(offset)}
            page = self._decoded(self._call("GET", path, f"read {what}", query=query), _Page)
            read = items(page)
            if read is None:
                raise self._odd()
            found += [each for each in read if each.cluster_id.lower() == mine.lower()]
            following = page.next
            if following is None:
                # Lists of node pools do not tell where the next page begins.
                following = offset + PAGE if len(read) == PAGE else offset
            if following <= offset:
                return found
            offset = following
        raise ClusterError(f"{self._where} returned more than {_MOST_PAGES} pages of {what}.")

    def _call(
        self,
        method: str,
        path: str,
        doing: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
    ) -> bytes:
        target = f"{path}?{urlencode(query)}" if query else path
        content = None if body is None else msgspec.json.encode(body)
        token = self._valid_token()
        answer = self._send(method, target, content, token)
        if answer.status == HTTPStatus.UNAUTHORIZED:
            # It was revoked, or ended early.
            self._forget(token)
            answer = self._send(method, target, content, self._valid_token())
        if answer.status >= HTTPStatus.MULTIPLE_CHOICES:
            raise self._refusal(doing, answer)
        return answer.data

    def _send(self, method: str, target: str, content: bytes | None, token: str = "") -> _Answer:
        headers = {**_JSON, "Authorization": f"Bearer {token}"} if token else _JSON
        url = f"{self._settings.url.rstrip('/')}{target}"
        try:
            with self._pool.request(
                method, url, body=content, headers=headers, redirect=False, preload_content=False
            ) as response:
                return _Answer(response.status, self._read(response))
        except (HTTPError, OSError) as error:
            raise ClusterError(
                f"{self._where} does not respond: {type(error).__name__}.",
                "Check runai.url and runai.ca_file, and whether the bot can reach it. Retrying.",
                reason="Unreachable",
            ) from error

    def _read(self, response: urllib3.BaseHTTPResponse) -> bytes:
        """The whole body; a server that sends it drop by drop is given up on."""
        deadline = self._seconds() + _WHOLE_SECONDS
        chunks = []
        while chunk := response.read1(_CHUNK_BYTES):
            chunks.append(chunk)
            if self._seconds() > deadline:
                raise LateError
        return b"".join(chunks)

    def _valid_token(self) -> str:
        with self._lock:
            if not self._token or self._seconds() >= self._renew_at:
                self._token, life = self._granted()
                margin = min(_MARGIN_SECONDS, life / 2)
                self._renew_at = self._seconds() + life - margin
            return self._token

    def _forget(self, token: str) -> None:
        with self._lock:
            if self._token == token:
                self._token = ""

    def _granted(self) -> tuple[str, float]:
        """A new token, and how many seconds it is valid."""
        asked = {
            "grantType": "client_credentials",
            "clientID": self._settings.client_id,
            "clientSecret": self._secret(),
        }
        answer = self._send("POST", "/api/v1/token", msgspec.json.encode(asked))
        if answer.status >= HTTPStatus.MULTIPLE_CHOICES:
            raise self._refusal("log in", answer, _LOGIN_HINT)
        token = self._decoded(answer.data, _Token)
        if not token.access_token.isascii() or not token.access_token.isprintable():
            raise self._odd()
        if not token.access_token:
            raise self._odd()
        return token.access_token, float(token.expires_in or _USUAL_LIFE_SECONDS)

    def _secret(self) -> str:
        try:
            text = Path(self._settings.client_secret_file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            said = error.strerror if isinstance(error, OSError) else "it is not text"
            raise ClusterError(
                f"{self._where}: the client secret cannot be read: {said}.",
                "Check runai.client_secret_file.",
                reason="Unauthorized",
            ) from error
        if not text.strip():
            raise ClusterError(
                f"{self._where}: the file with the client secret is empty.",
                "Check runai.client_secret_file.",
                reason="Unauthorized",
            )
        return text.strip()

    def _refusal(self, doing: str, answer: _Answer, hint: str = "") -> ClusterError:
        """What its `{code, message}` says, for people."""
        try:
            said: str = decoder(_Refusal).decode(answer.data).message
        except msgspec.MsgspecError:
            said = ""
        told = hide_secrets(" ".join(said.split()))[:_LONGEST_QUOTE].rstrip(".")
        status, more = answer.status, f": {told}" if told else ""
        if status in _OVERLOADED or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            hint = "Retrying."
        elif not hint and status == HTTPStatus.UNAUTHORIZED:
            hint = _LOGIN_HINT
        elif not hint and status == HTTPStatus.FORBIDDEN:
            hint = _RIGHTS_HINT
        elif status < HTTPStatus.BAD_REQUEST:
            hint = "Check that runai.url is the address of the control plane itself."
        reason = next((word for code, word in _REASONS.items() if code == status), "")
        text = f"{self._where} refused to {doing}: {status}{more}."
        return ClusterError(text, hint, status=status, reason=reason)

    def _decoded(self, body: bytes, type_: type[T]) -> T:
        try:
            known: Any = type_
            found: T = decoder(known).decode(body)
        except msgspec.MsgspecError as error:
            raise self._odd() from error
        return found

    def _odd(self) -> ClusterError:
        return ClusterError(
            f"{self._where} returned an answer that its REST API does not have.",
            "Check that runai.url is the address of a Run:ai control plane.",
        )


def _number(value: Decimal) -> int | float:
    """Run:ai's quotas are JSON numbers."""
    return int(value) if value == value.to_integral_value() else float(value)
