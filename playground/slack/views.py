"""Forms and Home tabs: each person's stack of open forms, and what they show."""

import secrets
from dataclasses import dataclass, field
from typing import Any

from playground.slack.errors import SlackError
from playground.slack.people import APP, BOT, TEAM
from playground.slack.shapes import Json

STACK = 3


@dataclass
class View:
    """One form or Home tab as its person sees it."""

    id: str
    user: str
    body: Json
    root_id: str
    previous_id: str | None = None
    hash: str = field(default_factory=lambda: secrets.token_hex(8))
    values: Json = field(default_factory=dict)
    offered: dict[str, list[Json]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    installed_to: str = TEAM
    is_open: bool = True

    def as_json(self) -> Json:
        """The view object of views.* answers and of payloads."""
        return {
            "private_metadata": "",
            "callback_id": "",
            "external_id": "",
            "clear_on_close": False,
            "notify_on_close": False,
            "submit": None,
            "close": None,
            **self.body,
            "id": self.id,
            "team_id": TEAM,
            "app_id": APP,
            "app_installed_team_id": self.installed_to,
            "bot_id": BOT,
            "hash": self.hash,
            "root_view_id": self.root_id,
            "previous_view_id": self.previous_id,
            "state": {"values": self.values},
        }


class Views:
    """Every view of the workspace."""

    def __init__(self) -> None:
        self.all: dict[str, View] = {}
        self.stacks: dict[str, list[View]] = {}
        self.homes: dict[str, View] = {}
        self.installed_to = TEAM

    def top(self, user: str) -> View | None:
        """The form the person has in front of them."""
        stack = self.stacks.get(user)
        return stack[-1] if stack else None

    def open(self, user: str, body: Json) -> View:
        """Opens a form; one that was open goes away."""
        self._fresh_external_id(body)
        self.clear(user)
        view = self._new(user, body, None)
        self.stacks[user] = [view]
        return view

    def push(self, user: str, body: Json) -> View:
        """Lays a form on top of the open ones, at most three in all."""
        stack = self.stacks.get(user, [])
        if not stack:
            raise SlackError("not_found")
        if len(stack) >= STACK:
            raise SlackError("push_limit_reached")
        self._fresh_external_id(body)
        view = self._new(user, body, stack[-1])
        stack.append(view)
        return view

    def update(self, view: View, body: Json) -> View:
        """Shows something else in an open form; what was typed into kept blocks stays."""
        kept = {block["block_id"] for block in body["blocks"]}
        view.values = {block: value for block, value in view.values.items() if block in kept}
        view.body, view.hash, view.errors = body, secrets.token_hex(8), {}
        return view

    def publish(self, user: str, body: Json) -> View:
        """Sets a person's Home tab."""
        home = self.homes.get(user)
        if home is None:
            home = self.homes[user] = self._new(user, body, None)
            return home
        return self.update(home, body)

    def find(self, view_id: Any, external_id: Any) -> View:
        """An open form or a Home tab by either id; raises SlackError not_found."""
        for view in self.all.values():
            named = view.id == view_id or (
                external_id and view.body.get("external_id") == external_id
            )
            if view.is_open and named:
                return view
        raise SlackError("not_found")

    def pop(self, view: View) -> None:
        """Closes one form; those under it stay."""
        view.is_open = False
        self.stacks[view.user] = [each for each in self.stacks.get(view.user, []) if each.is_open]

    def clear(self, user: str) -> None:
        """Closes all forms of a person."""
        for view in self.stacks.pop(user, []):
            view.is_open = False

    def _new(self, user: str, body: Json, below: View | None) -> View:
        view_id = f"V0{len(self.all) + 1:04}"
        root = below.root_id if below else view_id
        view = View(view_id, user, body, root, below.id if below else None)
        view.installed_to = self.installed_to
        self.all[view_id] = view
        return view

    def _fresh_external_id(self, body: Json) -> None:
        wanted = body.get("external_id")
        taken = {view.body.get("external_id") for view in self.all.values() if view.is_open}
        if wanted and wanted in taken:
            raise SlackError("duplicate_external_id")
