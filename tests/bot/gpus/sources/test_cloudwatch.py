"""What Amazon CloudWatch is asked, as moto plays it."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from typing_extensions import override

from bot.config import ClusterSettings, Fractions
from bot.errors import MetricsError
from bot.gpus.minutes import minute_of
from bot.gpus.nodes import Counting
from bot.gpus.sources.choice import Sources
from bot.gpus.sources.source import Figures, Request, Requests, Source, Told
from tests.bot.gpus.sources.amazon import CLUSTER, CloudWatchPlayed, cloudwatch
from tests.bot.ground import START

MINUTE = timedelta(minutes=1)
FIRST = minute_of(START)
SOME = (START, START + 3 * MINUTE)
COUNTING = Counting("nvidia.com/gpu", Fractions())


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CloudWatchPlayed]:
    with cloudwatch(tmp_path_factory.mktemp("cloudwatch")) as found:
        yield found


@pytest.fixture
def played(served: CloudWatchPlayed) -> CloudWatchPlayed:
    served.forget()
    return served


def opened(played: CloudWatchPlayed, instances: dict[str, str] | None = None) -> Source:
    at = ClusterSettings(cloudwatch=played.settings)
    source = Sources().open("default", at, instances)
    assert source is not None
    return source


def test_gpus_of_pods_are_told_apart(played: CloudWatchPlayed) -> None:
    played.pod("lane-x", "nvidia0", SOME, (50, 60_000, 80_000))
    played.pod("lane-x", "nvidia1", SOME, (0, 1_000, 80_000))
    played.pod("nb-x", "nvidia2", (START + MINUTE, START + 2 * MINUTE), (100, 0, 80_000))
    played.pod("of-another", "nvidia0", SOME, (100, 0, 80_000), cluster="another")
    with closing(opened(played)) as source:
        found = source.figures(range(FIRST, FIRST + 5))
        said = source.check(START + 3 * MINUTE)
    lane = {("team-a", "lane-x"): Figures(2, 0.5, 1, 61_000, 160_000)}
    notebook = {("team-a", "nb-x"): Figures(1, 1, 0, 0, 80_000)}
    # Of the minutes after that nobody told anything: a gap, no zero.
    assert found == {FIRST: Told(lane), FIRST + 1: Told(lane | notebook), FIRST + 2: Told(lane)}
    assert said == (
        "CloudWatch reports 3 used by pods (Container Insights);"
        " minutes while the bot is down stay unknown: no node_gpu_limit"
    )


def test_who_held_gpus_is_told(played: CloudWatchPlayed) -> None:
    pod = {"ClusterName": CLUSTER, "Namespace": "team-a", "PodName": "x", "FullPodName": "lane-x"}
    played.reports({"pod_gpu_request": 2}, pod, (START + MINUTE, START + 2 * MINUTE))
    node = {"ClusterName": CLUSTER, "NodeName": "gpu-1"}
    played.reports({"node_gpu_limit": 8}, node, SOME)
    with closing(opened(played)) as source:
        found = source.requests(range(FIRST, FIRST + 5), COUNTING)
    nobody = Requests([], {"gpu-1": 8_000})
    held = Requests([Request("", "team-a", "lane-x", "", 2_000)], {"gpu-1": 8_000})
    assert found == {FIRST: nobody, FIRST + 1: held, FIRST + 2: nobody}


def test_instances_are_those_of_the_cluster(played: CloudWatchPlayed) -> None:
    for index, percent in enumerate((100, 0)):
        played.instance("i-0a", index, SOME, percent)
    played.instance("i-0b", 0, SOME, 100)
    with closing(opened(played, {"i-0a": "gpu-1"})) as source:
        found = source.figures(range(FIRST, FIRST + 1))
    assert found == {FIRST: Told(nodes={"gpu-1": Figures(2, 1, 1, 2_000, 160_000)})}
    with closing(opened(played)) as source:
        assert source.check(START + 3 * MINUTE) == (
            "CloudWatch reports 3 on instances, but not which pod uses which (CloudWatch agent);"
            " minutes while the bot is down stay unknown: no node_gpu_limit"
        )


def test_many_gpus_take_several_pages(played: CloudWatchPlayed) -> None:
    for number in range(200):
        whole = {"ClusterName": CLUSTER, "Namespace": "team-a", "PodName": "x"}
        each = {"FullPodName": f"lane-{number}", "GpuDevice": "nvidia0"}
        played.reports({"pod_gpu_utilization": 50}, {**whole, **each}, (START, START + MINUTE))
    with closing(opened(played)) as source:
        found = source.figures(range(FIRST, FIRST + 1))
    assert len(found[FIRST].pods) == 200
    assert set(found[FIRST].pods.values()) == {Figures(1, 0.5, 0)}


def test_nothing_of_gpus_is_said(played: CloudWatchPlayed) -> None:
    with closing(opened(played)) as source, pytest.raises(MetricsError) as failed:
        source.check(START)
    assert failed.value.message == "CloudWatch has no GPU metrics for ml-prod."
    assert failed.value.hint.startswith("Enable Container Insights")


def test_who_has_no_rights_hears_which(played: CloudWatchPlayed) -> None:
    played.ask_for_rights()
    with closing(opened(played)) as source, pytest.raises(MetricsError) as failed:
        source.check(START)
    assert failed.value.message == "CloudWatch of eu-central-1 denied access: 403."
    assert failed.value.hint == (
        "The bot's AWS identity needs cloudwatch:ListMetrics and cloudwatch:GetMetricData;"
        " docs/gpus.md says how."
    )


def test_a_cloud_that_is_away_is_said(played: CloudWatchPlayed) -> None:
    away = played.settings.model_copy(update={"endpoint": "http://127.0.0.1:9"})
    source = Sources().open("default", ClusterSettings(cloudwatch=away))
    assert source is not None
    with closing(source), pytest.raises(MetricsError) as failed:
        source.check(START)
    assert failed.value.message == (
        "CloudWatch of eu-central-1 does not respond: EndpointConnectionError."
    )


class Slow(BaseHTTPRequestHandler):
    """Asks to be asked less, in the words of AWS."""

    def do_POST(self) -> None:
        body = b'{"__type": "ThrottlingException", "message": "Rate exceeded"}'
        self.send_response(400)
        self.send_header("x-amzn-query-error", "Throttling;Sender")
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @override
    def log_message(self, format: str, *arguments: object) -> None:
        """Says nothing."""


def test_a_cloud_that_is_busy_is_let_be(played: CloudWatchPlayed) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        endpoint = f"http://127.0.0.1:{server.server_port}"
        busy = played.settings.model_copy(update={"endpoint": endpoint})
        source = Sources().open("default", ClusterSettings(cloudwatch=busy))
        assert source is not None
        with closing(source), pytest.raises(MetricsError) as failed:
            source.check(START)
        server.shutdown()
        thread.join()
    assert failed.value.message == "CloudWatch of eu-central-1 rate-limited the bot (Throttling)."
    assert failed.value.retry_after_seconds == 60
