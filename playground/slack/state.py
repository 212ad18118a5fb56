"""The state of the workspace: who and what is there, and who waits for it to change."""

import asyncio
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from playground.clock import VirtualClock
from playground.ledger import Ledger
from playground.slack import organisation
from playground.slack.delivery import Courier
from playground.slack.errors import DeliveryError, PersonError, SlackError
from playground.slack.faults import Faults
from playground.slack.files import File
from playground.slack.installed import Installed, ManifestError, installed
from playground.slack.people import (
    BOT_USER,
    ORGANISATION,
    TEAM,
    Channel,
    Message,
    User,
    UserGroup,
    story_channels,
    story_groups,
    story_users,
)
from playground.slack.rates import Rates
from playground.slack.shapes import Json
from playground.slack.sockets import Sockets
from playground.slack.steps import StepExecution
from playground.slack.transcript import Entry, Kind, Transcript
from playground.slack.triggers import ResponseUrls, Triggers
from playground.slack.views import Views

T = TypeVar("T")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Credentials:
    """What the bot needs to be let in, new for each workspace."""

    bot_token: str = field(default_factory=lambda: f"xoxb-1-1-{secrets.token_hex(12)}")
    app_token: str = field(default_factory=lambda: f"xapp-1-A0QM-1-{secrets.token_hex(12)}")
    signing_secret: str = field(default_factory=lambda: secrets.token_hex(16))
    verification: str = field(default_factory=lambda: secrets.token_hex(12))


