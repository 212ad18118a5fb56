"""What DCGM's exporter and kube-state-metrics say, as a real Prometheus keeps it."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from typing_extensions import override

from bot.config import ClusterSettings, Fractions, PrometheusSettings
from bot.errors import MetricsError
from bot.gpus.minutes import minute_of
from bot.gpus.nodes import Counting
from bot.gpus.sources.choice import Sources
from bot.gpus.sources.source import Fault, FaultKind, Figures, Request, Requests, Source, Told
from tests.bot.gpus.rig import ACTIVE, PHASE, REQUESTS, UTILIZATION, offered, requested
from tests.bot.ground import START
from tests.prometheus import Scraped, Span, prometheus

MINUTE = timedelta(minutes=1)
FIRST = minute_of(START)
HOUR = (START, START + timedelta(hours=1))
COUNTING = Counting("nvidia.com/gpu", Fractions())


def opened(url: str, matchers: Mapping[str, str] | None = None) -> Source:
    settings = PrometheusSettings(url=url, matchers=dict(matchers or {}))
    at = ClusterSettings(prometheus=settings)
    source = Sources().open("default", at)
    assert source is not None
    return source


@pytest.mark.parametrize("prefix", ["", "exported_"])
@pytest.mark.parametrize(("metric", "whole"), [(ACTIVE, 1.0), (UTILIZATION, 100.0)])
def test_every_label_and_metric_reads_alike(
    tmp_path: Path, prefix: str, metric: str, whole: float
) -> None:
    scraped = Scraped()
    for gpu, busy in (("0", 0.25), ("1", 0.0)):
        labels = {f"{prefix}namespace": "team-a", f"{prefix}pod": "nb-1-x", "gpu": gpu}
        more = {"namespace": "monitoring", "pod": "dcgm-x"} if prefix else {}
        scraped.add(metric, labels | more, (START, START + 3 * MINUTE), busy * whole)
    scraped.add(metric, {f"{prefix}namespace": "b", f"{prefix}pod": "later"}, HOUR, whole)
    with prometheus(tmp_path, scraped) as url, closing(opened(url)) as source:
        found = source.figures(range(FIRST, FIRST + 6))
        said = source.check(START + 3 * MINUTE)
    mine = {minute: told.pods.get(("team-a", "nb-1-x")) for minute, told in found.items()}
    # What is 90 seconds old is as good as new; then it is a gap.
    known = Figures(gpus=2, busy=0.25, idle=1)
    assert list(mine.values()) == [known, known, known, known, None, None]
    assert said == (
        "Prometheus reports 3 used by pods; minutes while the bot is down stay unknown:"
        " no kube-state-metrics"
    )


@pytest.mark.parametrize("prefix", ["", "exported_"])
def test_an_hour_is_told_whose_end_is_missing(tmp_path: Path, prefix: str) -> None:
    scraped, half = Scraped(), (START, START + 30 * MINUTE)
    names = {f"{prefix}namespace": "team-a", f"{prefix}pod": "nb-1-x"}
    more = {"namespace": "monitoring", "pod": "exporter-x"} if prefix else {}
    scraped.add(ACTIVE, {**names, **more, "gpu": "0"}, half, 1)
    asked = {"node": "gpu-1", "resource": "nvidia_com_gpu", "uid": "u", "container": "main"}
    scraped.add(REQUESTS, {**names, **more, **asked}, half, 1)
    scraped.add(PHASE, {**names, **more, "phase": "Running"}, half, 1)
    offered(scraped, HOUR)
    counting = Counting("nvidia.com/gpu", Fractions())
    with prometheus(tmp_path, scraped) as url, closing(opened(url)) as source:
        found = source.figures(range(FIRST, FIRST + 60))
        held = source.requests(range(FIRST, FIRST + 60), counting)
    busy = Told({("team-a", "nb-1-x"): Figures(1, 1, 0)})
    # It was scraped last in minute 29, which is new enough a minute later.
    assert found == {FIRST + minute: busy for minute in range(31)}
    named = {minute for minute, each in held.items() if [pod.pod for pod in each.pods]}
    assert named == {FIRST + minute for minute in range(31)}
    assert {pod.pod for each in held.values() for pod in each.pods} == {"nb-1-x"}


def test_who_held_gpus_is_told(tmp_path: Path) -> None:
    scraped = Scraped()
    offered(scraped, HOUR)
    requested(scraped, "lane-x", (START + MINUTE, START + 3 * MINUTE))
    scraped.add(ACTIVE, {"namespace": "team-a", "pod": "lane-x", "gpu": "0"}, HOUR, 1)
    counting = Counting("nvidia.com/gpu", Fractions())
    with prometheus(tmp_path, scraped) as url, closing(opened(url)) as source:
        found = source.requests(range(FIRST, FIRST + 4), counting)
        beyond = source.requests(range(FIRST + 90, FIRST + 95), counting)
        said = source.check(START + 3 * MINUTE)
    held = Requests([Request("uid-lane-x", "team-a", "lane-x", "gpu-1", 2_000)], {"gpu-1": 8_000})
    assert found == {FIRST: Requests([], {"gpu-1": 8_000})} | {
        FIRST + each: held for each in (1, 2, 3)
    }
    assert beyond == {}
    assert said == "Prometheus reports 1 used by pods"


class Labelled(Scraped):
    """What a Prometheus of several clusters scraped: every series with the name of one."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster = ""

    @override
    def add(self, metric: str, labels: Mapping[str, str], times: Span, value: float) -> None:
        super().add(metric, {**labels, "cluster": self.cluster}, times, value)


