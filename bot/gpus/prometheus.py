"""What a Prometheus knows of GPUs from the DCGM exporter; a few requests, each ends in seconds."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from math import isfinite
from pathlib import Path
from urllib.parse import urlencode

import msgspec
import urllib3
from urllib3.exceptions import HTTPError

from bot.cluster.hiding import hide_secrets
from bot.config import PrometheusSettings
from bot.errors import MetricsError

TIME_OUT_SECONDS = 10.0
# It gives a query up before we do, so that it still says so.
_QUERY_SECONDS = 8
STEP = timedelta(minutes=5)
# The share of time in which anything ran on a GPU: the second is missing under MIG, the first
# where profiling is off. Values are divided by what comes with them.
_METRICS = {"DCGM_FI_PROF_GR_ENGINE_ACTIVE": 1.0, "DCGM_FI_DEV_GPU_UTIL": 100.0}
# The exporter's own pod is in `pod` where Prometheus keeps the labels that it sets itself.
_LABELS = (("exported_namespace", "exported_pod"), ("namespace", "pod"))
_LOOK_BACK = "15m"
_LONGEST_QUOTE = 200
_TOKEN = re.compile(rb"[!-~]+")
_TOO_MUCH = {"execution", "timeout"}


class _Series(msgspec.Struct, frozen=True):
    metric: Mapping[str, str] = {}
    value: tuple[float, str] = (0.0, "")
    values: tuple[tuple[float, str], ...] = ()


class _Data(msgspec.Struct, frozen=True):
    result: tuple[_Series, ...] = ()


class _Answer(msgspec.Struct, frozen=True, rename="camel"):
    status: str = ""
    error_type: str = ""
    error: str = ""
    data: _Data = _Data()


_DECODER = msgspec.json.Decoder(_Answer)


class NoGpusError(MetricsError):
    """It answers, and knows nothing of GPUs that pods use."""


class _TooMuchError(MetricsError):
    """It answers, but has not the memory or the time for this query."""


@dataclass(frozen=True)
class Figure:
    """How busy a pod's busiest GPU was in the five minutes before, in 0..1, and how many there are.

    What the exporter could not tell is None.
    """

    at: datetime
    busy: float | None
    gpus: int


@dataclass(frozen=True)
class _Source:
    """The metric that is served and the labels that name pods; `whole` is a busy GPU's value."""

    metric: str
    whole: float
    namespace: str
    pod: str

    def of(self, namespace: str, beginnings: Iterable[str]) -> str:
        """The series of the pods in a namespace whose names begin so."""
        names = "|".join(f"{re.escape(each)}-.*" for each in beginnings).replace("\\", "\\\\")
        return f'{self.metric}{{{self.namespace}="{namespace}",{self.pod}=~"{names}"}}'


