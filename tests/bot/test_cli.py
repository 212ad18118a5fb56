"""The command line as its users meet it: real processes, whole answers, exit codes."""

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime

import pytest

from bot.config import ConfigurationFile
from bot.database.database import Database
from bot.gpus.digests.tables import DigestChoice
from bot.slack.grammar.manifest import SCOPES
from playground.cluster.kai_story import kai_cluster
from playground.cluster.story import runai_cluster
from playground.slack.faults import Down
from tests.bot.quotas.engines.runai.plane import ControlPlane
from tests.bot.terminal import Terminal
from tests.playground.cluster.served import BOT_TOKEN, Runner
from tests.playground.cluster.served import Served as ServedCluster
from tests.playground.slack.served import Served as ServedSlack
from tests.playground.slack.served import Stage

TO_ACME = "Set slack: {organisation: E0ACME}, or use another token."


@pytest.fixture
def slack() -> Iterator[ServedSlack]:
    stage = Stage()
    with stage.running(), stage.workspace() as running:
        yield running


@pytest.fixture
def cluster() -> Iterator[ServedCluster]:
    runner = Runner()
    with runner.running(), ServedCluster(runner).serving() as running:
        yield running


def test_every_command_explains_itself_with_examples(terminal: Terminal) -> None:
    code, overview, _ = terminal.run("--help")
    assert code == 0
    for name in ("init", "serve", "playground", "console", "doctor", "migrate", "manifest"):
        assert f"  {name} " in overview
    for name in ("init", "serve", "console", "doctor", "migrate", "manifest"):
        assert "Examples:\n    quartermaster" in terminal.run(name, "--help")[1]


def test_a_migration_is_safe_to_repeat(terminal: Terminal) -> None:
    said = (0, "The database schema is up to date.\n", "")
    assert terminal.run("migrate") == said
    assert terminal.run("migrate") == said


