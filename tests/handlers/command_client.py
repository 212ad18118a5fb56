"""The whole application without Slack and without threads, asked directly."""

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from bot.app import Application
from bot.clock import Clock
from bot.config import ConfigurationFile
from bot.current import CurrentSettings
from bot.database.database import Session
from bot.people.people import Person
from bot.quotas.engines.opening import follow
from bot.slack.receiving.incoming import Incoming
from bot.slack.text import as_text
from tests.bot.cluster.api.api_server import PATIENCE_SECONDS, eventually
from tests.databases import create_schema
from tests.playground.cluster.served import BOT_TOKEN, Served

ALICE, BOB, CAROL, DAN, ERIN = "U0ALICE", "U0BOB", "U0CAROL", "U0DAN", "U0ERIN"
MIA, FAY, FAR = "U0MIA", "U0FAY", "U0FAR"
TEAM_A, TEAM_B, APPROVALS, ELSEWHERE = "C0TEAMA", "C0TEAMB", "C0APPROVE", "C0RANDOM"
SETTINGS = """\
workspace: T0QM
database: {url: "URL"}
clusters: {default: {kubeconfig: FOLDER/kubeconfig, engine: kueue}}
admins: {people: [U0CAROL]}
teams:
  team-a:
    channels: [C0TEAMA]
    members: {people: [U0ALICE, U0MIA]}
    leads: {people: [U0ERIN]}
    namespace: team-a
    local_queue: team-a
  team-b:
    channels: [C0TEAMB]
    leads: {people: [U0BOB]}
    namespace: team-b
    local_queue: team-b
team_creation: {}
approvals:
  channel: C0APPROVE
  quota_override: {approvers: {people: [U0CAROL]}}
  quota_base: {approvers: {people: [U0CAROL, U0ERIN]}}
  anf_change: {approvers: {people: [U0CAROL, U0ERIN]}}
  pvc_change: {approvers: {people: [U0CAROL, U0ERIN]}}
  team_change: {approvers: {people: [U0CAROL, U0ERIN]}}
  anf_pool: {approvers: {people: [U0CAROL, U0ERIN]}}
  removal: {approvers: {people: [U0CAROL, U0ERIN]}}
"""
# For tests of datasets, before what else they set.
DATASETS = """\
stores:
  lake: {secret: lake-keys, places: {team-a: [s3://lake/]}}
datasets:
  namespace: datasets
  image: ghcr.io/acme/quartermaster:0.1.0
  state: s3://qm-state/prod
  state_store: lake
"""


class CommandClient:
    """Sends commands and clicks to the bot as a person would, and reads its answers as text."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self._numbers = itertools.count()

    def says(self, person: str, channel: str, text: str, **how: str) -> str:
        """The answer to a slash command, as text."""
        name, _, words = text.removeprefix("/").partition(" ")
        return self.answer(self.incoming(person, channel, command=name, words=words, **how))

    def clicks(self, person: str, channel: str, action: str, value: str, **how: str) -> str:
        """The answer to a click."""
        click = self.incoming(person, channel, kind="button", command=action, value=value, **how)
        return self.answer(click)

    def answer(self, incoming: Incoming) -> str:
        """The reply as text, empty where there is none."""
        reply = self.application.dispatcher.answer(incoming)
        return as_text(reply) if reply else ""

    def incoming(self, person: str, channel: str, **how: str) -> Incoming:
        """A slash command unless told otherwise, delivered now for the first time."""
        delivery = how.get("delivery", f"delivery-{next(self._numbers)}")
        return Incoming(
            kind="button" if how.get("kind") == "button" else "command",
            person=person,
            channel=channel,
            thread_ts=None,
            words=how.get("words", ""),
            command=how.get("command", ""),
            value=how.get("value", ""),
            delivery=delivery,
            trigger_id=delivery,
            response_url=None,
            message_ts=how.get("message_ts"),
            received=time.monotonic() + PATIENCE_SECONDS,  # on a busy machine nothing is late
            doubted=False,
        )


def question(client: CommandClient, text: str) -> str:
    """What the button says that asks Alice whether she meant to repeat a command."""
    name, _, words = text.removeprefix("/").partition(" ")
    reply = client.application.dispatcher.answer(
        client.incoming(ALICE, TEAM_A, command=name, words=words)
    )
    assert reply is not None
    (button,) = reply.buttons
    return button.value


@contextmanager
def opened(
    folder: Path,
    url: str,
    served: Served,
    more: str = "",
    *,
    engine: str = "kueue",
    base: str = SETTINGS,
    clock: Clock | None = None,
) -> Iterator[CommandClient]:
    """A bot on a fresh database that sees the cluster of the story, with settings base + more."""
    served.cluster.write_kubeconfig(folder / "kubeconfig", BOT_TOKEN)
    path = folder / "quartermaster.yaml"
    known = base.replace("engine: kueue", f"engine: {engine}")
    path.write_text(known.replace("URL", url).replace("FOLDER", str(folder)) + more)
    create_schema(url)
    file = ConfigurationFile(path)
    settings = file.load()
    application = Application(CurrentSettings(file, settings), follow(settings), clock)
    application.database.transaction(_meet_everybody)
    try:
        application.start_watching()
        eventually(lambda: all(each.view.synced for each in application.clusters.values()))
        yield CommandClient(application)
    finally:
        application.close()


def _meet_everybody(session: Session) -> None:
    for user in (ALICE, BOB, CAROL, DAN, ERIN, MIA, FAY, FAR):
        session.add(
            Person(
                workspace_id="T0QM",
                user_id=user,
                name=user.removeprefix("U0").capitalize(),
                is_guest=user == DAN,
                is_stranger=user == FAR,
                refreshed_at=datetime.now(UTC),
            )
        )