def of_two_clusters() -> Labelled:
    """The same names in both, as of a pod that is in both: busy in prod, idle in dev."""
    scraped = Labelled()
    for name, busy, gpus in (("prod", 1, 2), ('dev"\\1', 0, 4)):
        scraped.cluster = name.replace("\\", "\\\\").replace('"', '\\"')
        offered(scraped, HOUR)
        requested(scraped, "lane-x", HOUR, gpus)
        for gpu in range(gpus):
            labels = {"namespace": "team-a", "pod": "lane-x", "gpu": str(gpu)}
            for metric, whole in ((ACTIVE, 1), (UTILIZATION, 100)):
                scraped.add(metric, {**labels, "UUID": f"{name[0]}{gpu}"}, HOUR, busy * whole)
        node = {"Hostname": "gpu-1", "gpu": "0"}
        scraped.add("DCGM_FI_DEV_XID_ERRORS", node, HOUR, 79 if busy else 31)
    return scraped


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Prometheus with the series of two clusters."""
    with prometheus(tmp_path_factory.mktemp("shared"), of_two_clusters()) as url:
        yield url


@pytest.mark.parametrize(
    ("cluster", "gpus", "busy", "code"), [("prod", 2, 2, 79), ('dev"\\1', 4, 0, 31)]
)
def test_matchers_keep_clusters_of_one_prometheus_apart(
    shared: str, cluster: str, gpus: int, busy: int, code: int
) -> None:
    minute, now = range(FIRST, FIRST + 1), START + MINUTE
    with closing(opened(shared, {"cluster": cluster})) as source:
        told, held = source.figures(minute)[FIRST], source.requests(minute, COUNTING)[FIRST]
        assert told.pods == {("team-a", "lane-x"): Figures(gpus, busy, gpus - busy)}
        assert [each.amount for each in held.pods] == [gpus * 1000]
        assert source.faults(minute) == {FIRST: {Fault("gpu-1", "0", FaultKind.XID, code)}}
        assert source.check(now).startswith(f"Prometheus reports {gpus} used by pods")
        assert source.mixture({"gpu-1"}, COUNTING.pattern, now) == ""


@pytest.mark.parametrize("value", ['x"} or up{job="', 'prod"}#', "prod|dev.*", ".*", '\\"'])
def test_matchers_stay_values_whatever_they_say(shared: str, value: str) -> None:
    with closing(opened(shared, {"cluster": value})) as source:
        with pytest.raises(MetricsError) as failed:
            source.figures(range(FIRST, FIRST + 1))
        assert source.requests(range(FIRST, FIRST + 1), COUNTING) == {}
        assert source.faults(range(FIRST, FIRST + 1)) == {}
    assert failed.value.message == (
        f"The Prometheus of default has no GPU metrics for cluster={value}."
    )


def test_a_mixture_of_clusters_is_found(shared: str) -> None:
    pattern, at = COUNTING.pattern, START + MINUTE
    with closing(opened(shared)) as source:
        assert source.mixture({"gpu-1"}, pattern, at) == (
            'its series come from several clusters: cluster is dev"\\1 and prod'
        )
        assert source.mixture({"gpu-7"}, pattern, at) == (
            "it has GPU metrics for node gpu-1, which this cluster does not have"
        )


def test_a_prometheus_without_gpus_says_so(tmp_path: Path) -> None:
    scraped = Scraped()
    scraped.add("up", {"job": "node"}, HOUR, 1)
    with prometheus(tmp_path, scraped) as url, closing(opened(url)) as source:
        with pytest.raises(MetricsError) as failed:
            source.check(START + 3 * MINUTE)
        with pytest.raises(MetricsError):
            source.figures(range(FIRST, FIRST + 4))
    assert failed.value.message == "The Prometheus of default has no metrics for GPUs used by pods."
    assert failed.value.hint == (
        "It needs the DCGM exporter with DCGM_EXPORTER_KUBERNETES=true and"
        " DCGM_FI_PROF_GR_ENGINE_ACTIVE or DCGM_FI_DEV_GPU_UTIL."
    )


def test_gaps_and_unknown_values_stay_so(tmp_path: Path) -> None:
    scraped = Scraped()
    labels = {"namespace": "team-a", "pod": "nb-1-x", "gpu": "0"}
    scraped.add(UTILIZATION, labels, (START, START + 3 * MINUTE), 9223372036854775794.0)
    scraped.add(UTILIZATION, labels, (START + 10 * MINUTE, START + 12 * MINUTE), 50)
    with prometheus(tmp_path, scraped) as url, closing(opened(url)) as source:
        found = source.figures(range(FIRST, FIRST + 12))
    half = Told({("team-a", "nb-1-x"): Figures(1, 0.5, 0)})
    assert found == {FIRST + minute: half for minute in (10, 11)}


@pytest.mark.parametrize("label", ["Hostname", "hostname"])
def test_what_is_wrong_with_gpus_is_told(tmp_path: Path, label: str) -> None:
    scraped, node = Scraped(), {label: "gpu-1", "UUID": "a"}
    for gpu, metric, value in (
        ("1", "DCGM_FI_DEV_XID_ERRORS", 0),
        ("1", "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", 2),
        ("2", "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", 9223372036854775794.0),
        ("3", "DCGM_FI_DEV_ROW_REMAP_FAILURE", 1),
    ):
        scraped.add(metric, {**node, "gpu": gpu}, (START, START + 3 * MINUTE), value)
    at_first, after = (START, START + 2 * MINUTE), (START + 2 * MINUTE, START + 3 * MINUTE)
    scraped.add("DCGM_FI_DEV_XID_ERRORS", {**node, "gpu": "0"}, at_first, 0)
    scraped.add("DCGM_FI_DEV_XID_ERRORS", {**node, "gpu": "0"}, after, 79)
    broken = {
        Fault("gpu-1", "1", FaultKind.REMAPPED, 2),
        Fault("gpu-1", "3", FaultKind.REMAP_FAILED, 1),
    }
    fell_off = Fault("gpu-1", "0", FaultKind.XID, 79)
    with prometheus(tmp_path, scraped) as url, closing(opened(url)) as source:
        assert source.faults(range(FIRST, FIRST + 3)) == {
            FIRST: broken,
            FIRST + 1: broken,
            FIRST + 2: {fell_off, *broken},
        }
        assert source.faults(range(FIRST + 30, FIRST + 33)) == {}
