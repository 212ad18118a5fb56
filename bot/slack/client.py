"""The edge to Slack: what the bot asks of it, typed, and errors as sentences."""

import http
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bot.errors import ChatError
from bot.slack.card import Prompt
from bot.slack.grammar.manifest import AGENT_SCOPE
from bot.slack.shared_files import Downloads, SharedFile, shared_file
from bot.slack.web_api import (
    RESPOND,
    SERVER_ERROR,
    ResponseUrls,
    WebApi,
    count,
    pool_manager,
    refused,
    send_bytes,
)

EVENT_TYPE = "quartermaster"

_PAGE = 200
_MOST_PAGES = 20
_ALT = 1_000

Block = dict[str, Any]


@dataclass(frozen=True)
class Draft:
    """What a message says; `text` is what notifications and readers without blocks show."""

    text: str
    blocks: list[Block] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The draft as Slack takes it in answers."""
        return {"text": self.text, **({"blocks": self.blocks} if self.blocks else {})}


@dataclass(frozen=True)
class MessageRef:
    """The position of a message."""

    channel: str
    ts: str


@dataclass(frozen=True)
class Destination:
    """Where a message goes: a channel, or a thread in it, shown in the channel too if broadcast."""

    channel: str
    thread_ts: str | None = None
    broadcast: bool = False


@dataclass(frozen=True)
class Identity:
    """The identity of the token's bot in Slack."""

    workspace_id: str
    user_id: str
    name: str
    organisation: str = ""
    is_org_wide: bool = False
    """Whether the token is for all workspaces of the organisation."""


@dataclass(frozen=True)
class User:
    """A person as Slack describes them."""

    name: str
    time_zone: str
    is_guest: bool
    is_stranger: bool
    is_gone: bool


@dataclass(frozen=True)
class Conversation:
    """A channel as Slack describes it."""

    name: str
    is_member: bool
    is_archived: bool
    is_shared_outside: bool = False
    """Whether another company is in it, or is invited."""


