"""What a person's act hands to the bot for a short while: trigger ids and response URLs."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass

from playground.slack.errors import SlackError
from playground.slack.people import Message

TRIGGER_SECONDS = 3.0
RESPONSE_SECONDS = 30 * 60.0
RESPONSE_USES = 5


@dataclass
class Trigger:
    """The right to open one form for `user`; `view_id` is the form the act came from, if any."""

    user: str
    issued: float
    view_id: str | None
    exchanged: bool = False


@dataclass
class ResponseUrl:
    """Where answers to one act go: its person, its channel, the message it came from."""

    user: str
    channel: str
    issued: float
    origin: Message | None = None
    uses: int = 0


class Triggers:
    """The trigger ids given out so far; each opens one view within three seconds."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._given: dict[str, Trigger] = {}

    def issue(self, user: str, view_id: str | None = None) -> str:
        """A new trigger id."""
        trigger_id = f"{len(self._given) + 1}.7.{secrets.token_hex(16)}"
        self._given[trigger_id] = Trigger(user, self._monotonic(), view_id)
        return trigger_id

    def exchange(self, trigger_id: str) -> Trigger:
        """Spends a trigger id; raises SlackError when unknown, spent, or too old."""
        trigger = self._given.get(trigger_id)
        if trigger is None:
            raise SlackError("invalid_trigger_id")
        if trigger.exchanged:
            raise SlackError("exchanged_trigger_id")
        if self._monotonic() - trigger.issued > TRIGGER_SECONDS:
            raise SlackError("expired_trigger_id")
        trigger.exchanged = True
        return trigger


class ResponseUrls:
    """The response URLs given out so far; each takes five posts within thirty minutes."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._given: dict[str, ResponseUrl] = {}

    def issue(self, user: str, channel: str, origin: Message | None = None) -> str:
        """The path of a new response URL."""
        path = f"/actions/T0QM/{len(self._given) + 1}/{secrets.token_hex(12)}"
        self._given[path] = ResponseUrl(user, channel, self._monotonic(), origin)
        return path

    def use(self, path: str) -> ResponseUrl:
        """Takes one of the posts; raises SlackError when unknown, too old, or all are taken."""
        given = self._given.get(path)
        if given is None:
            raise SlackError("no_such_url")
        if self._monotonic() - given.issued > RESPONSE_SECONDS:
            raise SlackError("expired_url")
        if given.uses >= RESPONSE_USES:
            raise SlackError("used_url")
        given.uses += 1
        return given
