"""What `quartermaster doctor` says where one Prometheus has the series of several clusters."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

import pytest

from tests.bot.gpus.rig import ACTIVE, ALLOCATABLE, REQUESTS, UTILIZATION
from tests.bot.terminal import Terminal
from tests.bot.test_cli import cluster
from tests.playground.cluster.served import BOT_TOKEN
from tests.playground.cluster.served import Served as ServedCluster
from tests.prometheus import Scraped, Span, prometheus

__all__ = ["cluster"]

MINUTE = timedelta(minutes=1)
HINT = "\n         -> Set clusters.{0}.prometheus.matchers, for example {{cluster: {0}}}."
NO_PODS = "; minutes while the bot is down stay unknown: no kube-state-metrics"


def tell(scraped: Scraped, span: Span, node: str, **labels: str) -> None:
    """What both exporters say of a cluster of one node, with labels of its own."""
    at = {"node": node, "resource": "nvidia_com_gpu", **labels}
    scraped.add(ALLOCATABLE, at, span, 8)
    pod = {"namespace": "team-a", "pod": "lane-x", **labels}
    scraped.add(REQUESTS, {**at, **pod, "uid": "u", "container": "main"}, span, 1)
    scraped.add(UTILIZATION, {**pod, "gpu": "0", "UUID": "-".join(labels.values())}, span, 100)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Clusters of one Prometheus, some of which have nodes of the same names as ours."""
    scraped, now = Scraped(), datetime.now(UTC)
    span = (now - 20 * MINUTE, now + 20 * MINUTE)
    tell(scraped, span, "gpu-1", cluster="prod", site="west")
    tell(scraped, span, "gpu-1", cluster="dev", site="west")
    tell(scraped, span, "gpu-9", cluster="edge", site="far")
    tell(scraped, span, "gpu-1", cluster="ci", site="home")
    tell(scraped, span, "gpu-1", site="home")
    for name in ("x", "y"):  # profiled, and without kube-state-metrics
        pod = {"namespace": "team-a", "pod": "lane-x", "gpu": "0", "UUID": name}
        scraped.add(ACTIVE, {**pod, "cluster": name, "site": "old"}, span, 1)
    with prometheus(tmp_path_factory.mktemp("prometheus"), scraped) as found:
        yield found


KNOWS = "Prometheus reports {} used by pods"
MIXED = "its figures are wrong: its series come from several clusters: cluster is {}"
MATCHERS = {
    "default": "{}",
    "labelled": "{site: west}",
    "unlabelled": "{site: home}",
    "one-exporter": "{site: old}",
    "prod": "{cluster: prod}",
    "local": "{cluster: '', site: home}",
}
STRANGER = "it has GPU metrics for node gpu-9, which this cluster does not have"
FOUND = [
    ("default", "ok", KNOWS.format(7)),
    ("default", "FAILED", f"its figures are wrong: {STRANGER}"),
    ("labelled", "ok", KNOWS.format(2)),
    ("labelled", "FAILED", MIXED.format("dev and prod")),
    ("unlabelled", "ok", KNOWS.format(2)),
    ("unlabelled", "FAILED", MIXED.format("ci and missing")),
    ("one-exporter", "ok", KNOWS.format(2) + NO_PODS),
    ("one-exporter", "FAILED", MIXED.format("x and y")),
    ("prod", "ok", KNOWS.format(1)),
    ("local", "ok", KNOWS.format(1)),
]


def test_the_doctor_finds_clusters_that_mix(
    terminal: Terminal, cluster: ServedCluster, url: str
) -> None:
    assert examined(terminal, cluster, url, MATCHERS) == [
        f"{state:<7}  cluster {name} GPUs: {says}" + (HINT.format(name) if state != "ok" else "")
        for name, state, says in FOUND
    ]


def test_the_doctor_says_which_matchers_miss(
    terminal: Terminal, cluster: ServedCluster, url: str
) -> None:
    matchers = {"default": "{cluster: prdo}", "other": "{site: west, cluster: edge}"}
    assert examined(terminal, cluster, url, matchers) == [
        (
            "FAILED   cluster default GPUs: The Prometheus of default has no GPU metrics for"
            " cluster=prdo.\n         -> Check prometheus.matchers. It has GPU metrics for"
            ' cluster=""; cluster=ci; cluster=dev and 4 more.'
        ),
        (
            "FAILED   cluster other GPUs: The Prometheus of other has no GPU metrics for"
            " site=west, cluster=edge.\n         -> Check prometheus.matchers. It has GPU metrics"
            ' for site=far, cluster=edge; site=home, cluster=""; site=home, cluster=ci and 4 more.'
        ),
    ]


def examined(
    terminal: Terminal, cluster: ServedCluster, url: str, matchers: Mapping[str, str]
) -> list[str]:
    """What the doctor says of the GPUs of clusters, each with what to do."""
    cluster.cluster.write_kubeconfig(terminal.folder / "kubeconfig", BOT_TOKEN)
    file, kubeconfig = terminal.folder / "quartermaster.yaml", f"{terminal.folder}/kubeconfig"
    told = ", ".join(
        f"{name}: {{kubeconfig: {kubeconfig}, prometheus: {{url: '{url}', matchers: {each}}}}}"
        for name, each in matchers.items()
    )
    text = file.read_text()
    old = f"clusters: {{default: {{kubeconfig: {kubeconfig}}}}}"
    assert old in text
    file.write_text(text.replace(old, f"clusters: {{{told}}}"))
    said = terminal.run("doctor")[1].replace("\n         ->", "\t")
    return [line.replace("\t", "\n         ->") for line in said.splitlines() if " GPUs: " in line]
