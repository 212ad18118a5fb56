"""Whether everything is true once all is quiet: what people were told, cards, quotas, files."""

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from playground.bucket import CACHES, NAMESPACE, Bucket
from playground.world import World
from tests.handlers.command_client import APPROVALS, TEAM_A
from tests.machine.outside import Outside
from tests.soak.people import People

THROUGHPUT = 40
"""MiB/s of volume scratch when nobody has asked for more."""
LIVES_END = ("Stopped", "Succeeded", "Failed", "Lost", "Expired")
_ENDED = re.compile("Stopped|Succeeded|Failed")
_REASON = re.compile(r"Reason\W+(soak-\d+)")
_DIGEST = re.compile(r"GPUs, \w+day ")
_SHOWN = {
    f" on {CACHES}": ("Ready", "Not cached", "Evicted"),
    "@v1": ("Recorded", "Not recorded", "Unchanged"),
    " MiB/s": ("Active", "Reverted", "Undone", "Failed", "Expired", "Not applied"),
}
"""How the state of a card begins when all is quiet, by the end of its title."""

Card = tuple[str, str]


@dataclass
class Judge:
    """Looks at everything from outside, and at the database for what is still to be sent."""

    world: World
    outside: Outside
    people: People
    database: Path
    bucket: Bucket
    contents: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """The files of each dataset."""
    errors: list[str] = field(default_factory=list)
    _log_read: int = 0

    def wrong(self) -> str:
        """What is wrong now that all is quiet; empty where nothing is."""
        self.people.hear()
        states, counted = self._cards()
        found = (
            self.outside.wrong_now()
            or self.outside.wrong_at_rest(self.world.clock.now())
            or self._wrong_counts(counted)
            or self._wrong_states(states)
            or self._wrong_volume(states)
            or self._wrong_caches(states)
            or self.unsent()
        )
        return found or self._said()

    def live_runs(self) -> list[str]:
        """The runs that have not ended, by their cards."""
        states, _ = self._cards()
        own = {act.card for act in self.people.acts if act.verb == "/train submit"}
        return [
            title
            for (channel, title), state in states.items()
            if channel == TEAM_A and title in own and not state.startswith(LIVES_END)
        ]

    def _cards(self) -> tuple[dict[Card, str], Counter[Card]]:
        """The state of each card, and how many there are; by channel and title, or reason."""
        states: dict[Card, str] = {}
        counted: Counter[Card] = Counter()
        for message in self.outside.messages():
            if message.is_reply or message.viewer:
                continue
            text = self.world.slack.text_of(message)
            first, _, state = text.partition("\n")[0].partition(" · ")
            title = re.sub(r"^\W+", "", first)
            reason = _REASON.search(text)
            key = (message.channel, reason[1] if reason else title)
            states[key] = state.rstrip("*")
            counted[key] += 1
        return states, counted

    def _wrong_counts(self, counted: Mapping[Card, int]) -> str:
        """Each thing that was acknowledged is there once; one in doubt is there at most once."""
        asked: Counter[Card] = Counter()
        heard: Counter[Card] = Counter()
        for act in self.people.acts:
            if act.card:
                is_request = act.verb == "/quota request"
                key = (APPROVALS if is_request else TEAM_A, act.card)
                asked[key] += 1
                heard[key] += act.is_heard
        for key, most in asked.items():
            if not heard[key] <= counted[key] <= most:
                return f"{key}: {heard[key]} were acknowledged, {counted[key]} are there"
        digests = [key for key, many in counted.items() if many > 1 and _DIGEST.match(key[1])]
        return f"digests twice: {digests}" if digests else ""

    def _wrong_states(self, states: Mapping[Card, str]) -> str:
        for name in self.people.stopped:
            state = states.get((TEAM_A, name), "")
            if not _ENDED.search(state):
                return f"{name} was to stop: {state}"
        for card in self.people.decided:
            if "Waiting for approval" in self.world.slack.text_of(card).partition("\n")[0]:
                return f"Carol has decided, and the card says {card.text}"
        for (_, title), state in states.items():
            for end, allowed in _SHOWN.items():
                if title.endswith(end) and not state.startswith(allowed):
                    return f"the card of {title} says {state!r} while all is quiet"
        return ""

    def _wrong_volume(self, states: Mapping[Card, str]) -> str:
        assert self.world.azure is not None
        active = [
            title
            for (channel, title), state in states.items()
            if channel == TEAM_A and title.endswith(" MiB/s") and state.startswith("Active")
        ]
        wanted = [int(title.split()[-2]) for title in active] or [THROUGHPUT]
        (volume,) = [v for v in self.world.azure.estate.volumes if v.name == "scratch"]
        return "" if [volume.own_throughput] == wanted else (
            f"scratch has {volume.own_throughput} MiB/s, cards say {active}"
        )  # fmt: skip

    def _wrong_caches(self, states: Mapping[Card, str]) -> str:
        there = [
            self._files(claim["metadata"]["name"])
            for claim in self.world.cluster.list("persistentvolumeclaims", NAMESPACE)
        ]
        for (_, title), state in states.items():
            dataset = title.partition("@")[0]
            if title.endswith(f" on {CACHES}") and state.startswith("Ready"):
                copies = there.count(self.contents[dataset])
                if copies != 1:
                    return f"{title} is {state}, and {copies} PVCs have its files: {there}"
        return ""

    def _files(self, claim: str) -> dict[str, bytes]:
        root = self.world.cluster.programs.volume(NAMESPACE, claim) / "ready" / "files"
        found = (each for each in sorted(root.rglob("*")) if each.is_file())
        return {each.relative_to(root).as_posix(): each.read_bytes() for each in found}

    def unsent(self) -> str:
        """What the bot has still to send, or never will."""
        query = "SELECT count(*) FILTER (WHERE wants > shown AND NOT is_dead)"
        with closing(sqlite3.connect(self.database, timeout=30)) as rows:
            waiting, dead = rows.execute(
                f"{query}, count(*) FILTER (WHERE is_dead) FROM messages"  # ours
            ).fetchone()
        if dead:
            return f"{dead} messages were given up"
        return f"{waiting} messages are still to be sent" if waiting else ""

    def _said(self) -> str:
        """What people or logs must never say."""
        with self.world.bot.log.open("rb") as log:
            log.seek(self._log_read)
            lines = log.read().decode("utf-8", "replace").splitlines()
            self._log_read = log.tell()
        self.errors += [line for line in lines if _is_error(line)]
        wrong = [*self.people.wrong, *self.errors]
        return f"{len(wrong)} errors: {wrong[:3]}" if wrong else ""


def _is_error(line: str) -> bool:
    try:
        told = json.loads(line)
    except ValueError:
        return line.startswith("Traceback")
    return isinstance(told, dict) and told.get("level") in {"error", "critical"}
