"""Who and what is in the workspace before anybody speaks: users, groups, channels."""

from dataclasses import dataclass, field
from datetime import datetime
from zoneinfo import ZoneInfo

from playground.slack.files import File
from playground.slack.shapes import Json

TEAM = "T0QM"
ORGANISATION = "E0ACME"
ORGANISATION_NAME = "Acme"
SISTER = "T0SISTER"
"""Another workspace of the same Enterprise Grid organisation."""

PARTNER = "T0PARTNER"
"""The workspace of another company, which comes into channels."""

APP = "A0QM"
BOT_USER = "U0QM"
BOT = "B0QM"
SLACKBOT = "USLACKBOT"


@dataclass
class User:
    """A member, colleague of the same organisation, guest, stranger, or bot."""

    id: str
    name: str
    real_name: str
    tz: str = "Europe/Berlin"
    is_bot: bool = False
    is_restricted: bool = False
    is_ultra_restricted: bool = False
    is_stranger: bool = False
    deleted: bool = False
    team_id: str = TEAM
    organisation: str = ""

    def as_json(self, now: datetime, *, email: bool) -> Json:
        """The user object of users.info; an e-mail address only with the scope for it."""
        local = now.astimezone(ZoneInfo(self.tz))
        profile = {"real_name": self.real_name, "display_name": self.name, "team": self.team_id}
        if email and not self.is_bot:
            profile["email"] = f"{self.name}@acme.example"
        seen: Json = {
            "id": self.id,
            "team_id": self.team_id,
            "name": self.name,
            "real_name": self.real_name,
            "deleted": self.deleted,
            "is_bot": self.is_bot,
            "is_admin": False,
            "is_owner": False,
            "is_restricted": self.is_restricted,
            "is_ultra_restricted": self.is_ultra_restricted,
            "is_app_user": False,
            "tz": self.tz,
            "tz_label": local.tzname(),
            "tz_offset": int((local.utcoffset() or local.dst() or local - local).total_seconds()),
            "profile": profile,
            "updated": 1_700_000_000,
        }
        if self.is_stranger:
            seen["is_stranger"] = True
        if self.organisation:
            seen["enterprise_user"] = {
                "id": self.id,
                "enterprise_id": self.organisation,
                "enterprise_name": ORGANISATION_NAME,
                "is_admin": False,
                "is_owner": False,
                "teams": [self.team_id],
            }
        return seen


@dataclass
class UserGroup:
    """A user group such as @gpu-admins."""

    id: str
    handle: str
    name: str
    users: list[str] = field(default_factory=list)
    disabled: bool = False

    def as_json(self, *, users: bool) -> Json:
        """The group object of usergroups.list, with its members when asked for."""
        seen: Json = {
            "id": self.id,
            "team_id": TEAM,
            "is_usergroup": True,
            "name": self.name,
            "handle": self.handle,
            "date_delete": 1 if self.disabled else 0,
            "user_count": len(self.users),
        }
        return {**seen, "users": list(self.users)} if users else seen


@dataclass
class Message:
    """One message as everybody sees it, or only `viewer` when it is ephemeral.

    A person acting on it acts on the version they hold: pass a `copy.deepcopy` made earlier
    to click a button that has changed since.
    """

    channel: str
    ts: str
    user: str
    text: str
    blocks: list[Json] = field(default_factory=list)
    viewer: str | None = None
    thread_ts: str | None = None
    broadcast: bool = False
    metadata: Json | None = None
    files: list[File] = field(default_factory=list)
    reactions: dict[str, list[str]] = field(default_factory=dict)
    edits: int = 0
    edited_at: str = ""
    deleted: bool = False
    notified: tuple[str, ...] = ()

    @property
    def is_reply(self) -> bool:
        """Whether it stands in a thread, under another message."""
        return self.thread_ts not in (None, self.ts)

    def as_json(self, *, metadata: bool = True) -> Json:
        """The message object of the Web API."""
        seen: Json = {"type": "message", "user": self.user, "text": self.text, "ts": self.ts}
        seen["team"] = TEAM
        if self.user == BOT_USER:
            seen |= {"bot_id": BOT, "app_id": APP}
        if self.blocks:
            seen["blocks"] = self.blocks
        if self.thread_ts:
            seen["thread_ts"] = self.thread_ts
        if self.broadcast:
            seen["subtype"] = "thread_broadcast"
        if self.deleted:
            seen["subtype"] = "tombstone"
        if self.edits and not self.blocks:
            seen["edited"] = {"user": self.user, "ts": self.edited_at}
        if metadata and self.metadata:
            seen["metadata"] = self.metadata
        return seen | self._beside()

    def _beside(self) -> Json:
        beside: Json = {}
        if self.files:
            beside["files"] = [file.as_json() for file in self.files]
        if self.files and not self.deleted:
            beside["subtype"] = "file_share"
        if self.reactions:
            beside["reactions"] = [
                {"name": name, "users": users, "count": len(users)}
                for name, users in self.reactions.items()
            ]
        return beside


