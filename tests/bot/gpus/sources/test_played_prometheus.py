"""The playground's Prometheus says what a real one says that scraped the same."""

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from bot.clock import Clock
from bot.config import ClusterSettings, Fractions, PrometheusSettings
from bot.errors import MetricsError
from bot.gpus.minutes import minute_of
from bot.gpus.nodes import Counting
from bot.gpus.sources.choice import Sources
from bot.gpus.sources.source import Fault, FaultKind, Source
from playground.cluster.story import training_job
from tests.bot.cluster.api.api_server import eventually
from tests.bot.gpus.sources.played import Played, Query
from tests.bot.ground import NOON, START, Outside
from tests.prometheus import Scraped, prometheus

HOUR = timedelta(hours=1)
# The first minute that began with something to scrape.
SCRAPED = NOON + timedelta(minutes=1)
FELL_OFF = Fault("gpu-1", "3", FaultKind.XID, 79)


@pytest.fixture
def played(outside: Outside) -> Iterator[Played]:
    found = Played(outside)
    for name, team, gpus in (("lane-1", "team-a", 4), ("nb-1", "team-a", 2), ("base", "team-b", 6)):
        outside.cluster.create("jobs", training_job(name, gpus, epochs=90), team)
    found.prometheus.work("nb-1", 0)
    found.passes(minutes=20)
    found.prometheus.work("lane-1", 0.75, 0.5, 0)
    found.passes(minutes=20)
    found.prometheus.go_down()
    found.passes(minutes=12)
    found.prometheus.come_back()
    found.prometheus.fail("gpu-1", 3, 79)
    outside.cluster.delete("jobs", "base", "team-b")
    found.passes(minutes=28)
    yield found
    found.close()


def opened(url: str) -> Source:
    source = Sources().open("default", ClusterSettings(prometheus=PrometheusSettings(url=url)))
    assert source is not None
    return source


def ask_all(url: str) -> None:
    """Everything that the bot asks of a Prometheus."""
    minutes = range(minute_of(START), minute_of(START + HOUR))
    with closing(opened(url)) as source:
        assert source.check(START + HOUR) == "Prometheus reports 6 used by pods"
        assert source.figures(minutes)
        faults = source.faults(minutes)
        assert (min(faults), faults[min(faults)]) == (minutes.start + 52, {FELL_OFF})
        assert source.requests(minutes, Counting("nvidia.com/gpu", Fractions()))


def answer(url: str, query: Query) -> tuple[int, Any]:
    """Status and content of an answer, whatever the order of its series."""
    path, words = query
    try:
        with urlopen(f"{url}{path}", urlencode(words).encode(), timeout=30) as response:
            status, body = response.status, response.read()
    except HTTPError as error:
        status, body = error.code, error.read()
    said = json.loads(body)
    for series in said.get("data", {}).get("result", []):
        for name in ("value", "values"):
            if name in series:
                series[name] = json.loads(json.dumps(series[name]), parse_float=float)
    said.get("data", {}).get("result", []).sort(key=lambda series: sorted(series["metric"].items()))
    return status, said


def test_same_answers_as_a_real_one(played: Played, tmp_path: Path) -> None:
    ask_all(played.url)
    queries = list(dict.fromkeys(played.asked))
    assert len({dict(words)["query"] for _, words in queries}) >= 8
    with prometheus(tmp_path, played.scraped()) as real:
        for query in queries:
            status, said = answer(played.url, query)
            expected_status, expected = answer(real, query)
            assert (status, shape(said)) == (expected_status, shape(expected)), query
            assert numbers(said) == pytest.approx(numbers(expected)), query


def test_real_one_scrapes_what_it_says(played: Played, tmp_path: Path) -> None:
    last = minute_of(START + HOUR + timedelta(minutes=19))
    with closing(opened(played.url)) as source:
        expected = source.figures(range(last, last + 1))[last].pods
        assert sorted(each[:3] for each in expected.values()) == [(2, 0, 2), (4, 1.25, 2)]
    exporter = played.url.removeprefix("http://")
    with (
        prometheus(tmp_path, Scraped(), exporter=exporter) as real,
        closing(opened(real)) as source,
    ):
        eventually(lambda: known(source))
        now = minute_of(Clock().now())
        assert source.figures(range(now, now + 1))[now].pods == expected
        assert source.faults(range(now, now + 1))[now] == {FELL_OFF}


def known(source: Source) -> bool:
    """Whether anything was scraped by now."""
    try:
        return bool(source.check(Clock().now()))
    except MetricsError:
        return False


def shape(said: Any) -> Any:
    """An answer without its values."""
    return {
        "status": said["status"],
        "type": said["data"]["resultType"],
        "series": [
            (each["metric"], [at for at, _ in each.get("values", [each.get("value")])])
            for each in said["data"]["result"]
        ],
    }


def numbers(said: Any) -> list[float]:
    """The values of an answer, in their order."""
    return [
        float(value)
        for each in said["data"]["result"]
        for _, value in each.get("values", [each.get("value")])
    ]


def at(query: str, **words: str) -> Query:
    moment = f"{SCRAPED.timestamp():.0f}"
    return "/api/v1/query", tuple({"query": query, "time": moment, **words}.items())


def over(query: str, **words: str) -> Query:
    begun = START.timestamp()
    times = {"start": f"{begun:.0f}", "end": f"{begun + 600:.0f}", "step": "60"}
    return "/api/v1/query_range", tuple({"query": query, **times, **words}.items())


BAD_TIMES = [
    at("up", time="soon"),
    over("up", end="1"),
    over("up", step="0"),
    over("up", step="x"),
    over("up", start="0"),
    over("up", start=""),
]
BAD_QUERIES = [
    "sum(up",
    "up{",
    'sum by (pod) up{pod!=""}',
    "summe(up)",
    "{}",
    "",
    "up[5m",
    'up{a="}',
]
# Five phases of a pod are many on both sides.
_PHASE = 'kube_pod_status_phase{phase=~".+"}'
MANY = f"{_PHASE} * on (pod) group_left () {_PHASE}"


def test_what_is_wrong_is_refused_alike(played: Played, tmp_path: Path) -> None:
    with prometheus(tmp_path, played.scraped()) as real:
        told = [[answer(url, query) for query in BAD_TIMES] for url in (played.url, real)]
        assert told[0] == told[1]
        for words in (*BAD_QUERIES, MANY):
            (status, said), (expected_status, expected) = (
                answer(url, at(words)) for url in (played.url, real)
            )
            kinds = [(each["status"], each["errorType"]) for each in (said, expected)]
            assert (status, kinds[0]) == (expected_status, kinds[1]), words
            if words != MANY:
                assert said["error"].startswith('invalid parameter "query": 1:')


@pytest.mark.parametrize(
    "query",
    ["rate(up[5m])", "up - up", "up > 1", 'up{pod!~"a"}', "up offset 5m", "topk(3, up)", "1 + 1"],
)
def test_what_it_does_not_speak_is_refused(played: Played, query: str) -> None:
    status, said = answer(played.url, at(query))
    assert (status, said["status"], said["errorType"]) == (400, "error", "bad_data")
    assert said["error"].startswith('invalid parameter "query": 1:')


def test_nobody_answers_while_it_is_away(played: Played) -> None:
    played.prometheus.go_down()
    with pytest.raises(HTTPError) as failed:
        urlopen(f"{played.url}/api/v1/query?query=up&time=1")
    with failed.value as error:
        assert (error.code, error.read()) == (503, b"no healthy upstream\n")
