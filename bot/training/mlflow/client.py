"""The REST API of an MLflow tracking server; each request ends within seconds."""

import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import quote, urlencode

import urllib3
from urllib3.exceptions import HTTPError

from bot.config import Mlflow
from bot.errors import TrackingError
from bot.masking import hide_secrets

TIME_OUT_SECONDS = 10.0
RUN_TAG = "quartermaster.run"
"""The tag by which the run of ours is found again; its value is the id of its row."""

_API = "/api/2.0/mlflow"
_LONGEST_QUOTE = 200
_MOST_BYTES = 10_000_000
_CHUNK_BYTES = 64 * 1024
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_PLAIN_WORD = re.compile(rb"[!-~]+")
_DENIED = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
_GONE, _TAKEN = "RESOURCE_DOES_NOT_EXIST", "RESOURCE_ALREADY_EXISTS"


@dataclass(frozen=True)
class Experiment:
    """An experiment; one that is deleted keeps its name."""

    id: str
    is_deleted: bool


@dataclass(frozen=True)
class NewRun:
    """A run to create: of which experiment, when it started, and its tags."""

    experiment_id: str
    run_id: str
    name: str
    owner: str
    started_ms: int


@dataclass(frozen=True)
class Batch:
    """What one request adds to a run: at most 1,000 metrics, or 100 parameters and 100 tags."""

    metrics: Sequence[Mapping[str, Any]] = ()
    params: Mapping[str, str] | None = None
    tags: Mapping[str, str] | None = None

    def body(self, mlflow_id: str) -> dict[str, Any]:
        """The body of the request."""
        pairs = {"params": self.params or {}, "tags": self.tags or {}}
        return {
            "run_id": mlflow_id,
            "metrics": [*self.metrics],
            **{
                part: [{"key": key, "value": value} for key, value in found.items()]
                for part, found in pairs.items()
            },
        }


