"""Settings that change while the bot runs: good ones are taken, bad ones are not."""

import threading
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.config import ConfigurationFile, Secrets, TeamRows, read_secrets
from bot.current import CurrentSecrets, CurrentSettings
from bot.errors import DatabaseError
from tests.bot.cluster.api.api_server import PATIENCE_SECONDS

GOOD = """\
workspace: T0QM
admins: {people: [U0CAROL]}
teams:
  team-a:
    channels: [C0TEAMA]
    members: {people: [U0ALICE]}
    namespace: team-a
    local_queue: team-a
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "quartermaster.yaml"
    path.write_text(GOOD)
    return path


@pytest.fixture
def current(path: Path) -> CurrentSettings:
    file = ConfigurationFile(path)
    return CurrentSettings(file, file.load())


def test_a_new_member_counts_without_a_restart(path: Path, current: CurrentSettings) -> None:
    told: list[str] = []
    current.on_change(lambda: told.append("changed"))
    current.refresh()
    path.write_text(GOOD.replace("[U0ALICE]", "[U0ALICE, U0ERIN]"))
    current.refresh()
    assert told == ["changed"]
    assert current().teams["team-a"].members.people == ("U0ALICE", "U0ERIN")


def test_a_bad_file_changes_nothing_and_is_told(path: Path, current: CurrentSettings) -> None:
    path.write_text(GOOD.replace("namespace:", "namespase:"))
    current.refresh()
    assert current().teams["team-a"].namespace == "team-a"
    assert "line 7" in str(current.problem)
    path.write_text(GOOD + "quotas: {longest: 2d}\n")
    current.refresh()
    assert current.problem is None
    assert current().quotas.longest.days == 2


def test_what_needs_a_restart_stays_as_it_was(path: Path, current: CurrentSettings) -> None:
    path.write_text(GOOD + "http: {listen: '127.0.0.1:9999'}\nquotas: {longest: 2d}\n")
    current.refresh()
    assert current().http.listen == "127.0.0.1:8080"
    assert current().quotas.longest.days == 2


def test_a_listener_that_breaks_is_told_again(path: Path, current: CurrentSettings) -> None:
    told: list[str] = []

    def breaks_once() -> None:
        told.append("first")
        if len(told) == 1:
            raise KeyError("group")

    current.on_change(breaks_once)
    current.on_change(lambda: told.append("second"))
    path.write_text(GOOD + "quotas: {longest: 2d}\n")
    with pytest.raises(KeyError):
        current.refresh()
    current.refresh()
    current.refresh()
    assert told == ["first", "first", "second"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A mounted Secret."""
    (tmp_path / "slack_bot_token").write_text("xoxb-old")
    (tmp_path / "slack_app_token").write_text("xapp-old")
    monkeypatch.setenv("QUARTERMASTER_SECRETS_DIR", str(tmp_path))
    return tmp_path


def test_changed_token_files_count_without_restart(folder: Path) -> None:
    told: list[str] = []
    secrets = CurrentSecrets(lambda: read_secrets("socket"))
    secrets.on_change(lambda new: told.append(new.bot_token.get_secret_value()))
    secrets.refresh()
    assert told == []
    (folder / "slack_bot_token").write_text("xoxb-new\n")
    secrets.refresh()
    assert told == ["xoxb-new"]
    assert secrets().app_token == SecretStr("xapp-old")


def test_incomplete_token_files_change_nothing(folder: Path) -> None:
    told: list[Secrets] = []
    secrets = CurrentSecrets(lambda: read_secrets("socket"))
    secrets.on_change(told.append)
    (folder / "slack_app_token").unlink()
    secrets.refresh()
    (folder / "slack_app_token").write_text("xoxb-swapped")
    secrets.refresh()
    assert told == []
    assert secrets().app_token == SecretStr("xapp-old")


SAID = {"namespace": "vision", "queue": "vision", "channels": ["C0VISION"]}


def test_teams_of_slack_are_added_and_go(path: Path, current: CurrentSettings) -> None:
    told: list[str] = []
    current.on_change(lambda: told.append("changed"))
    rows = {"vision": SAID}
    current.add_teams(lambda: dict(rows))
    assert list(current().teams) == ["team-a", "vision"]
    assert list(current.in_file().teams) == ["team-a"]
    rows["speech"] = {"namespace": "speech", "queue": "speech"}
    current.refresh()
    assert (list(current().teams), told) == (["team-a", "vision", "speech"], ["changed"])
    path.write_text(GOOD + "quotas: {longest: 2d}\n")
    current.refresh()
    assert "vision" in current().teams
    rows.clear()
    current.refresh()
    assert (list(current().teams), current().quotas.longest.days) == (["team-a"], 2)


def test_what_slack_says_beats_the_file(path: Path, current: CurrentSettings) -> None:
    own = "  vision: {namespace: old, queue: old, limits: {gpus_per_run: 4}}\n"
    path.write_text(GOOD + own)
    current.add_teams(lambda: {"vision": SAID})
    current.refresh()
    team = current().teams["vision"]
    assert (team.namespace, team.queue, team.limits.gpus_per_run) == ("vision", "vision", 4)


def test_cluster_of_slack_beats_clusters_of_file(path: Path, current: CurrentSettings) -> None:
    own = "  vision: {namespace: old, queue: old, clusters: [default], time_zone: Europe/Berlin}\n"
    path.write_text(GOOD + own)
    current.add_teams(lambda: {"vision": {**SAID, "cluster": "default"}})
    current.refresh()
    team = current().teams["vision"]
    assert (current.problem, team.reach, team.channels) == (None, ("default",), ("C0VISION",))
    assert team.time_zone == "Europe/Berlin"


def test_team_that_does_not_fit_is_named(path: Path, current: CurrentSettings) -> None:
    current.add_teams(lambda: {"vision": SAID})
    path.write_text(GOOD.replace("C0TEAMA", "C0VISION"))
    current.refresh()
    assert list(current().teams) == ["team-a"]
    assert current.problem == (
        "Team vision, created in Slack, is left out: C0VISION already belongs to team-a; a channel"
        " belongs to one team."
    )
    path.write_text(GOOD)
    current.refresh()
    assert list(current().teams) == ["team-a", "vision"]
    assert not current.problem


def test_file_counts_once_rows_are_read_again(path: Path, current: CurrentSettings) -> None:
    lost: list[DatabaseError] = []

    def read() -> TeamRows:
        if lost:
            raise lost.pop()
        return {}

    current.add_teams(read)
    path.write_text(GOOD + "quotas: {longest: 2d}\n")
    lost.append(DatabaseError("The database is away."))
    with pytest.raises(DatabaseError):
        current.refresh()
    current.refresh()
    assert current().quotas.longest.days == 2


def test_rows_count_without_a_readable_file(path: Path, current: CurrentSettings) -> None:
    rows = {"vision": SAID}
    current.add_teams(lambda: dict(rows))
    path.unlink()
    rows.clear()
    current.refresh()
    assert list(current().teams) == ["team-a"]
    assert "cannot be read" in str(current.problem)


def test_rows_are_taken_at_once_when_told(current: CurrentSettings) -> None:
    """Not only at the next look, seconds later."""
    rows: dict[str, dict[str, object]] = {}
    current.add_teams(lambda: dict(rows))
    changed = threading.Event()
    current.on_change(changed.set)
    current.start()
    rows["vision"] = dict(SAID)
    current.look_now()
    assert changed.wait(PATIENCE_SECONDS)
    current.stop()
    assert list(current().teams) == ["team-a", "vision"]
