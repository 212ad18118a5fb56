"""What an MLflow server keeps, with the rules by which MLflow 3.17 refuses requests."""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

Body = Mapping[str, Any]
MOST_METRICS, MOST_PAIRS, MOST = 1_000, 100, 1_000
_LONGEST_KEY, _LONGEST_PARAM, _LONGEST_TAG = 250, 6_000, 8_000
_NAME = re.compile(r"[/\w.\- :]*")
_FILTER = re.compile(r"tags\.`([^`]+)` = '([^']*)'")
_STATUSES = {"RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED"}
_VIEWS = {"ACTIVE_ONLY": {"active"}, "DELETED_ONLY": {"deleted"}, "ALL": {"active", "deleted"}}
_INVALID, _GONE = "INVALID_PARAMETER_VALUE", "RESOURCE_DOES_NOT_EXIST"


class MlflowRefusalError(Exception):
    """A refused request: the status and MLflow's word for it."""

    def __init__(self, status: int, code: str, words: str) -> None:
        super().__init__(words)
        self.status = status
        self.body = {"error_code": code, "message": words}


def _invalid(words: str) -> MlflowRefusalError:
    return MlflowRefusalError(400, _INVALID, words)


@dataclass
class Experiment:
    """An experiment; a deleted one keeps its name."""

    id: str
    name: str
    stage: str = "active"


@dataclass
class MlflowRun:
    """A run: metrics are (key, value, timestamp, step), each kept once."""

    id: str
    experiment_id: str
    name: str
    start_time: int
    status: str = "RUNNING"
    end_time: int | None = None
    stage: str = "active"
    tags: dict[str, str] = field(default_factory=dict)
    params: dict[str, str] = field(default_factory=dict)
    metrics: dict[tuple[str, Any, int, int], None] = field(default_factory=dict)

    def history(self, key: str) -> list[tuple[int, Any]]:
        """Steps and values of a metric, in the order of the steps."""
        return sorted((step, value) for name, value, _, step in self.metrics if name == key)

    @property
    def info(self) -> dict[str, Any]:
        """As MLflow describes it."""
        end = {"end_time": self.end_time} if self.end_time is not None else {}
        return {
            "run_id": self.id, "experiment_id": self.experiment_id, "run_name": self.name,
            "status": self.status, "start_time": self.start_time, "lifecycle_stage": self.stage,
            **end,
        }  # fmt: skip