class MlflowClient:
    """One MLflow server. Its methods raise TrackingError if it does not do what is asked."""

    def __init__(self, settings: Mlflow) -> None:
        self._settings = settings
        if settings.ca_file is not None:  # the library does not say which file it cannot read
            _content_of(settings.ca_file, "mlflow.ca_file")
        self._pool = urllib3.PoolManager(retries=False, ca_certs=settings.ca_file)

    def check(self) -> None:
        """Asks for experiments; an error if the server does not answer, or not the bot."""
        self._ask("POST", "experiments/search", {"max_results": 1})

    def experiment(self, name: str) -> Experiment | None:
        """The experiment of that name; None if there is none."""
        query = urlencode({"experiment_name": name}, quote_via=quote)
        try:
            found = self._ask("GET", f"experiments/get-by-name?{query}")
        except TrackingError as error:
            if error.code == _GONE:
                return None
            raise
        about = _part(found, "experiment")
        experiment_id = _id(about.get("experiment_id"), "experiment_id")
        return Experiment(experiment_id, is_deleted=about.get("lifecycle_stage") == "deleted")

    def create_experiment(self, name: str) -> None:
        """Creates an experiment; one of that name is as good."""
        try:
            self._ask("POST", "experiments/create", {"name": name})
        except TrackingError as error:
            if error.code != _TAKEN:
                raise

    def find_run(self, experiment_id: str, run_id: str) -> str | None:
        """The id of the MLflow run that was created for a run, also of a deleted one."""
        asked = {
            "experiment_ids": [experiment_id],
            "filter": f"tags.`{RUN_TAG}` = '{run_id}'",
            "run_view_type": "ALL",
            "order_by": ["attributes.start_time ASC"],
            "max_results": 1,
        }
        match self._ask("POST", "runs/search", asked).get("runs") or []:
            case []:
                return None
            case [{"info": {"run_id": found}}, *_]:
                return _id(found, "run_id")
            case _:
                raise _without("run")

    def create_run(self, new: NewRun) -> str:
        """Creates a run and returns its id."""
        asked = {
            "experiment_id": new.experiment_id,
            "run_name": new.name,
            "user_id": new.owner,
            "start_time": new.started_ms,
            "tags": [
                {"key": RUN_TAG, "value": new.run_id},
                {"key": "mlflow.user", "value": new.owner},
            ],
        }
        made = self._ask("POST", "runs/create", asked)
        return _id(_part(_part(made, "run"), "info").get("run_id"), "run_id")

    def log(self, mlflow_id: str, batch: Batch) -> None:
        """Adds metrics, parameters and tags; what is there already is no error."""
        self._ask("POST", "runs/log-batch", batch.body(mlflow_id))

    def update(self, mlflow_id: str, status: str, ended_ms: int | None) -> None:
        """Sets the status of a run, and when it ended."""
        end = {"end_time": ended_ms} if ended_ms is not None else {}
        self._ask("POST", "runs/update", {"run_id": mlflow_id, "status": status, **end})

    def link(self, experiment_id: str, mlflow_id: str) -> str:
        """Where people open the run."""
        base = (self._settings.web_url or self._settings.url).rstrip("/")
        return f"{base}/#/experiments/{experiment_id}/runs/{mlflow_id}"

    def close(self) -> None:
        """Closes its connections."""
        self._pool.clear()

    def _ask(self, method: str, what: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        url = f"{self._settings.url.rstrip('/')}{_API}/{what}"
        headers = {"Content-Type": "application/json", **self._login()}
        try:
            answer = self._pool.request(
                method,
                url,
                body=json.dumps(body).encode() if body is not None else None,
                headers=headers,
                timeout=urllib3.Timeout(total=TIME_OUT_SECONDS),
                redirect=False,
                preload_content=False,
            )
            content = _body(answer)
        except (HTTPError, OSError) as error:  # OSError for an unreadable TLS file
            raise TrackingError(
                f"MLflow does not respond: {type(error).__name__}.",
                "Check mlflow.url and whether the bot can reach it. Retrying.",
            ) from error
        return _read(answer.status, content)

    def _login(self) -> dict[str, str]:
        token_file, basic = self._settings.token_file, self._settings.basic
        if token_file is not None:
            token = _content_of(token_file, "mlflow.token_file").strip()
            if not _PLAIN_WORD.fullmatch(token):  # the library would quote it in its error
                raise TrackingError(
                    "The token for MLflow must be one word of printable ASCII characters.",
                    "Check mlflow.token_file.",
                )
            return {"Authorization": f"Bearer {token.decode()}"}
        if basic is not None:
            setting = "mlflow.basic.password_file"
            password = _content_of(basic.password_file, setting).rstrip(b"\r\n")
            encoded = b64encode(basic.username.encode() + b":" + password).decode()
            return {"Authorization": f"Basic {encoded}"}
        return {}


def _body(answer: urllib3.BaseHTTPResponse) -> bytes:
    """What it says, of which neither the size nor the time has other limits."""
    deadline, content = monotonic() + TIME_OUT_SECONDS, b""
    while chunk := answer.read1(_CHUNK_BYTES, decode_content=False):
        content += chunk
        is_late = monotonic() > deadline
        if is_late or len(content) > _MOST_BYTES:
            answer.close()
            most = f"{TIME_OUT_SECONDS:.0f} s" if is_late else f"{_MOST_BYTES // 1_000_000} MB"
            raise TrackingError(
                f"MLflow's answer takes more than {most}.",
                "Check that mlflow.url is the tracking URI of an MLflow. Retrying.",
            )
    answer.release_conn()
    return content


def _read(status: int, content: bytes) -> dict[str, Any]:
    """The answer; TrackingError if it is an error, or not one of MLflow."""
    try:
        said = json.loads(content)
    except (ValueError, RecursionError):
        said = None
    is_mlflow = isinstance(said, dict)
    if status == HTTPStatus.OK and is_mlflow:
        found: dict[str, Any] = said
        return found
    if status in _DENIED:
        raise TrackingError(
            f"MLflow denied access: {status}.", "Check mlflow.token_file or mlflow.basic."
        )
    code = str(said.get("error_code", "")) if is_mlflow else ""
    told = hide_secrets(" ".join(str(said.get("message", "")).split())) if is_mlflow else ""
    is_down = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    if not told and not is_down:
        raise TrackingError(
            f"MLflow returned {status}, which is no answer of its API.",
            "Check that mlflow.url is the tracking URI of an MLflow.",
        )
    told = f": {told[:_LONGEST_QUOTE].rstrip('.')}" if told else ""
    raise TrackingError(f"MLflow returned {status}{told}.", "Retrying.", code=code)


def _part(found: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = found.get(name)
    if not isinstance(part, dict):
        raise _without(name)
    return part


def _id(value: object, name: str) -> str:
    """An id, which becomes part of addresses."""
    if not isinstance(value, str | int) or not _ID.fullmatch(str(value)):
        raise _without(name)
    return str(value)


def _without(name: str) -> TrackingError:
    return TrackingError(f"MLflow's answer has no {name}.", "Check that mlflow.url is right.")


def _content_of(file: str, setting: str) -> bytes:
    """The content of a file named by a setting; TrackingError if it cannot be read."""
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise TrackingError(
            f"A file for MLflow cannot be read: {error.strerror}.", f"Check {setting}."
        ) from error