class State:
    """Everything the workspace holds; `Workspace` adds what people do with it."""

    def __init__(
        self,
        clock: VirtualClock,
        ledger: Ledger,
        *,
        base_url: str = "",
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.clock = clock
        self.ledger = ledger
        self.base_url = base_url
        self.credentials = Credentials()
        self.users: dict[str, User] = story_users()
        self.groups: dict[str, UserGroup] = story_groups()
        self.channels: dict[str, Channel] = story_channels()
        self.files: dict[str, File] = {}
        self.app = Installed()  # none, until a manifest is installed
        self.manifest: Json = {}
        self.scopes: set[str] = set()  # those that the bot's token was granted
        self.is_org_wide = False  # whether the app is installed to a whole organisation
        self.organisation = ""  # that of the workspace, if only this has the app
        self.violations: list[str] = []
        self.refusals: list[tuple[str, str]] = []  # method and error of each call refused
        self.faults = Faults()
        self.rates = Rates(monotonic)
        self.triggers = Triggers(monotonic)
        self.response_urls = ResponseUrls(monotonic)
        self.views = Views()
        self.executions: dict[str, StepExecution] = {}  # of steps in workflows
        self.prompts: dict[str, tuple[Json, ...]] = {}  # of the agent view, by channel
        self.sockets = Sockets()
        self.courier = Courier(self.sockets, self.faults, self.credentials.signing_secret)
        self.courier.on_arrival = self.changed
        self.transcript = Transcript(self.name_of)
        self._last_micros = 0
        self._changed = asyncio.Event()

    def install(self, manifest: Json) -> None:
        """Makes the app what the manifest says, and grants what it asks for; ManifestError."""
        self.app, self.manifest = installed(manifest), manifest
        self.scopes = set(self.app.scopes)

    def install_org_wide(self) -> None:
        """Puts the workspace into an organisation, and installs the app to all of it."""
        if not self.app.is_org_ready:
            raise ManifestError("/settings/org_deploy_enabled: must be true")
        self.is_org_wide, self.views.installed_to = True, ORGANISATION
        for user in self.users.values():
            if user.team_id == TEAM and not user.is_bot:
                user.organisation = ORGANISATION

    def has_app(self, user: str) -> bool:
        """Whether the app is installed to the workspace of this person."""
        home = self.users[user].team_id
        return home == TEAM or (self.is_org_wide and home in organisation.WORKSPACES)

    async def interact(self, payload: Json) -> list[Any]:
        """Delivers what somebody did with a control; DeliveryError, also where that is off."""
        if not self.app.has_interactivity:
            raise DeliveryError("not_configured")
        if self.is_org_wide:
            payload = organisation.interaction(payload)
        return await self.courier.interact("interactive", payload)

    # What is there

    def name_of(self, identifier: str) -> str:
        """The name of a user, channel or group, without its sign; the id itself if unknown."""
        if identifier in self.users:
            user = self.users[identifier]
            return user.real_name if user.is_bot else user.real_name.split()[0]
        if identifier in self.groups:
            return self.groups[identifier].handle
        channel = self.channels.get(identifier)
        return channel.name if channel else identifier

    def id_of(self, sign: str, name: str) -> str | None:
        """The id behind a typed @name or #name."""
        if sign == "#":
            return _first(c.id for c in self.channels.values() if c.name == name and not c.im_with)
        users = (u.id for u in self.users.values() if name.lower() in (u.name, u.real_name.lower()))
        return _first(users) or _first(g.id for g in self.groups.values() if g.handle == name)

    def channel(self, identifier: str) -> Channel:
        """A channel by id, or with a person's id the direct messages; raises SlackError."""
        if identifier in self.channels:
            return self.channels[identifier]
        if identifier in self.users:
            return self.im(identifier)
        raise SlackError("channel_not_found")

    def im(self, user: str) -> Channel:
        """The direct messages between the bot and a person."""
        channel_id = "D" + user[1:]
        if channel_id not in self.channels:
            name = self.users[user].name
            self.channels[channel_id] = Channel(channel_id, name, [user, BOT_USER], im_with=user)
        return self.channels[channel_id]

    def message(self, channel: str, ts: str) -> Message | None:
        """A message everybody in the channel sees, or None when there is none (any more)."""
        found = (m for m in self.channel(channel).messages if m.ts == ts and not m.viewer)
        return next((m for m in found if not m.deleted), None)

    def visible(self, user: str, channel: str) -> list[Message]:
        """What a person sees in a channel, oldest first, with replies and their own ephemerals."""
        place = self.channel(channel)
        if user not in place.members:
            raise PersonError(f"{self.name_of(user)} is not in {self.name_of(place.id)}")
        return [m for m in place.messages if m.viewer in (None, user) and not m.deleted]

    def next_ts(self) -> str:
        """A timestamp of the world's present, later than any before."""
        micros = (self.clock.now() - _EPOCH) // timedelta(microseconds=1)
        self._last_micros = max(micros, self._last_micros + 1)
        return f"{self._last_micros // 1_000_000}.{self._last_micros % 1_000_000:06}"

    def record(self, kind: Kind, message: Message, by: str, text: str, before: str = "") -> None:
        """Writes a transcript line about a message, and wakes who waits."""
        self.transcript.add(
            Entry(
                at=self.clock.now(),
                kind=kind,
                channel=message.channel,
                by=by,
                text=text,
                ts=message.ts,
                thread_ts=message.thread_ts,
                viewer=message.viewer,
                notified=message.notified if kind is Kind.POSTED else (),
                before=before,
            )
        )
        self.changed()

    def note(self, kind: Kind, user: str, text: str, channel: str = "") -> None:
        """Writes a transcript line that only one person sees, and wakes who waits."""
        now = self.clock.now()
        self.transcript.add(Entry(now, kind, channel, user, text, viewer=user))
        self.changed()

    def changed(self) -> None:
        """Wakes everybody who waits for something to become true."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def until(self, predicate: Callable[[], T], timeout_seconds: float) -> T:
        """The first truthy value of the predicate, asked again after each change.

        Raises:
            TimeoutError: with the last lines of the transcript, after that many real seconds.
        """
        try:
            async with asyncio.timeout(timeout_seconds):
                while not (value := predicate()):
                    await self._changed.wait()
                return value
        except TimeoutError:
            last = "\n".join(map(self.transcript.line, self.transcript.entries[-5:]))
            raise TimeoutError(f"not within {timeout_seconds} s; last seen:\n{last}") from None

    async def close(self) -> None:
        """Ends deliveries and connections."""
        self.sockets.drop_all()
        await self.courier.close()


def _first(found: Iterable[str]) -> str | None:
    return next(iter(found), None)
