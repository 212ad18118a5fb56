"""The first quartermaster.yaml: what has to be asked, and the file that the answers make."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from pydantic import TypeAdapter, ValidationError

from bot.config.document import parse
from bot.config.kinds import ChannelId, Name, UserId, WorkspaceId
from bot.config.models import Settings
from bot.errors import ConfigurationError, UsageError
from bot.new_files import write_new

_LINK = re.compile(r"https://[^/\s]+/(?:archives|client/T[A-Z0-9]+|team)/([A-Z0-9]+)/?")
_WORKSPACE_LINK = re.compile(r"https://app\.slack\.com/client/(T[A-Z0-9]+)(?:/.*)?")


@dataclass(frozen=True)
class Question:
    """One thing to ask: `key` is also the option that answers it; `where` says where to find it."""

    key: str
    asks: str
    where: str
    shape: TypeAdapter[str]
    usual: str = ""

    def read(self, answer: str) -> str:
        """The answer as the file has it; an id may be given as a link copied in Slack.

        UsageError says what is right.
        """
        said = answer.strip()
        link = (_WORKSPACE_LINK if self.key == "workspace" else _LINK).fullmatch(said)
        said = link.group(1) if link else said
        try:
            return self.shape.validate_python(said)
        except ValidationError as error:
            why = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
            raise UsageError(f"--{self.key} {said!r}: {why}.", self.where) from None


_WORKSPACE, _CHANNEL = TypeAdapter(WorkspaceId), TypeAdapter(ChannelId)
_USER, _NAME = TypeAdapter(UserId), TypeAdapter(Name)

QUESTIONS = (
    Question(
        "workspace",
        "Slack workspace",
        "Open Slack in a browser: its URL is https://app.slack.com/client/T.../...",
        _WORKSPACE,
    ),
    Question(
        "admin",
        "Your Slack user",
        "In Slack, open your profile, then ⋮, Copy member ID: U012ABCDEF.",
        _USER,
    ),
    Question("team", "Name of the first team", "Such as team-a.", _NAME, "team-a"),
    Question(
        "channel",
        "Channel of the team",
        "In Slack, right-click the channel, Copy, Copy link: it ends in C012ABCDEF.",
        _CHANNEL,
    ),
    Question("namespace", "Kubernetes namespace of the team", "Such as team-a.", _NAME, "{team}"),
    Question(
        "queue",
        "Queue of the team (a Kueue LocalQueue, a KAI Queue)",
        "`kubectl get localqueues -A` or `kubectl get queues.scheduling.run.ai` lists them.",
        _NAME,
        "{team}",
    ),
    Question(
        "approvals",
        "Channel for requests of more GPUs",
        "It may be the channel of the team.",
        _CHANNEL,
        "{channel}",
    ),
)
_TEXT = """\
# Quartermaster's configuration. docs/settings.md explains every key; quartermaster.example.yaml
# shows most of them. Secrets are never in this file: they come from the environment.
workspace: {workspace}
{clusters}teams:
  {team}:
    channels: [{channel}]
    members: {{people: [{admin}]}}   # and groups: [S012TEAMA] for a Slack user group
    namespace: {namespace}
    queue: {queue}
admins: {{people: [{admin}]}}
approvals:
  channel: {approvals}
  # People never approve their own requests: add a second person.
  quota_override: {{approvers: {{people: [{admin}]}}}}
"""


def answered(
    given: Mapping[str, str | None], engine: str, ask: Callable[[Question, str], str]
) -> dict[str, str]:
    """All answers: those that are given, and the others as `ask` gets them, with its usual one.

    UsageError if a given answer is wrong.
    """
    answers: dict[str, str] = {}
    for each in QUESTIONS:
        usual, said = each.usual.format(**answers), given[each.key]
        if each.key == "queue" and engine == "none":
            said = said or usual  # such a cluster has no queues; the name is of no effect
        answers[each.key] = ask(each, usual) if said is None else each.read(said)
    return answers


def text_of(answers: Mapping[str, str], engine: str) -> str:
    """The file for these answers, which this version can read."""
    clusters = "" if engine == "kueue" else f"clusters: {{default: {{engine: {engine}}}}}\n"
    written = {key: _scalar(answer) for key, answer in answers.items()}
    text = _TEXT.format(**written, clusters=clusters)
    Settings.model_validate(parse("quartermaster.yaml", text).data)
    return text


def _scalar(answer: str) -> str:
    """The answer as YAML: in quotes where it would be no text, such as `on` or `123`."""
    return answer if yaml.safe_load(answer) == answer else f'"{answer}"'


def refuse_existing(path: Path) -> None:
    """ConfigurationError if the file exists, before questions are answered in vain."""
    if path.exists():
        raise ConfigurationError(
            f"{path} exists and was not changed.", "Write another file: --config other.yaml."
        )


def write(path: Path, text: str) -> None:
    """Writes the file; ConfigurationError if it exists or cannot be written."""
    try:
        write_new(path, text.encode())
    except FileExistsError:
        refuse_existing(path)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}.") from None
