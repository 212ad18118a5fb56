"""What quartermaster.yaml may say of who knows what the GPUs of a cluster do."""

from pathlib import Path

import pytest

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
        " name a file with it in basic.password_file, or with a token in token_file."
    )


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (
            "token_file: /t, basic: {username: bot, password_file: /p}",
            "token_file and basic both say who asks; keep one of them.",
        ),
        (
            "client_certificate: {certificate_file: /c}",
            "client_certificate is shown in TLS alone; url must begin with https://.",
        ),
        (
            "entra: true",
            "entra must not go over the network in the open; url must begin with https://.",
        ),
        (
            "sigv4: {region: eu-central-1}",
            "sigv4 must not go over the network in the open; url must begin with https://.",
        ),
    ],
)
def test_logins_that_do_not_fit_are_refused(tmp_path: Path, key: str, words: str) -> None:
    line = GOOD.count("\n") + 3
    written = GOOD + PROMETHEUS.replace("'}", f"', {key}}}")
    assert refusal(tmp_path, written) == f"quartermaster.yaml line {line}: {words}"