class MlflowStore:
    """Experiments and runs."""

    def __init__(self) -> None:
        self.experiments = {"0": Experiment("0", "Default")}
        self.runs: dict[str, MlflowRun] = {}
        self._lock = Lock()
        self._operations: dict[tuple[str, str], Callable[[Body], Body]] = {
            ("GET", "experiments/get-by-name"): self._experiment_named,
            ("POST", "experiments/create"): self._create_experiment,
            ("POST", "experiments/search"): self._search_experiments,
            ("POST", "runs/create"): self._create_run,
            ("POST", "runs/search"): self._search_runs,
            ("POST", "runs/log-batch"): self._log_batch,
            ("POST", "runs/update"): self._update_run,
        }

    def answer(self, method: str, operation: str, asked: Body) -> tuple[int, Body]:
        """Status and body of the answer to a request."""
        work = self._operations.get((method, operation))
        if work is None:
            return 404, {"error_code": "ENDPOINT_NOT_FOUND", "message": operation}
        with self._lock:
            try:
                return 200, work(asked)
            except MlflowRefusalError as error:
                return error.status, error.body

    def _experiment_named(self, asked: Body) -> Body:
        name = asked["experiment_name"]
        found = next((each for each in self.experiments.values() if each.name == name), None)
        if found is None:
            raise MlflowRefusalError(404, _GONE, f"Could not find experiment with name '{name}'")
        return {"experiment": _shown(found)}

    def _create_experiment(self, asked: Body) -> Body:
        name = asked["name"]
        if any(each.name == name for each in self.experiments.values()):
            words = f"Experiment(name={name}) already exists."
            raise MlflowRefusalError(400, "RESOURCE_ALREADY_EXISTS", words)
        made = Experiment(str(len(self.experiments)), name)
        self.experiments[made.id] = made
        return {"experiment_id": made.id}

    def _search_experiments(self, asked: Body) -> Body:
        active = [_shown(each) for each in self.experiments.values() if each.stage == "active"]
        return {"experiments": active[: asked["max_results"]]}

    def _create_run(self, asked: Body) -> Body:
        experiment = self.experiments.get(asked["experiment_id"])
        if experiment is None:
            raise MlflowRefusalError(404, _GONE, f"No Experiment with id={asked['experiment_id']}")
        _refuse_deleted(experiment.stage, f"The experiment {experiment.id}")
        made = MlflowRun(
            f"{len(self.runs) + 1:032x}", experiment.id, asked["run_name"], asked["start_time"]
        )
        made.tags |= _pairs(asked["tags"], _LONGEST_TAG) | {"mlflow.runName": made.name}
        self.runs[made.id] = made
        return {"run": {"info": made.info, "data": {}}}

    def _search_runs(self, asked: Body) -> Body:
        found = _FILTER.fullmatch(asked["filter"])
        if found is None:
            raise _invalid(f"Invalid filter string: {asked['filter']}")
        stages = _VIEWS[asked["run_view_type"]]
        runs = [
            each
            for each in sorted(self.runs.values(), key=lambda run: run.start_time)
            if each.experiment_id in asked["experiment_ids"] and each.stage in stages
            if each.tags.get(found[1]) == found[2]
        ]
        return {"runs": [{"info": each.info} for each in runs[: asked["max_results"]]]}

    def _log_batch(self, asked: Body) -> Body:
        run = self._run(asked["run_id"])
        metrics, params, tags = (asked.get(each, []) for each in ("metrics", "params", "tags"))
        for name, given, most in (
            ("metrics", metrics, MOST_METRICS), ("params", params, MOST_PAIRS),
            ("tags", tags, MOST_PAIRS), ("entities", [*metrics, *params, *tags], MOST),
        ):  # fmt: skip
            if len(given) > most:
                raise _invalid(
                    f"A batch logging request can contain at most {most} {name}. Got {len(given)}"
                    f" {name}. Please split up metrics across multiple requests and try again."
                )
        _refuse_names(each["key"] for each in (*metrics, *params, *tags))
        written = _pairs(params, _LONGEST_PARAM)
        for key, value in written.items():
            if run.params.get(key, value) != value:
                raise _invalid(f"Changing param values is not allowed. Param: {key}")
        new = [(m["key"], m["value"], int(m["timestamp"]), int(m["step"])) for m in metrics]
        run.tags |= _pairs(tags, _LONGEST_TAG)
        run.params |= written
        run.metrics |= dict.fromkeys(new)
        return {}

    def _update_run(self, asked: Body) -> Body:
        run = self._run(asked["run_id"])
        if asked["status"] not in _STATUSES:
            raise _invalid(f"Invalid value for parameter 'status': {asked['status']}")
        run.status, run.end_time = asked["status"], asked.get("end_time", run.end_time)
        return {"run_info": run.info}

    def _run(self, run_id: str) -> MlflowRun:
        run = self.runs.get(run_id)
        if run is None:
            raise MlflowRefusalError(404, _GONE, f"Run with id={run_id} not found")
        _refuse_deleted(run.stage, f"The run {run_id}")
        return run


def _shown(experiment: Experiment) -> Body:
    return {
        "experiment_id": experiment.id,
        "name": experiment.name,
        "lifecycle_stage": experiment.stage,
    }


def _refuse_deleted(stage: str, what: str) -> None:
    if stage != "active":
        raise _invalid(f"{what} must be in the 'active' state. Current state is {stage}.")


def _refuse_names(keys: Iterator[str]) -> None:
    for key in keys:
        path = posixpath.normpath(key)
        if not _NAME.fullmatch(key) or len(key) > _LONGEST_KEY:
            raise _invalid(f'Invalid value "{key}": Names may only contain alphanumerics ...')
        if path != key or path == "." or path.startswith(("..", "/")):
            raise _invalid(f'Invalid value "{key}": Names may be treated as files in certain cases')


def _pairs(given: list[Body], longest: int) -> dict[str, str]:
    for each in given:
        if not isinstance(each["value"], str) or len(each["value"]) > longest:
            raise _invalid(f"'{each['key']}' exceeds the maximum length of {longest} characters")
    return {each["key"]: each["value"] for each in given}