class SlackClient:
    """Slack's Web API as the bot uses it; every failure is a ChatError, nothing is tried twice."""

    def __init__(
        self, token: str, api_url: str, workspace_id: str, organisation: str | None = None
    ) -> None:
        self._api = WebApi(token, api_url)
        self._response_urls = ResponseUrls(self._api.proxy)
        self._downloads = Downloads(self._api, api_url, pool_manager(self._api.proxy)())
        self._workspace_id = workspace_id
        self._organisation = organisation

    def renew(self, token: str) -> None:
        """Makes all further calls with another token of the same app."""
        self._api.renew(token)

    def auth_test(self) -> Identity:
        """The identity of the token."""
        answer = self._api.call("auth.test")
        return Identity(
            answer.get("team_id") or "",
            answer["user_id"],
            answer["user"],
            answer.get("enterprise_id") or "",
            bool(answer.get("is_enterprise_install")),
        )

    def scopes(self) -> frozenset[str]:
        """The scopes of the token."""
        self._api.call("auth.test")
        return self._api.scopes

    def has_agent_view(self) -> bool:
        """Whether the app has Slack's agent view, as its scopes say; False if they are unknown."""
        if not self._api.scopes:
            with suppress(ChatError):
                self._api.call("auth.test")
        return AGENT_SCOPE in self._api.scopes

    def suggest_prompts(self, channel: str, prompts: Sequence[Prompt]) -> None:
        """Shows these above the text box of a person's direct messages, in place of others."""
        self._api.call(
            "assistant.threads.setSuggestedPrompts",
            channel_id=channel,
            prompts=[{"title": each.title, "message": each.message} for each in prompts],
        )

    def post(self, place: Destination, draft: Draft, *, mark: str) -> MessageRef:
        """Posts a message and returns its position; `find_by_metadata` finds it by its mark."""
        answer = self._api.call(
            "chat.postMessage",
            channel=place.channel,
            thread_ts=place.thread_ts,
            reply_broadcast="true" if place.broadcast and place.thread_ts else None,
            text=draft.text,
            blocks=draft.blocks or None,
            metadata={"event_type": EVENT_TYPE, "event_payload": {"message": mark}},
            unfurl_links="false",
            unfurl_media="false",
        )
        return MessageRef(answer["channel"], answer["ts"])

    def complete_step(self, execution_id: str, outputs: Mapping[str, str]) -> None:
        """Lets the workflow of a step go on, with the step's outputs."""
        self._api.call(
            "functions.completeSuccess", function_execution_id=execution_id, outputs=dict(outputs)
        )

    def fail_step(self, execution_id: str, error: str) -> None:
        """Ends the workflow of a step with an error, which Slack shows to its author."""
        self._api.call("functions.completeError", function_execution_id=execution_id, error=error)

    def update(self, spot: MessageRef, draft: Draft) -> None:
        """Updates a message of the bot."""
        self._api.call(
            "chat.update", channel=spot.channel, ts=spot.ts, text=draft.text, blocks=draft.blocks
        )

    def upload(self, name: str, words: tuple[str, str], content: bytes) -> str:
        """The id of a new PNG, invisible until a block shows it.

        `words` are its title and its description. A repeated upload leaves one more, invisible.
        """
        title, alt = words
        file_id = self.bring(name, content, alt[:_ALT])
        file = {"id": file_id, "title": title, "highlight_type": "png"}
        self._api.call("files.completeUploadExternal", files=[file])
        return file_id

    def bring(self, name: str, content: bytes, alt: str | None = None) -> str:
        """The id of a new file; until it is shared it is invisible, and Slack soon discards it."""
        given = self._api.call(
            "files.getUploadURLExternal", filename=name, length=len(content), alt_txt=alt
        )
        send_bytes(given["upload_url"], content, self._api.proxy)
        return str(given["file_id"])

    def share(self, place: Destination, file: tuple[str, str], text: str) -> None:
        """Posts an uploaded file below `text`; `file` is its id and its title.

        Slack does this once for a file, and does not say where its message stands.
        """
        file_id, title = file
        self._api.call(
            "files.completeUploadExternal",
            files=[{"id": file_id, "title": title}],
            channel_id=place.channel,
            thread_ts=place.thread_ts,
            initial_comment=text,
        )

    def files_at(self, spot: MessageRef, thread_ts: str) -> Sequence[SharedFile] | None:
        """The files of a message, as far as it describes them; None if there is no such message.

        `thread_ts` is the message whose thread it is in, or the message itself.
        """
        answer = self._api.call(
            "conversations.replies",
            channel=spot.channel,
            ts=thread_ts,
            oldest=spot.ts,
            latest=spot.ts,
            inclusive="true",
            limit=_PAGE,
        )
        found = next((each for each in answer["messages"] if each.get("ts") == spot.ts), None)
        return None if found is None else tuple(map(shared_file, found.get("files") or ()))

    def file_info(self, file_id: str) -> SharedFile:
        """How Slack describes this file now."""
        return shared_file(self._api.call("files.info", file=file_id)["file"])

    def download(self, file: SharedFile, first: int, size: int) -> bytes:
        """Some bytes of a file, from the position `first` on."""
        return self._downloads.span(file, first, size)

    def post_ephemeral(self, place: Destination, person: str, draft: Draft) -> None:
        """Posts a message that only this person sees."""
        self._api.call(
            "chat.postEphemeral",
            channel=place.channel,
            thread_ts=place.thread_ts,
            user=person,
            text=draft.text,
            blocks=draft.blocks or None,
        )

    def respond(
        self,
        response_url: str,
        draft: Draft,
        thread_ts: str | None = None,
        *,
        for_all: bool = False,
    ) -> None:
        """Posts a response that the person who typed or clicked sees, or with `for_all` everyone.

        Slack takes five of these within 30 minutes.
        """
        seen_by = "in_channel" if for_all else "ephemeral"
        body = {"response_type": seen_by, "replace_original": False, **draft.as_json()}
        if thread_ts:
            body["thread_ts"] = thread_ts
        result = _result(*self._response_urls.post(response_url, body))
        count(RESPOND, result)
        if result != "ok":
            raise refused(RESPOND, result)

    def open_view(self, trigger_id: str, view: Block) -> None:
        """Opens a form for the person whose act the trigger is of, within 3 s of it."""
        self._api.call("views.open", trigger_id=trigger_id, view=view)

    def update_view(self, view_id: str, view: Block) -> None:
        """Shows this in place of the form of that id, which keeps what its fields hold."""
        self._api.call("views.update", view_id=view_id, view=view)

    def publish_home(self, person: str, view: Block, view_hash: str = "") -> str:
        """Shows a view in a person's Home tab, and returns its hash.

        With the hash of the last view, Slack refuses (`hash_conflict`) if it shows another one.
        """
        answer = self._api.call("views.publish", user_id=person, view=view, hash=view_hash or None)
        return str(answer["view"]["hash"])

    def update_own_view(self, external_id: str, view: Block) -> None:
        """Shows this in place of the view that was opened with an id of ours."""
        self._api.call("views.update", external_id=external_id, view=view)

    def open_dm(self, person: str) -> str:
        """The channel of the direct messages with this person."""
        channel: str = self._api.call("conversations.open", users=person)["channel"]["id"]
        return channel

    def permalink(self, spot: MessageRef) -> str:
        """The permalink of a message."""
        answer = self._api.call("chat.getPermalink", channel=spot.channel, message_ts=spot.ts)
        return str(answer["permalink"])

    def find_by_metadata(self, place: Destination, mark: str, since: datetime) -> str | None:
        """The `ts` of our message with this mark, if it was posted there after `since`."""
        for message in self._messages(place, since):
            metadata = message.get("metadata") or {}
            payload = metadata.get("event_payload") or {}
            if metadata.get("event_type") == EVENT_TYPE and payload.get("message") == mark:
                return str(message["ts"])
        return None

    def find_by_file(self, place: Destination, file_id: str, since: datetime) -> str | None:
        """The `ts` of the message that shows the file, if it was shared there after `since`."""
        for message in self._messages(place, since):
            if any(file.get("id") == file_id for file in message.get("files") or ()):
                return str(message["ts"])
        return None

    def user(self, user_id: str) -> User:
        """How Slack describes this person."""
        user = self._api.call("users.info", user=user_id)["user"]
        profile = user.get("profile") or {}
        return User(
            name=profile.get("display_name") or user.get("real_name") or user.get("name", ""),
            time_zone=user.get("tz") or "UTC",
            is_guest=bool(user.get("is_restricted") or user.get("is_ultra_restricted")),
            is_stranger=bool(user.get("is_stranger")) or not self._is_colleague(user),
            is_gone=bool(user.get("deleted")),
        )

    def group_members(self, group_id: str) -> frozenset[str]:
        """The people in a user group."""
        # A token for a whole organisation needs the workspace; others ignore it.
        found = self._api.call(
            "usergroups.users.list", usergroup=group_id, team_id=self._workspace_id
        )
        return frozenset(found["users"])

    def conversation_info(self, channel: str) -> Conversation:
        """How Slack describes this channel."""
        seen = self._api.call("conversations.info", channel=channel)["channel"]
        return Conversation(
            seen.get("name", ""),
            bool(seen.get("is_member")),
            bool(seen.get("is_archived")),
            bool(seen.get("is_ext_shared") or seen.get("is_pending_ext_shared")),
        )

    def _is_colleague(self, user: dict[str, Any]) -> bool:
        """Whether their home is our workspace, or another one of our organisation."""
        theirs = (user.get("enterprise_user") or {}).get("enterprise_id")
        is_of_organisation = self._organisation is not None and theirs == self._organisation
        return is_of_organisation or user.get("team_id") == self._workspace_id

    def _messages(self, place: Destination, since: datetime) -> Iterator[dict[str, Any]]:
        return self._replies(place, since) if place.thread_ts else self._history(place, since)

    def _history(self, place: Destination, since: datetime) -> Iterator[dict[str, Any]]:
        return self._pages("conversations.history", since, channel=place.channel)

    def _replies(self, place: Destination, since: datetime) -> Iterator[dict[str, Any]]:
        return self._pages(
            "conversations.replies", since, channel=place.channel, ts=place.thread_ts
        )

    def _pages(self, method: str, since: datetime, **where: object) -> Iterator[dict[str, Any]]:
        cursor = None
        for _ in range(_MOST_PAGES):
            answer = self._api.call(
                method,
                **where,
                oldest=f"{since.timestamp():.6f}",
                include_all_metadata="true",
                limit=_PAGE,
                cursor=cursor,
            )
            yield from answer["messages"]
            cursor = (answer.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                return


def _result(status: int, body: str) -> str:
    """Slack's word for what became of an answer sent to a response URL."""
    if status == http.HTTPStatus.OK:
        return "ok"
    if status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
        return SERVER_ERROR
    said = body.strip()
    if said.startswith("{"):
        with suppress(ValueError):
            said = str(json.loads(said).get("error"))
    return said if said.isidentifier() else f"http_{status}"
