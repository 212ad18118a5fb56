"""What people say and click, right and wrong, drawn from a seed; as Slack would deliver it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from random import Random
from typing import Any

from handlers.declared import COMMANDS
from playground.slack import payloads
from playground.slack.people import BOT_USER, Channel, Message, User
from playground.slack.shapes import Json
from tests.handlers.command_client import (
    ALICE,
    APPROVALS,
    BOB,
    CAROL,
    DAN,
    ELSEWHERE,
    ERIN,
    FAR,
    FAY,
    MIA,
    TEAM_A,
    TEAM_B,
)  # fmt: skip

PEOPLE = (ALICE, ALICE, ALICE, MIA, ERIN, CAROL, BOB, DAN, FAR, FAY)
PLACES = (TEAM_A, TEAM_A, TEAM_A, TEAM_B, "D0DIRECT", APPROVALS, ELSEWHERE)
CANARY = "ghp_" + "7cAnArY9" * 4 + "Qm42"
"""A token of a form that is known as one; whoever types it must not find it anywhere."""

SAID = [f"/{command.name} {verb}" for command in COMMANDS for verb in command.verbs]
ACTIONS = [action for command in COMMANDS for action in command.buttons]
DASHED = sorted(
    {
        parameter.dashed
        for command in COMMANDS
        for verb in command.verbs.values()
        for parameter in verb.parameters
        if parameter.dashed
    }
)
LIKELY = [
    "lane", "lane#2", "lane#99999999999999999999", "nb", "wide", "old", "xray", "+8", "-8", "12",
    "\u22128", "0", "1e9", "3d", "999999d", "1h", "ghcr.io/acme/lane:3.1", "A=b", "TOKEN=x",
    "A=secret/key", "data:/mnt", "data:/mnt:ro", "64Gi", "500m", "-5TiB", "9" * 400, "1:3", "3:1",
    "h100", "team-a", "team-b", "nobody", "imagenet", "lane-data", "chest-xray@v3", "retina@v1",
    "kept@v3", "theirs@v3", "faces", "@v1", "s3://lake/more/", "s3://qm-state/prod",
    "s3://lake/../", "labels.csv", "train/", "*.csv", "[!a", "*" * 300, "/", "//",
    "0 2 * * *", "61 99 * * *", "ultra", "--", "—", "'", '"', "help", "--help", "python",
    "train.py",
    "<@U0BOB|bob>", "<#C0TEAMA|team-a>", "<!channel>", "<https://x.example|x>", "&lt;", "`", "*",
    "\x00", "\u202e", "é", "../../etc", "a" * 3000, "🚀", "\n", "\\", "$(id)", "{}", "%s", "NaN",
    "2026-11-23", "2026-02-30", "99:99", "Europe/Atlantis", CANARY, f"TOKEN={CANARY}",
]  # fmt: skip


@dataclass(frozen=True)
class Act:
    """One thing that Slack delivers: in whose name, with which payload, and whether doubted."""

    person: str
    kind: str
    payload: Json
    doubted: bool = False

    @property
    def delivery(self) -> str:
        """What a second delivery of it has in common with it."""
        return str(self.payload.get("trigger_id") or self.payload.get("event_id"))

    def told(self) -> str:
        """What it was, for whoever reads a failure."""
        payload = {k: v for k, v in self.payload.items() if k not in {"token", "team"}}
        return f"{self.person} {self.kind} {json.dumps(payload)[:1500]}"


class Acts:
    """Draws acts; `rows` are commands as they are right, `values` buttons as they are shown."""

    def __init__(self, random: Random, rows: Sequence[str], values: Mapping[str, str]) -> None:
        self._random = random
        self._rows = list(rows)
        self._buttons = list(values.items())
        self._done: list[Act] = []
        self._number = 0

    def shown(self, action: str, value: str) -> None:
        """A button stands somewhere now, so that people may click it."""
        self._buttons.append((action, value))

    def draw(self) -> Act:
        """The next act: something new, or something from before once more."""
        act = self._again() if self._done and self._chance(0.12) else self._new()
        self._done.append(act)
        return act

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _again(self) -> Act:
        """An earlier one: delivered again, done again, or done again by somebody else."""
        act = self._random.choice(self._done)
        if self._chance(0.4):
            return replace(act, doubted=self._chance(0.5))
        person = act.person if self._chance(0.5) else self._random.choice(PEOPLE)
        return replace(act, person=person, payload=_in_name_of(act.payload, person, self._id()))

    def _new(self) -> Act:
        person = self._random.choice(PEOPLE)
        makers: list[Callable[[User, Channel], Act]] = [self._slash, self._click]
        weights = [10, 9, 3, 1]
        makers += [self._mention, self._other]
        (make,) = self._random.choices(makers, weights)
        return make(User(person, person.lower(), person), self._place(person))

    def _place(self, person: str) -> Channel:
        place = self._random.choice(PLACES)
        return Channel(place, place.lower(), im_with=person if place[0] == "D" else None)

    def _id(self) -> str:
        self._number += 1
        return f"13345224609.{self._number}.8fd0"

    # What is typed

    def _slash(self, user: User, place: Channel) -> Act:
        name, _, words = self._text().partition(" ")
        if self._chance(0.1):
            name, words = "/qm", f"{name.removeprefix('/')} {words}"
        if self._chance(0.01):
            name = "/qm"
        payload = payloads.slash("token", user, place, name, words)
        payload |= {"trigger_id": self._id(), "response_url": "http://127.0.0.1:9/respond"}
        return Act(user.id, "slash_commands", payload, doubted=self._chance(0.05))

    def _mention(self, user: User, place: Channel) -> Act:
        text = self._text().removeprefix("/")
        inner: Json = {
            "type": "message" if place.im_with else "app_mention",
            "user": user.id,
            "text": text if place.im_with else f"<@{BOT_USER}> {text}",
            "channel": place.id,
            "ts": self._stamp(),
        }
        inner |= {"channel_type": "im"} if place.im_with else {}
        inner |= {"thread_ts": self._stamp()} if self._chance(0.3) else {}
        payload = payloads.event("token", inner, 0, is_shared=False)
        payload["event_id"] = f"Ev{self._id()}"
        return Act(user.id, "events_api", payload, doubted=self._chance(0.1))

    def _text(self) -> str:
        text = self._random.choice(self._rows)
        if self._chance(0.25):
            text = f"{self._random.choice(SAID)} {' '.join(self._words(self._random.randrange(9)))}"
        for _ in range(self._random.choice((0, 0, 1, 1, 2, 5))):
            text = self._mangled(text)
        return text

    def _words(self, many: int) -> list[str]:
        return [self._word() for _ in range(many)]

    def _word(self) -> str:
        kind = self._random.random()
        if kind < 0.5:
            return self._random.choice(LIKELY)
        return self._random.choice(DASHED) if kind < 0.8 else self._noise()

    def _noise(self) -> str:
        """Any characters; not halves of one, which no client sends."""
        spans = ((0x20, 0x7E), (0, 0x1F), (0xA0, 0x24F), (0x2000, 0x206F), (0x1F300, 0x1F6FF))
        return "".join(
            chr(self._random.randint(*self._random.choice(spans)))
            for _ in range(self._random.randrange(1, 20))
        )

    def _mangled(self, text: str) -> str:
        """The command with one thing in it that is not as it was; its name stays."""
        name, *words = text.split(" ")
        at = self._random.randrange(len(words) + 1)
        match self._random.randrange(9):
            case 0:
                words[at : at + 1] = []
            case 1:
                words[at:at] = words[at : at + 1]
            case 2 | 3:
                words[at : at + 1] = [self._word()]
            case 4 | 5:
                words[at:at] = self._words(2)
            case 6:
                self._random.shuffle(words)
            case 7:
                return f"{name} {self._cut(' '.join(words))}"
            case _:
                quote = self._random.choice("'\"`“")
                words[at : at + 1] = [f"{quote}{word}{quote}" for word in words[at : at + 1]]
        return " ".join([name, *words])

    def _cut(self, text: str) -> str:
        """One or a few characters less, more, or others."""
        at = self._random.randrange(len(text) + 1)
        end = at + self._random.choice((0, 1, 1, 4))
        return text[:at] + self._random.choice(("", self._noise())) + text[end:]

    # What is clicked

    def _click(self, user: User, place: Channel) -> Act:
        action, value = self._random.choice(self._buttons)
        if self._chance(0.5):
            action, value = self._forged(action, value)
        element: Json = {"type": "button", "action_id": action, "value": value}
        element |= {"text": {"type": "plain_text", "text": "Click"}}
        if self._chance(0.1):
            option = {"text": element["text"], "value": element.pop("value")}
            element |= {"type": "static_select", "selected_option": option}
        elif self._chance(0.05):
            del element["value"]
        payload = payloads.interaction("block_actions", "token", user)
        payload |= {"trigger_id": self._id(), "response_url": "http://127.0.0.1:9/respond"}
        payload |= {"actions": [element | {"block_id": "b", "action_ts": self._stamp()}]}
        payload |= self._from(place)
        return Act(user.id, "interactive", payload, doubted=self._chance(0.05))

    def _from(self, place: Channel) -> Json:
        """Where the button stood: in a message, one that only they see, or in a view."""
        if self._chance(0.05):
            return {"container": {"type": "view", "view_id": "V0"}, "view": {"id": "V0"}}
        viewer = "U0ANY" if self._chance(0.4) else None
        shown = Message(place.id, self._stamp(), BOT_USER, "A card.", viewer=viewer)
        return payloads.in_message(shown, place)

    def _stamp(self) -> str:
        """Of now, or of long ago."""
        ago = self._random.choice((0, 0, 0, 40, 90_000, 40_000_000))
        return f"{datetime.now(UTC).timestamp() - ago:.6f}"

    def _forged(self, action: str, value: str) -> tuple[str, str]:
        match self._random.randrange(7):
            case 0:
                return self._random.choice([*ACTIONS, "train.gone", "again", "", ":2"]), value
            case 1:
                return action, self._random.choice(self._buttons)[1]
            case 2:
                return f"{action}:{self._random.randrange(9)}", value
            case 3 | 4:
                return action, self._cut(value)
            case 5:
                return action, self._word()
            case _:
                return action, self._reshaped(value)

    def _reshaped(self, value: str) -> str:
        """JSON with one of its values replaced by something of another kind or size."""
        try:
            told = json.loads(value)
        except ValueError:
            return f"{value} {self._word()}"
        if not isinstance(told, dict) or not told:
            return value
        odd: list[Any] = [None, "", -1, 10**30, 1e308, [], {}, True, self._word(), "9" * 50]
        told[self._random.choice(list(told))] = self._random.choice(odd)
        return json.dumps(told)

    # What Slack sends besides

    def _other(self, user: User, place: Channel) -> Act:
        """Submitted views, shortcuts, and events of which nothing is to come."""
        kinds = ("view_submission", "view_closed", "shortcut", "message_action", "block_suggestion")
        kind = self._random.choice((*kinds, "reaction_added", "message_changed"))
        if kind in kinds:
            payload = payloads.interaction(kind, "token", user) | {"trigger_id": self._id()}
            view = {"id": "V0", "type": "modal", "callback_id": "train.submit", "state": {}}
            payload |= {"view": view, "callback_id": self._random.choice(ACTIONS)}
            return Act(user.id, "interactive", payload)
        inner: Json = {"type": kind, "user": user.id, "channel": place.id, "ts": self._stamp()}
        if kind == "message_changed":
            inner |= {"type": "message", "subtype": kind}
        payload = payloads.event("token", inner, 0, is_shared=False)
        payload["event_id"] = f"Ev{self._id()}"
        return Act(user.id, "events_api", payload)


def _in_name_of(payload: Json, person: str, trigger: str) -> Json:
    """The payload as if another person had caused it, for the first time."""
    told = dict(payload)
    if "event" in told:
        inner = {**told["event"], "user": person}
        return {**told, "event": inner, "event_id": f"Ev{trigger}"}
    told["trigger_id"] = trigger
    if "user_id" in told:
        return {**told, "user_id": person}
    return {**told, "user": {**told["user"], "id": person}}
