"""`quartermaster init` as people meet it on the first day."""

import pytest

from bot.config import ConfigurationFile
from tests.bot.terminal import Terminal

FIRST = """\
# Quartermaster's configuration. docs/settings.md explains every key; quartermaster.example.yaml
# shows most of them. Secrets are never in this file: they come from the environment.
workspace: T0QM
teams:
  vision:
    channels: [C0VISION]
    members: {people: [U0CAROL]}   # and groups: [S012TEAMA] for a Slack user group
    namespace: vision
    queue: vision
admins: {people: [U0CAROL]}
approvals:
  channel: C0GPUS
  # People never approve their own requests: add a second person.
  quota_override: {approvers: {people: [U0CAROL]}}
"""
ANSWERS = """\
https://app.slack.com/client/T0QM/C0VISION
carol
https://acme.slack.com/team/U0CAROL
vision
https://acme.slack.com/archives/C0VISION


C0GPUS
"""


def test_a_first_configuration_comes_of_answers(terminal: Terminal) -> None:
    code, out, error = terminal.run("init", "--config", "first.yaml", typed=ANSWERS)
    assert (code, error) == (0, "")
    assert (terminal.folder / "first.yaml").read_text() == FIRST
    assert "Error: --admin 'carol': it must be a Slack user id like U012ABCDEF." in out
    assert "Name of the first team [team-a]: " in out
    assert out.endswith(
        "Wrote first.yaml. Next:\n"
        "1. quartermaster manifest > manifest.json\n"
        "   Create a Slack app from it on https://api.slack.com/apps, and install it.\n"
        "2. export SLACK_BOT_TOKEN=xoxb-... SLACK_APP_TOKEN=xapp-...\n"
        "3. Type /invite @Quartermaster in each channel that first.yaml names.\n"
        "4. quartermaster migrate --config first.yaml\n"
        "5. quartermaster doctor --config first.yaml\n"
        "6. quartermaster serve --config first.yaml\n"
    )


def test_a_first_configuration_comes_of_options(terminal: Terminal) -> None:
    given = ("--workspace", "T0QM", "--admin", "U0CAROL", "--team", "vision")
    channels = ("--channel", "C0VISION", "--approvals", "C0GPUS")
    code, _, error = terminal.run("init", "--config", "first.yaml", *given, *channels)
    assert (code, error) == (0, "")
    assert (terminal.folder / "first.yaml").read_text() == FIRST
    kai = ("init", "--config", "kai.yaml", "--engine", "kai", *given, *channels)
    assert terminal.run(*kai)[0] == 0
    clusters = "workspace: T0QM\nclusters: {default: {engine: kai}}\n"
    written = (terminal.folder / "kai.yaml").read_text()
    assert written == FIRST.replace("workspace: T0QM\n", clusters)


@pytest.mark.parametrize("team", ["on", "123", "0x10", "null", "1e3"])
def test_names_that_yaml_reads_otherwise_stay_names(terminal: Terminal, team: str) -> None:
    given = ("--workspace", "T0QM", "--admin", "U0CAROL", "--team", team, "--channel", "C0VISION")
    code, _, error = terminal.run("init", "--config", "first.yaml", *given)
    assert (code, error) == (0, "")
    found = ConfigurationFile(terminal.folder / "first.yaml").load()
    assert [(name, each.namespace, each.queue) for name, each in found.teams.items()] == [
        (team, team, team)
    ]


def test_unanswered_questions_write_no_file(terminal: Terminal) -> None:
    code, _, error = terminal.run("init", "--config", "first.yaml", "--workspace", "T0QM")
    assert (code, error.splitlines()) == (
        1,
        [
            "quartermaster: --admin was not answered. Nothing was written.",
            "Answer the question, or add --admin.",
        ],
    )
    assert not (terminal.folder / "first.yaml").exists()


def test_an_existing_configuration_is_never_overwritten(terminal: Terminal) -> None:
    before = (terminal.folder / "quartermaster.yaml").read_text()
    code, out, error = terminal.run("init", typed=ANSWERS)
    assert (code, out, error.splitlines()) == (
        2,
        "",
        [
            "quartermaster: quartermaster.yaml exists and was not changed.",
            "Write another file: --config other.yaml.",
        ],
    )
    assert (terminal.folder / "quartermaster.yaml").read_text() == before
