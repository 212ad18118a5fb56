"""The command line in a folder with a configuration: real processes, whole answers, exit codes."""

import os
from pathlib import Path

from tests.forked import finished

SETTINGS = """\
workspace: {workspace}
database: {{url: "sqlite:///{folder}/bot.db"}}
clusters: {{default: {{kubeconfig: {folder}/kubeconfig}}}}
admins: {{people: [U0CAROL]}}
teams:
  team-a:
    channels: [C0TEAMA]
    members: {{people: [U0ALICE]}}
    namespace: team-a
    local_queue: team-a
"""
TOKENS = ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET", "SLACK_API_URL")


class Terminal:
    """A folder with a configuration, and the program run in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {k: v for k, v in os.environ.items() if k not in TOKENS}  # noqa: TID251  # a child inherits it
        self.configure("T0QM")
        (folder / "kubeconfig").write_text("{}")

    def configure(self, workspace: str) -> None:
        text = SETTINGS.format(workspace=workspace, folder=self.folder)
        (self.folder / "quartermaster.yaml").write_text(text)

    def run(self, *words: str, typed: str = "") -> tuple[int, str, str]:
        done = finished(words, self.folder, self.environment, typed.encode())
        return done.returncode, done.stdout.decode(), done.stderr.decode()