@dataclass
class Channel:
    """A channel or, with `im_with`, the direct messages between the bot and one person."""

    id: str
    name: str
    members: list[str] = field(default_factory=list)
    is_private: bool = False
    is_archived: bool = False
    is_read_only: bool = False
    is_org_shared: bool = False
    is_ext_shared: bool = False
    is_pending_ext_shared: bool = False
    im_with: str | None = None
    messages: list[Message] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """Its type in Slack's words: public_channel, private_channel or im."""
        if self.im_with:
            return "im"
        return "private_channel" if self.is_private else "public_channel"

    @property
    def _teams(self) -> list[str]:
        others = {SISTER: self.is_org_shared, PARTNER: self.is_ext_shared}
        return [TEAM, *(team for team, is_in in others.items() if is_in)]

    def as_json(self) -> Json:
        """The channel object of conversations.info."""
        if self.im_with:
            return {"id": self.id, "is_im": True, "user": self.im_with, "is_archived": False}
        return {
            "id": self.id,
            "name": self.name,
            "name_normalized": self.name,
            "is_channel": not self.is_private,
            "is_group": self.is_private,
            "is_im": False,
            "is_private": self.is_private,
            "is_archived": self.is_archived,
            "is_member": BOT_USER in self.members,
            "is_shared": self.is_ext_shared or self.is_org_shared,
            "is_ext_shared": self.is_ext_shared,
            "is_pending_ext_shared": self.is_pending_ext_shared,
            "is_org_shared": self.is_org_shared,
            "connected_team_ids": [PARTNER] if self.is_ext_shared else [],
            "shared_team_ids": self._teams,
            "pending_connected_team_ids": [PARTNER] if self.is_pending_ext_shared else [],
            "conversation_host_id": TEAM,
            "context_team_id": TEAM,
        }


def story_users() -> dict[str, User]:
    """Alice and her lead Erin, Bob, Carol, the guest Dan, the bot, and Slack's own voice."""
    users = [
        User("U0ALICE", "alice", "Alice Moreau"),
        User("U0BOB", "bob", "Bob Tanaka", tz="America/New_York"),
        User("U0CAROL", "carol", "Carol Ndiaye"),
        User("U0DAN", "dan", "Dan Weber", is_restricted=True),
        User("U0ERIN", "erin", "Erin Okafor"),
        User(BOT_USER, "quartermaster", "Quartermaster", tz="America/Los_Angeles", is_bot=True),
        User(SLACKBOT, "slackbot", "Slackbot", tz="America/Los_Angeles", is_bot=True),
    ]
    return {user.id: user for user in users}


def story_channels() -> dict[str, Channel]:
    """The four channels of the story, the bot a member of each."""
    channels = [
        Channel("C0TEAMA", "team-a", ["U0ALICE", "U0CAROL", "U0DAN", "U0ERIN", BOT_USER]),
        Channel("C0TEAMB", "team-b", ["U0BOB", "U0CAROL", BOT_USER]),
        Channel("C0APPROVE", "gpu-approvals", ["U0ALICE", "U0BOB", "U0CAROL", "U0DAN", BOT_USER]),
        Channel("C0DAILY", "gpu-daily", ["U0ALICE", "U0BOB", "U0CAROL", BOT_USER]),
    ]
    return {channel.id: channel for channel in channels}


def story_groups() -> dict[str, UserGroup]:
    """One user group, the platform admins."""
    return {"S0ADMINS": UserGroup("S0ADMINS", "gpu-admins", "GPU admins", ["U0CAROL"])}
