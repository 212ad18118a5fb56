"""What MLflow gets of a run: its parameters, tags, metrics and status. Pure: no I/O."""

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from posixpath import normpath
from typing import Any

from bot.masking import hide_secrets, is_secret
from bot.training.arguments import arguments_of
from bot.training.kinds import gpus_of
from bot.training.mlflow.client import Batch
from bot.training.series.points import Point, Series
from bot.training.series.tables import RunSeries
from bot.training.spec import RunSpec, spec_of
from bot.training.submission.artifacts import artifacts_of
from bot.training.tables import BAD_ENDS, GOOD_ENDS, NOT_ADMITTED, Run, RunPhase

MOST_METRICS, MOST_PAIRS = 1_000, 100
"""How many metrics, and how many parameters or tags, MLflow takes in one request."""

RUNNING = "RUNNING"
_LONGEST_TAG = 1_000
_SWEPT = "SWEEP_"
_FORBIDDEN = re.compile(r"[^\w.\- :/]")
_LARGEST_STEP = 2**63 - 1
_NOT_FINITE = {math.inf: "Infinity", -math.inf: "-Infinity"}


@dataclass(frozen=True)
class Description:
    """The parameters and tags of a run; the digest says whether MLflow has them."""

    params: Mapping[str, str]
    tags: Mapping[str, str]

    @property
    def digest(self) -> str:
        """The same for the same content."""
        content = repr((sorted(self.params.items()), sorted(self.tags.items())))
        return sha256(content.encode()).hexdigest()[:16]

    @property
    def batch(self) -> Batch:
        """The request that writes them."""
        return Batch(params=self.params, tags=self.tags)


@dataclass
class NewMetrics:
    """The next metrics to write, and how far each series is exported once they are."""

    metrics: list[dict[str, Any]] = field(default_factory=list)
    written: dict[str, list[int]] = field(default_factory=dict)


def status_of(run: Run) -> str:
    """The status in MLflow's words."""
    if run.phase in GOOD_ENDS:
        return "FINISHED"
    if run.phase in BAD_ENDS:
        return "FAILED"
    if run.phase == RunPhase.STOPPED:
        return "KILLED"
    return "SCHEDULED" if run.phase in NOT_ADMITTED else RUNNING


def milliseconds(moment: datetime) -> int:
    """The moment in milliseconds since 1970."""
    return int(moment.timestamp() * 1000)


def description_of(run: Run, owner: str) -> Description:
    """Its parameters and tags; what looks like a secret is left out or hidden."""
    spec = spec_of(run)
    params = {**_swept(spec), **arguments_of(spec.command)}
    tags = _allowed({name: value for name, value in _tags(run, spec, owner) if value})
    return Description(
        _allowed(params), {key: hide_secrets(value)[:_LONGEST_TAG] for key, value in tags.items()}
    )


def new_metrics(
    rows: Sequence[RunSeries], written: Mapping[str, Sequence[int]]
) -> NewMetrics | None:
    """The next values that MLflow lacks, at most as many as one request takes; None if it has all.

    A series is exported by the position of its values. Of a long series only some values are kept;
    those that were passed before are not missed.
    """
    found = NewMetrics(written={name: [*each] for name, each in written.items()})
    keys = _keys([row.name for row in rows])
    for row in rows:
        is_reported, position = written.get(row.name, (int(row.is_reported), 0))
        if is_reported != int(row.is_reported):
            position = 0  # what the program reports replaces what its output looked like
        room = MOST_METRICS - len(found.metrics)
        if position >= row.count or room <= 0:
            continue
        series = row.series()
        places = [each for each in _places(series) if each[0] >= position]
        found.metrics += [_metric(keys[row.name], series, *each) for each in places[:room]]
        end = row.count if len(places) <= room else places[room][0]
        found.written[row.name] = [int(row.is_reported), end]
    return found if found.metrics else None


def _places(series: Series) -> Iterator[tuple[int, Point]]:
    """The kept values with their positions, the newest included."""
    for number, point in enumerate(series.points):
        yield number * series.every, point
    last = (len(series.points) - 1) * series.every
    if series.newest is not None and last < series.count - 1:
        yield series.count - 1, series.newest


def _metric(key: str, series: Series, position: int, point: Point) -> dict[str, Any]:
    return {
        "key": key,
        "value": _value(point.value),
        "timestamp": int(point.at * 1000),
        "step": _step(series, position, point),
    }


def _value(value: float) -> float | str:
    return "NaN" if math.isnan(value) else _NOT_FINITE.get(value, value)


def _step(series: Series, position: int, point: Point) -> int:
    """A whole number, as MLflow takes it: the step, else the epoch, else the position."""
    newest = series.newest
    if newest is None or (newest.step is None and newest.epoch is None):
        return position
    place = point.step if newest.step is not None else point.epoch
    return max(min(int(place or 0), _LARGEST_STEP), -_LARGEST_STEP)


def _swept(spec: RunSpec) -> dict[str, str]:
    """The values of a cell of a sweep."""
    return {
        each.name.removeprefix(_SWEPT).lower(): each.value
        for each in spec.env
        if spec.cell is not None and each.name.startswith(_SWEPT)
        if not is_secret(each.name, each.value)
    }


def _tags(run: Run, spec: RunSpec, owner: str) -> Iterator[tuple[str, str]]:
    repository, _, commit = (spec.code or "").rpartition("@")
    yield "mlflow.source.git.commit", commit
    yield "mlflow.source.git.repoURL", repository
    facts = {
        "name": run.reference,
        "owner": owner,
        "team": run.team,
        "cluster": run.cluster,
        "kind": spec.kind,
        "gpus": f"{gpus_of(spec):f}",
        "gpu_type": run.flavor or spec.gpu_type or "",
        "nodes": str(spec.nodes),
        "image": spec.image,
        "image_digest": run.image_id.rpartition("@")[2],
        "code": spec.code or "",
        "sweep": spec.cell.sweep if spec.cell else "",
        "status": run.phase,
        "reason": run.reason if not run.is_live else "",
    }
    yield from ((f"quartermaster.{name}", value) for name, value in facts.items())
    for each in spec.data:
        dataset, _, version = each.reference.partition("@")
        name = dataset + "".join(version.partition("/")[1:]).rstrip("/")
        yield f"quartermaster.dataset.{name}", each.reference
        yield f"quartermaster.dataset_digest.{name}", each.digest
    for number, kept in enumerate(artifacts_of(run.job_name, spec), 1):
        place = f"pvc://{run.cluster}/{run.namespace}/{kept.claim}/{kept.within}"
        yield f"quartermaster.artifact.{number}", place
    for label, url in run.links.items():
        yield f"quartermaster.link.{label}", url


def _allowed(pairs: Mapping[str, str]) -> dict[str, str]:
    keys = _keys(pairs)
    return {keys[name]: value for name, value in [*pairs.items()][:MOST_PAIRS]}


def _keys(names: Collection[str]) -> dict[str, str]:
    """A name for each that MLflow allows, no two of them the same."""
    found: dict[str, str] = {}
    taken = set[str]()
    for name in names:
        plain = normpath(_FORBIDDEN.sub("_", name).strip("/") or "_").replace("..", "_")
        key = "_" if plain == "." else plain
        while key in taken:
            key += "_"
        taken.add(key)
        found[name] = key
    return found