def test_serving_an_old_schema_names_the_command(terminal: Terminal) -> None:
    terminal.environment |= {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1"}
    code, out, error = terminal.run("serve")
    assert (code, out) == (1, "")
    assert error.splitlines()[-2:] == [
        "quartermaster: The database schema is older than this server.",
        "Run `quartermaster migrate`.",
    ]


def test_missing_tokens_are_named_before_anything_starts(terminal: Terminal) -> None:
    code, _, error = terminal.run("serve")
    assert code == 2
    assert error.splitlines()[0] == "quartermaster: Not set: SLACK_BOT_TOKEN and SLACK_APP_TOKEN."


def test_a_wrong_line_is_named_with_its_number(terminal: Terminal) -> None:
    path = terminal.folder / "quartermaster.yaml"
    path.write_text(path.read_text().replace("channels:", "chanels:"))
    code, _, error = terminal.run("migrate")
    assert code == 2
    assert error.splitlines()[0] == (
        "quartermaster: quartermaster.yaml line 7: teams.team-a has no key chanels;"
        " did you mean channels?"
    )


def test_the_manifest_takes_the_prefix_and_address(terminal: Terminal) -> None:
    url = "https://bot.example.com/slack/events"
    code, out, _ = terminal.run("manifest", "--prefix", "qm", "--url", url)
    assert code == 0
    document = json.loads(out)
    commands = {each["command"]: each["url"] for each in document["features"]["slash_commands"]}
    assert {"/qm", "/qm-train", "/qm-quota"} <= commands.keys()
    assert set(commands.values()) == {url}
    assert set(document["oauth_config"]["scopes"]["bot"]) == set(SCOPES)
    assert document["settings"]["org_deploy_enabled"] is False


def test_the_manifest_may_be_for_an_organisation(terminal: Terminal) -> None:
    usual = json.loads(terminal.run("manifest")[1])
    code, out, _ = terminal.run("manifest", "--org-wide")
    assert code == 0
    usual["settings"]["org_deploy_enabled"] = True
    assert json.loads(out) == usual


def introduce(terminal: Terminal, slack: ServedSlack) -> None:
    """Gives the terminal the tokens of a Slack app."""
    credentials = slack.workspace.credentials
    terminal.environment |= {
        "SLACK_BOT_TOKEN": credentials.bot_token,
        "SLACK_APP_TOKEN": credentials.app_token,
        "SLACK_API_URL": slack.api,
    }


def test_the_doctor_finds_a_healthy_installation(
    terminal: Terminal, slack: ServedSlack, cluster: ServedCluster
) -> None:
    introduce(terminal, slack)
    cluster.cluster.write_kubeconfig(terminal.folder / "kubeconfig", BOT_TOKEN)
    terminal.run("migrate")
    url = ConfigurationFile(terminal.folder / "quartermaster.yaml").load().database.url
    with closing(Database(url)) as database:
        chosen = _digests({"C0DAILY": True, "C0GONE": False})
        database.transaction(lambda session: session.add_all(chosen))
    code, out, error = terminal.run("doctor")
    assert (code, error) == (0, ""), out
    assert [line.split()[0] for line in out.splitlines()] == ["ok"] * 14
    assert "cluster default kinds: runs can be Jobs; it does not serve MPIJobs, " in out
    assert "channel C0DAILY (digest of GPUs, set in Slack): the bot is in #gpu-daily" in out


def test_the_doctor_says_what_to_do(terminal: Terminal, slack: ServedSlack) -> None:
    introduce(terminal, slack)
    slack.workspace.scopes.discard("files:write")
    slack.call(lambda: slack.workspace.remove_bot("C0TEAMA"))
    code, out, _ = terminal.run("doctor", "--json")
    assert code == 1
    failed = {each["about"]: each for each in json.loads(out) if each["state"] == "failed"}
    assert failed["database"]["remedy"] == "Run `quartermaster migrate`."
    missing = (
        "missing: files:write (show charts, and send what is too long for a message as a file)"
    )
    assert failed["slack scopes"]["says"] == missing
    assert failed["channel C0TEAMA (team-a)"]["remedy"] == "Type /invite @Quartermaster there."
    assert "cluster default" in failed
    assert slack.workspace.credentials.bot_token not in out


def test_every_problem_says_what_to_do(terminal: Terminal, slack: ServedSlack) -> None:
    introduce(terminal, slack)
    slack.call(lambda: slack.workspace.go_down(Down.UNAVAILABLE))
    found = json.loads(terminal.run("doctor", "--json")[1])
    assert [each["about"] for each in found if each["state"] != "ok" and not each["remedy"]] == []
    remedies = {each["says"]: each["remedy"] for each in found}
    assert remedies["Slack answered server_error to auth.test."] == (
        "Run `quartermaster doctor` again. If that does not help, `quartermaster support-bundle`"
        " gathers what others need to know."
    )


def test_the_doctor_tries_every_token(terminal: Terminal, slack: ServedSlack) -> None:
    introduce(terminal, slack)
    terminal.environment["SLACK_SIGNING_SECRET"] = slack.workspace.credentials.signing_secret
    out = terminal.run("doctor")[1]
    assert "ok       slack app-level token: it opens connections for Socket Mode\n" in out
    assert (
        "ok       slack signing secret: it has the form of one; only Slack's requests prove that"
        " it is this app's\n"
    ) in out
    terminal.environment |= {"SLACK_APP_TOKEN": "xapp-1-stale", "SLACK_SIGNING_SECRET": "s3cret"}
    code, out, _ = terminal.run("doctor")
    assert code == 1
    assert (
        "FAILED   slack app-level token: Slack answered invalid_auth to apps.connections.open\n"
        "         -> Generate one with the scope connections:write on api.slack.com/apps, Basic"
        " Information, App-Level Tokens, and switch Socket Mode on. Then: export"
        " SLACK_APP_TOKEN=xapp-...\n"
        "warning  slack signing secret: it does not have the form of one, 32 hexadecimal digits\n"
        "         -> Copy it on api.slack.com/apps, Basic Information, Signing Secret. Then: export"
        " SLACK_SIGNING_SECRET=...\n"
    ) in out
    assert "xapp-1-stale" not in out
    assert "s3cret" not in out


@pytest.mark.parametrize("is_allowed", [False, True])
def test_the_doctor_tells_of_shared_channels(
    terminal: Terminal, slack: ServedSlack, *, is_allowed: bool
) -> None:
    introduce(terminal, slack)
    if is_allowed:
        settings = terminal.folder / "quartermaster.yaml"
        more = "slack: {shared_channels: [C0TEAMA]}\n"
        settings.write_text(settings.read_text() + more)
    slack.call(lambda: slack.workspace.share("C0TEAMA"))
    out = terminal.run("doctor")[1]
    told = " ".join(out[out.index("channel C0TEAMA") :].split())
    assert told.startswith(
        "channel C0TEAMA (team-a): the bot is in #team-a"
        if is_allowed
        else "channel C0TEAMA (team-a): #team-a is shared with another company; cards are not"
        " shown there -> Use another channel, or allow this one in slack.shared_channels."
    )


@pytest.mark.parametrize(
    ("is_org_wide", "organisation", "found", "remedy"),
    [
        (False, "", "the bot is quartermaster in T0QM", ""),
        (True, "E0ACME", "the bot is quartermaster in T0QM of E0ACME, installed to all of it", ""),
        (True, "", "slack.organisation is unset; the token's is E0ACME", TO_ACME),
        (True, "E0GLOBEX", "slack.organisation is E0GLOBEX; the token's is E0ACME", TO_ACME),
        (
            False,
            "E0ACME",
            "slack.organisation is E0ACME; the token's is none",
            "Set slack without organisation, or use another token.",
        ),
    ],
)
def test_the_doctor_knows_the_tokens_organisation(
    terminal: Terminal,
    slack: ServedSlack,
    *,
    is_org_wide: bool,
    organisation: str,
    found: str,
    remedy: str,
) -> None:
    introduce(terminal, slack)
    if is_org_wide:
        slack.grow_into_organisation()
    if organisation:
        settings = terminal.folder / "quartermaster.yaml"
        settings.write_text(f"{settings.read_text()}slack: {{organisation: {organisation}}}\n")
    findings = json.loads(terminal.run("doctor", "--json")[1])
    assert [each for each in findings if each["about"] == "slack"] == [
        {
            "about": "slack",
            "state": "failed" if remedy else "ok",
            "says": found,
            "remedy": remedy,
        }
    ]


@pytest.mark.parametrize(
    ("slack", "http", "found"),
    [
        ("transport: http", "listen: 0.0.0.0:8080", True),
        ("transport: http", "ops_listen: 0.0.0.0:8081", False),
        ("transport: socket", "listen: 0.0.0.0:8080", False),
    ],
)
def test_the_doctor_wants_metrics_shown_somewhere(
    terminal: Terminal, slack: str, http: str, *, found: bool
) -> None:
    file = terminal.folder / "quartermaster.yaml"
    file.write_text(f"{file.read_text()}slack: {{{slack}}}\nhttp: {{{http}}}\n")
    out = terminal.run("doctor")[1]
    warning = (
        "warning  http: Slack's requests come to 0.0.0.0:8080, so /metrics is not served, nor"
        " the details of what is not ready or dead.\n"
        "         -> Set http.ops_listen to a port that no Ingress exposes, for example"
        " 0.0.0.0:8081.\n"
    )
    assert (warning in out, " http: " in out) == (found, found)


def _digests(chosen: dict[str, bool]) -> list[DigestChoice]:
    return [
        DigestChoice(
            workspace_id="T0QM",
            channel=channel,
            is_on=is_on,
            person="U0CAROL",
            chosen_at=datetime.now(UTC),
        )
        for channel, is_on in chosen.items()
    ]


@pytest.mark.parametrize(
    ("engine", "code", "words"),
    [
        ("kai", 0, "Queue team-a is a child of research"),
        ("kueue", 1, "Set clusters.default.engine: kai, which is installed."),
        ("none", 0, "Set clusters.default.engine: kai, unless this is intended."),
    ],
)
def test_the_doctor_knows_all_engines(
    terminal: Terminal, slack: ServedSlack, engine: str, code: int, words: str
) -> None:
    introduce(terminal, slack)
    settings = terminal.folder / "quartermaster.yaml"
    settings.write_text(
        settings.read_text().replace("{kubeconfig:", f"{{engine: {engine}, kubeconfig:")
    )
    terminal.run("migrate")
    runner = Runner()
    with runner.running(), ServedCluster(runner, make=kai_cluster).serving() as cluster:
        cluster.cluster.write_kubeconfig(terminal.folder / "kubeconfig", BOT_TOKEN)
        found, out, _ = terminal.run("doctor")
    assert (found, words in out) == (code, True), out


def test_the_doctor_logs_in_to_runai(terminal: Terminal, slack: ServedSlack) -> None:
    introduce(terminal, slack)
    terminal.run("migrate")
    settings = terminal.folder / "quartermaster.yaml"
    runner, plane = Runner(), ControlPlane(terminal.folder)
    section = json.dumps(plane.settings().model_dump(exclude_none=True))
    settings.write_text(
        settings.read_text().replace(
            "{kubeconfig:", f"{{engine: runai, runai: {section}, kubeconfig:"
        )
    )
    with runner.running(), ServedCluster(runner, make=runai_cluster).serving() as cluster:
        cluster.cluster.write_kubeconfig(terminal.folder / "kubeconfig", BOT_TOKEN)
        code, out, _ = terminal.run("doctor")
    plane.close()
    assert code == 0, out
    assert "cluster default Run:ai: serves v1\n" in out
    assert "control plane: the login works; the cluster is gpu-cluster 2.24.11 in Run:ai\n" in out
    assert "cluster default team-a: project team-a has a quota of 4 GPUs" in out


def test_the_console_answers_like_slack(terminal: Terminal, cluster: ServedCluster) -> None:
    cluster.cluster.write_kubeconfig(terminal.folder / "kubeconfig", BOT_TOKEN)
    terminal.run("migrate")
    asked = ("console", "--as", "U0ALICE", "--in", "C0TEAMA")
    assert terminal.run(*asked, "train", "list") == (
        0,
        "Checking who you are.\nTry again in a few seconds.\n",
        "",
    )


def test_files_that_cannot_be_read_are_a_warning(terminal: Terminal, slack: ServedSlack) -> None:
    introduce(terminal, slack)
    slack.workspace.scopes.discard("files:read")
    found = json.loads(terminal.run("doctor", "--json")[1])
    (scopes,) = [each for each in found if each["about"] == "slack scopes"]
    assert scopes["state"] == "warning"
    assert scopes["says"] == (
        "missing: files:read (copy the files of a message to a dataset, if people choose that for"
        " it); until then, files dropped into Slack are not copied to datasets"
    )
    assert scopes["remedy"] == (
        "Run `quartermaster manifest`, with any further options that you created the app with,"
        " paste it under App Manifest on api.slack.com/apps, and install the app to the workspace"
        " again."
    )


@pytest.mark.parametrize(
    ("lines", "is_org_wide", "options"),
    [
        # Without these, the app would move to Socket Mode, for example.
        (
            "slack: {transport: http, command_prefix: qm}",
            False,
            " --url https://HOST/slack/events --prefix qm",
        ),
        ("slack: {organisation: E0ACME}", True, " --org-wide"),
        # Slack does not let it be taken back.
        ("slack: {organisation: E0ACME}", False, ""),
    ],
)
def test_the_doctor_knows_how_the_app_was_made(
    terminal: Terminal, slack: ServedSlack, *, lines: str, is_org_wide: bool, options: str
) -> None:
    introduce(terminal, slack)
    if is_org_wide:
        slack.grow_into_organisation()
    elif "E0ACME" in lines:
        slack.workspace.organisation = "E0ACME"
    slack.workspace.scopes.discard("files:read")
    secret = slack.workspace.credentials.signing_secret
    terminal.environment |= {"SLACK_SIGNING_SECRET": secret}
    path = terminal.folder / "quartermaster.yaml"
    path.write_text(f"{path.read_text(encoding='utf-8')}{lines}\n", encoding="utf-8")
    found = json.loads(terminal.run("doctor", "--json")[1])
    (scopes,) = [each for each in found if each["about"] == "slack scopes"]
    assert scopes["remedy"].startswith(f"Run `quartermaster manifest{options}`, with any further")
