"""What a real Prometheus is asked, with the labels and metrics that exporters differ in."""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typing_extensions import override

from bot.config import PrometheusSettings
from bot.errors import MetricsError
from bot.gpus.prometheus import Figure, Prometheus
from tests.bot.gpus.rig import ACTIVE, UTILIZATION
from tests.bot.ground import START
from tests.prometheus import Scraped, prometheus

FIVE = timedelta(minutes=5)
TIMES = (START, START + 2 * FIVE)
NOT_KNOWN = 9223372036854775794.0
WORD = "a-word-of-twenty-signs"


@contextmanager
def asking(folder: Path, scraped: Scraped) -> Iterator[Prometheus]:
    with prometheus(folder, scraped) as url:
        found = Prometheus("The Prometheus of default", PrometheusSettings(url=url))
        with closing(found):
            yield found


@pytest.mark.parametrize("prefix", ["", "exported_"])
@pytest.mark.parametrize(("metric", "whole"), [(ACTIVE, 1.0), (UTILIZATION, 100.0)])
def test_every_label_and_metric_reads_alike(
    tmp_path: Path, prefix: str, metric: str, whole: float
) -> None:
    scraped = Scraped()
    for gpu, busy in (("0", 0.25), ("1", 0.75)):
        labels = {f"{prefix}namespace": "team-a", f"{prefix}pod": "nb-1-x", "gpu": gpu}
        scraped.add(metric, labels, (START, START + 3 * FIVE), busy * whole)
    with asking(tmp_path, scraped) as source:
        found = source.figures("team-a", ["nb-1", "nb-2"], TIMES)
        mean = source.mean("team-a", "nb-1", TIMES)
    moments = (START, START + FIVE, START + 2 * FIVE)
    assert found == {"nb-1-x": [Figure(moment, 0.75, 2) for moment in moments]}
    assert mean == pytest.approx(0.5)


def test_only_the_pods_asked_for_count(tmp_path: Path) -> None:
    scraped = Scraped()
    for place, pod in (("team-a", "nb-11-x"), ("team-b", "nb-1-x"), ("team-a", "a-nb-1-x")):
        scraped.add(ACTIVE, {"namespace": place, "pod": pod}, (START, START + 3 * FIVE), 1)
    with asking(tmp_path, scraped) as source:
        assert source.figures("team-a", ["nb-1"], TIMES) == {}
        assert source.mean("team-a", "nb-1", TIMES) is None
        assert source.counted(START + FIVE) == 3


def test_gaps_and_unknown_values_stay_so(tmp_path: Path) -> None:
    scraped = Scraped()
    labels = {"namespace": "team-a", "pod": "nb-1-x"}
    minute = timedelta(minutes=1)
    scraped.add(UTILIZATION, labels, (START + minute, START + 2 * minute), NOT_KNOWN)
    scraped.add(UTILIZATION, labels, (START + 2 * FIVE, START + 3 * FIVE), 50)
    with asking(tmp_path, scraped) as source:
        found = source.figures("team-a", ["nb-1"], TIMES)
        mean = source.mean("team-a", "nb-1", (START, START + 3 * FIVE))
    assert found == {"nb-1-x": [Figure(START + FIVE, None, 1), Figure(START + 2 * FIVE, 0.5, 1)]}
    assert mean == pytest.approx(0.5)


def test_a_prometheus_without_gpus_says_so(tmp_path: Path) -> None:
    scraped = Scraped()
    scraped.add("up", {"job": "node"}, (START, START + 3 * FIVE), 1)
    with asking(tmp_path, scraped) as source, pytest.raises(MetricsError) as failed:
        source.counted(START + FIVE)
    assert failed.value.message == "The Prometheus of default knows nothing of GPUs that pods use."
    assert failed.value.hint == (
        "It needs DCGM's exporter, with DCGM_EXPORTER_KUBERNETES=true, and"
        " DCGM_FI_PROF_GR_ENGINE_ACTIVE or DCGM_FI_DEV_GPU_UTIL."
    )


class Guard(BaseHTTPRequestHandler):
    """A server that is no Prometheus, and lets in who has the token."""

    def do_POST(self) -> None:
        is_known = self.headers["Authorization"] == f"Bearer {WORD}"
        body = b"<html>token=hidden-in-a-page</html>"
        self.send_response(200 if is_known else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @override
    def log_message(self, format: str, *arguments: object) -> None:
        """Says nothing."""


@pytest.fixture
def guard() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Guard)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_who_is_refused_hears_which_setting(guard: str, tmp_path: Path) -> None:
    token = tmp_path / "token"
    settings = PrometheusSettings(url=guard, token_file=str(token))
    with closing(Prometheus("The Prometheus of default", settings)) as source:
        with pytest.raises(MetricsError) as missing:
            source.counted(START)
        token.write_text("another")
        with pytest.raises(MetricsError) as refused:
            source.counted(START)
        token.write_text(f"{WORD}\n")
        with pytest.raises(MetricsError) as strange:
            source.counted(START)
    assert [each.value.message for each in (missing, refused, strange)] == [
        "The token for The Prometheus of default cannot be read: No such file or directory.",
        "The Prometheus of default refuses us: 401.",
        "The Prometheus of default answered 200, and not as a Prometheus does.",
    ]


@pytest.mark.parametrize("more", ["\nsecond", "\u20ac", "\0"])
def test_what_is_no_token_is_not_shown(tmp_path: Path, more: str) -> None:
    token = tmp_path / "token"
    token.write_text(f"{WORD}{more}")
    settings = PrometheusSettings(url="http://127.0.0.1:9", token_file=str(token))
    with closing(Prometheus("It", settings)) as source, pytest.raises(MetricsError) as failed:
        source.counted(START)
    assert failed.value.message == "The token for It is not one word of plain characters."


def test_a_server_that_is_away_is_said() -> None:
    settings = PrometheusSettings(url="http://127.0.0.1:9")
    with closing(Prometheus("It", settings)) as source, pytest.raises(MetricsError) as failed:
        source.counted(START)
    assert failed.value.message == "It does not answer: NewConnectionError."