class Prometheus:
    """One Prometheus, or what speaks its HTTP API; `name` is what sentences call it.

    Which metric and labels it has is asked once, so each one is for a single look.
    """

    def __init__(self, name: str, settings: PrometheusSettings) -> None:
        self._name = name
        self._settings = settings
        self._pool = urllib3.PoolManager(ca_certs=settings.ca_file, retries=False)
        self._found: _Source | None = None

    def figures(
        self, namespace: str, beginnings: Sequence[str], times: tuple[datetime, datetime]
    ) -> dict[str, list[Figure]]:
        """By pod, a figure for every five minutes of `times` that anything is known of.

        Pods are those whose names begin with one of `beginnings` and a hyphen. Raises MetricsError.
        """
        source = self._source(times[1])
        chosen = source.of(namespace, beginnings)
        seconds = int(STEP.total_seconds())
        by = f"by ({source.pod})"
        busy = self._range(f"max {by} (max_over_time({chosen}[{seconds}s]))", times)
        counts = self._range(f"count {by} (last_over_time({chosen}[{seconds}s]))", times)
        gpus = {(pod, at): int(value) for pod, at, value in _points(counts, source.pod)}
        found: dict[str, list[Figure]] = {}
        for pod, at, value in _points(busy, source.pod):
            share = value / source.whole if value <= source.whole else None
            moment = datetime.fromtimestamp(at, UTC)
            found.setdefault(pod, []).append(Figure(moment, share, gpus.get((pod, at), 0)))
        return found

    def mean(
        self, namespace: str, beginning: str, times: tuple[datetime, datetime]
    ) -> float | None:
        """How busy the GPUs of those pods were in `times`, each weighed by its time, in 0..1.

        None where nothing is known, or it is too much to sum up. Raises MetricsError.
        """
        begun, ended = times
        source = self._source(ended)
        seconds = max(int((ended - begun).total_seconds()), 1)
        known = f"({source.of(namespace, [beginning])} <= {source.whole:g})"
        window = f"[{seconds}s:30s]"
        summed = f"sum(sum_over_time({known}{window}))"
        query = f"{summed} / sum(count_over_time({known}{window}))"
        try:
            result = self._at(query, ended)
        except _TooMuchError:
            return None
        return float(result[0].value[1]) / source.whole if result else None

    def counted(self, now: datetime) -> int:
        """How many GPUs are known of that pods use now; MetricsError where there are none."""
        source = self._source(now)
        query = f'count(last_over_time({source.metric}{{{source.pod}!=""}}[{_LOOK_BACK}]))'
        result = self._at(query, now)
        return int(result[0].value[1]) if result else 0

    def names(self, at: datetime) -> tuple[str, str]:
        """The labels that name namespace and pod; NoGpusError where no pod's GPU is known of."""
        source = self._source(at)
        return source.namespace, source.pod

    def has(self, metric: str, label: str, at: datetime) -> bool:
        """Whether there is a metric with that label."""
        query = f'count(last_over_time({metric}{{{label}!=""}}[{_LOOK_BACK}]))'
        return bool(self._at(query, at))

    def each_minute(
        self, query: str, minutes: range
    ) -> Iterator[tuple[Mapping[str, str], int, float]]:
        """The labels of each series with its values at the end of each of these minutes."""
        times = f"{(minutes.start + 1) * 60}", f"{minutes.stop * 60}"
        asked = {"query": query, "step": "60", "start": times[0], "end": times[1]}
        for series in self._ask("query_range", asked).result:
            for at, text in series.values:
                value = float(text)
                if isfinite(value):
                    yield series.metric, round(at / 60) - 1, value

    def close(self) -> None:
        """Gives its connections back."""
        self._pool.clear()

    def _source(self, at: datetime) -> _Source:
        self._found = self._found or self._look_for_source(at)
        return self._found

    def _look_for_source(self, at: datetime) -> _Source:
        for namespace, pod in _LABELS:
            served = self._served(pod, at)
            for metric, whole in _METRICS.items():
                if metric in served:
                    return _Source(metric, whole, namespace, pod)
        raise NoGpusError(
            f"{self._name} knows nothing of GPUs that pods use.",
            "It needs DCGM's exporter, with DCGM_EXPORTER_KUBERNETES=true, and"
            f" {' or '.join(_METRICS)}.",
        )

    def _served(self, pod: str, at: datetime) -> set[str]:
        """Which of the metrics there are with that label."""
        chosen = f'{{__name__=~"{"|".join(_METRICS)}",{pod}!=""}}'
        query = f"count by (__name__) (last_over_time({chosen}[{_LOOK_BACK}]))"
        result = self._at(query, at)
        return {each.metric.get("__name__", "") for each in result}

    def _at(self, query: str, moment: datetime) -> tuple[_Series, ...]:
        return self._ask("query", {"query": query, "time": f"{moment.timestamp():.0f}"}).result

    def _range(self, query: str, times: tuple[datetime, datetime]) -> _Data:
        begun, ended = times
        asked = {"start": f"{begun.timestamp():.0f}", "end": f"{ended.timestamp():.0f}"}
        step = f"{STEP.total_seconds():.0f}"
        return self._ask("query_range", {"query": query, "step": step, **asked})

    def _ask(self, what: str, fields: Mapping[str, str]) -> _Data:
        url = f"{self._settings.url.rstrip('/')}/api/v1/{what}"
        try:
            answer = self._pool.request(
                "POST",
                url,
                body=urlencode({**fields, "timeout": f"{_QUERY_SECONDS}s"}),
                headers={"Content-Type": "application/x-www-form-urlencoded", **self._headers()},
                timeout=urllib3.Timeout(total=TIME_OUT_SECONDS),
                redirect=False,
            )
        except HTTPError as error:
            raise MetricsError(
                f"{self._name} does not answer: {type(error).__name__}.",
                "Nothing is done for want of figures; it is asked again.",
            ) from error
        return self._read(answer.status, answer.data)

    def _read(self, status: int, body: bytes) -> _Data:
        try:
            said = _DECODER.decode(body)
        except msgspec.MsgspecError:
            said = _Answer()
        if status == HTTPStatus.OK and said.status == "success":
            return said.data
        if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            raise MetricsError(
                f"{self._name} refuses us: {status}.", "Look at prometheus.token_file."
            )
        told = hide_secrets(" ".join(said.error.split()))[:_LONGEST_QUOTE]
        told = f": {told}" if told else ", and not as a Prometheus does"
        kind = _TooMuchError if said.error_type in _TOO_MUCH else MetricsError
        raise kind(
            f"{self._name} answered {status}{told}.",
            "Look whether prometheus.url is the address of a Prometheus.",
        )

    def _headers(self) -> dict[str, str]:
        """Who asks; the file is read anew, so that a rotated token is seen."""
        if self._settings.token_file is None:
            return {}
        try:
            token = Path(self._settings.token_file).read_bytes().strip()
        except OSError as error:
            raise MetricsError(
                f"The token for {self._name} cannot be read: {error.strerror}.",
                "Look at prometheus.token_file.",
            ) from error
        if not _TOKEN.fullmatch(token):  # the library would quote it in its error
            raise MetricsError(
                f"The token for {self._name} is not one word of plain characters.",
                "Look at prometheus.token_file.",
            )
        return {"Authorization": f"Bearer {token.decode()}"}


def _points(data: _Data, label: str) -> Iterator[tuple[str, float, float]]:
    """Pod, moment and value of each point; infinite ones and no numbers are left out."""
    for series in data.result:
        for at, text in series.values:
            value = float(text)
            if isfinite(value):
                yield series.metric.get(label, ""), at, value
