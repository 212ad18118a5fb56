"""The command line in a folder with a configuration: real processes, whole answers, exit codes."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.forked import IS_HERE, finished

ROOT = Path(__file__).parents[2]

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
        environment = self.environment | {"PYTHONPATH": str(ROOT)}
        if IS_HERE:
            return self._forked(words, environment, typed)
        done = subprocess.run(
            [sys.executable, "-m", "bot", *words],
            cwd=self.folder,
            env=environment,
            input=typed,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def _forked(
        self, words: tuple[str, ...], environment: dict[str, str], typed: str
    ) -> tuple[int, str, str]:
        with TemporaryDirectory() as folder:
            given, printed, complained = (Path(folder) / each for each in ("in", "out", "err"))
            given.write_text(typed, "utf-8")
            code = finished(words, self.folder, environment, (given, printed, complained))
            return code, printed.read_text("utf-8"), complained.read_text("utf-8")
