"""States: what stands in the database, and what people are then shown."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from sqlmodel import SQLModel
from typing_extensions import override

from bot.clock import Clock
from bot.quotas.tables import Override, subject_of
from bot.slack.messages import CARD, Message, Renderer, Subject
from bot.slack.sending.rendering import render
from tests.handlers.command_client import ALICE, TEAM_A, CommandClient

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
ID = "019aa64b-2e00-7000-8000-00004c81d2e7"
"""The id of the row that a card is about; people see the end of some."""
SILENT = "The cluster default did not answer within 10 s."

Json = dict[str, Any]


class StandingClock(Clock):
    """The bot's clock, which always says the same."""

    @override
    def now(self) -> datetime:
        return NOW


@dataclass(frozen=True)
class Shown:
    """What a person sees: the blocks of a message, or a view, with the errors beside its fields."""

    kind: Literal["message", "form", "home"]
    body: Json
    errors: tuple[tuple[str, str], ...] = ()

    @property
    def blocks(self) -> list[Json]:
        """Its blocks, from the top."""
        found: list[Json] = self.body["blocks"]
        return found


@dataclass(frozen=True)
class State:
    """One state by its name: the rows there are, and what shows it."""

    name: str
    show: Callable[[CommandClient], Shown]
    rows: Sequence[SQLModel] = ()
    kind: str = ""


def _usual_renderers(client: CommandClient) -> Mapping[str, Renderer]:
    return client.application.renderers()


def card(
    name: str,
    row: Any,
    *others: SQLModel,
    channel: str = TEAM_A,
    renderers: Callable[[CommandClient], Mapping[str, Renderer]] = _usual_renderers,
) -> State:
    """The card of a row in a channel, as it is posted; `others` are what else there is.

    `renderers` are those of a bot with other settings.
    """
    subject: Subject = subject_of(row) if isinstance(row, Override) else row.subject
    message = Message(
        id="message",
        workspace_id="T0QM",
        subject_kind=subject.kind,
        subject_id=subject.id,
        purpose=CARD,
        channel=channel,
        created_at=NOW,
    )

    def show(client: CommandClient) -> Shown:
        bot = client.application
        by = renderers(client)
        found = bot.database.read(lambda session: render(session, by, "message"))
        assert found.draft is not None
        return Shown("message", {"text": found.draft.text, "blocks": list(found.draft.blocks)})

    return State(name, show, (row, *others, message), subject.kind)


def usual(**more: Any) -> Json:
    """What most rows have, of Alice in team-a."""
    fields: Json = {
        "id": ID,
        "workspace_id": "T0QM",
        "team": "team-a",
        "person": ALICE,
        "channel": TEAM_A,
        "cluster": "default",
        "namespace": "team-a",
    }
    return fields | more
