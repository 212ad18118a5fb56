"""What quartermaster.yaml may say of what serves a cluster: GPU metrics, and Run:ai."""

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
        f"quartermaster.yaml line {lines}: this address contains a password;"
        " put it into a file and set basic.password_file, or set token_file to a file with a token."
    )


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (
            "token_file: /t, basic: {username: bot, password_file: /p}",
            "token_file and basic are different ways to authenticate; keep one of them.",
        ),
        (
            "client_certificate: {certificate_file: /c}",
            "client_certificate is only used with TLS; url must begin with https://.",
        ),
        (
            "entra: true",
            "entra must not be sent unencrypted; url must begin with https://.",
        ),
        (
            "sigv4: {region: eu-central-1}",
            "sigv4 must not be sent unencrypted; url must begin with https://.",
        ),
    ],
)
def test_logins_that_do_not_fit_are_refused(tmp_path: Path, key: str, words: str) -> None:
    line = GOOD.count("\n") + 3
    written = GOOD + PROMETHEUS.replace("'}", f"', {key}}}")
    assert refusal(tmp_path, written) == f"quartermaster.yaml line {line}: {words}"


def with_matchers(written: str) -> str:
    return GOOD + PROMETHEUS.replace("9090'}", f"9090', matchers: {written}}}")


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("{}", {}),
        ("{cluster: prod, _site: 'a ü'}", {"cluster": "prod", "_site": "a ü"}),
        ("{cluster: ''}", {"cluster": ""}),
        # Every query has it in quotes, so that it stays a value.
        ("""{cluster: 'x"} or up{job="\\'}""", {"cluster": 'x"} or up{job="\\'}),
        (f"{{cluster: {'x' * 200}}}", {"cluster": "x" * 200}),
    ],
)
def test_matchers_are_labels_with_their_values(
    tmp_path: Path, written: str, found: dict[str, str]
) -> None:
    cluster = load(tmp_path, with_matchers(written)).clusters["default"]
    assert cluster.prometheus is not None
    assert cluster.prometheus.matchers == found


LABEL = "it must be a Prometheus label name like cluster."
VALUE = "it must be a label value on one line, like prod."
TEXT = "it must be a valid string."


@pytest.mark.parametrize(
    ("written", "words"),
    [
        *(
            (f"{{'{name}': prod}}", f'.{name} is named "{name}"; {LABEL}')
            for name in (
                *("__name__", "__tenant_id__", "", " ", "9lives", "a-b", "a.b", "a b", "größe"),
                *('a"}', "a=b,c", "a=~", "cluster{"),
            )
        ),
        (f"{{cluster: {'x' * 201}}}", f'.cluster is "{"x" * 60}..."; {VALUE}'),
        ('{cluster: "a\\tb"}', f'.cluster is "a\tb"; {VALUE}'),
        ('{cluster: "a\\nb"}', f'.cluster is "a\nb"; {VALUE}'),
        ("{cluster: 1}", f".cluster is 1; {TEXT}"),
        ("{cluster: true}", f".cluster is true; {TEXT}"),
        ("{cluster: }", f".cluster is empty; {TEXT}"),
        ("{cluster: [prod]}", f".cluster is a list; {TEXT}"),
        ("[cluster]", " is a list; it must be a valid dictionary."),
        ("cluster=prod", ' is "cluster=prod"; it must be a valid dictionary.'),
    ],
)
def test_matchers_that_cannot_be_are_refused(tmp_path: Path, written: str, words: str) -> None:
    where = f"quartermaster.yaml line {GOOD.count(chr(10)) + 3}"
    assert refusal(tmp_path, with_matchers(written)) == (
        f"{where}: clusters.default.prometheus.matchers{words}"
    )


@pytest.mark.parametrize(
    "label", ["namespace", "pod", "exported_pod", "node", "resource", "gpu", "UUID", "Hostname"]
)
def test_matchers_within_a_cluster_are_refused(tmp_path: Path, label: str) -> None:
    assert refusal(tmp_path, with_matchers(f"{{{label}: x}}")) == (
        f"quartermaster.yaml line {GOOD.count(chr(10)) + 3}: {label} differs within one"
        " cluster; use a label like cluster."
    )


RUNAI = """clusters:
  default:
    engine: runai
    runai:
      url: https://acme.run.ai
      cluster_id: 71f69d83-ba66-4822-adf5-55ce55efd210
      client_id: quartermaster
      client_secret_file: /run/secrets/runai/client-secret
"""


def test_run_ai_needs_its_control_plane(tmp_path: Path) -> None:
    found = load(tmp_path, GOOD + RUNAI).clusters["default"].runai
    assert found is not None
    assert found.url == "https://acme.run.ai"
    alone = RUNAI.split("    runai:", maxsplit=1)[0]
    assert refusal(tmp_path, GOOD + alone) == (
        f"quartermaster.yaml line {GOOD.count(chr(10)) + 3}: engine: runai needs its control plane"
        " beside it: runai: {url: https://acme.run.ai, cluster_id: UUID, client_id: NAME,"
        " client_secret_file: FILE}."
    )
    assert refusal(tmp_path, GOOD + RUNAI.replace("engine: runai", "engine: kai")) == (
        f"quartermaster.yaml line {GOOD.count(chr(10)) + 4}: runai is only used with engine: runai,"
        " not kai; remove one."
    )


def test_run_ai_keeps_no_sessions_apart(tmp_path: Path) -> None:
    apart = "local_queue: team-a\n    interactive_queue: sessions"
    told = GOOD.replace("local_queue: team-a", apart)
    assert load(tmp_path, told).teams["team-a"].interactive_queue == "sessions"
    assert refusal(tmp_path, told + RUNAI) == (
        "quartermaster.yaml line 7: interactive_queue is for Kueue and KAI, and cluster default has"
        " engine: runai; remove it, or take the cluster from teams.team-a."
    )


@pytest.mark.parametrize(
    ("change", "line", "words"),
    [
        (
            ("https://", "http://"),
            5,
            (
                'clusters.default.runai.url is "http://acme.run.ai"; it must be the address of a'
                " Run:ai control plane, like https://acme.run.ai."
            ),
        ),
        (
            ("https://acme", "https://bot:word@acme"),
            5,
            (
                "this address contains a password; put the client secret into a file and set"
                " client_secret_file."
            ),
        ),
        (
            ("71f69d83-", ""),
            6,
            (
                'clusters.default.runai.cluster_id is "ba66-4822-adf5-55ce55efd210"; it must be the'
                " UUID of a cluster in Run:ai, like 71f69d83-ba66-4822-adf5-55ce55efd210."
            ),
        ),
    ],
)
def test_a_wrong_control_plane_is_refused(
    tmp_path: Path, change: tuple[str, str], line: int, words: str
) -> None:
    expected = f"quartermaster.yaml line {GOOD.count(chr(10)) + line}: {words}"
    assert refusal(tmp_path, GOOD + RUNAI.replace(*change)) == expected
