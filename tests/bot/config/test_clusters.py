"""What quartermaster.yaml may say of a cluster's Prometheus."""

from pathlib import Path

from tests.bot.config.files import GOOD, load, refusal

PROMETHEUS = "clusters:\n  default:\n    prometheus: {url: 'http://prometheus.monitoring:9090'}\n"


def test_a_prometheus_needs_only_an_address(tmp_path: Path) -> None:
    cluster = load(tmp_path, GOOD + PROMETHEUS).clusters["default"]
    assert cluster.prometheus is not None
    assert cluster.prometheus.url == "http://prometheus.monitoring:9090"


def test_a_password_in_its_address_is_refused(tmp_path: Path) -> None:
    lines = GOOD.count("\n") + 3
    assert refusal(tmp_path, GOOD + PROMETHEUS.replace("http://", "http://me:word@")) == (
        f"quartermaster.yaml line {lines}: this address has a password;"
        " name a file with a token in token_file."
    )
