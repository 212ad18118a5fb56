"""Long-running operations: accepted at once, done after a while, and asked after meanwhile."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from playground.arm.errors import missing

Json = dict[str, Any]
Outcome = Literal["Succeeded", "Failed", "Canceled", "never"]
_USUAL = timedelta(seconds=10)  # as in the recording of a pool change
_NEVER_ENDED = "0001-01-01T00:00:00Z"


@dataclass
class Operation:
    """One operation; `word` is what its status says meanwhile, which is not standard."""

    word: str
    resource: str
    started_at: datetime
    ends_at: datetime
    outcome: Outcome
    finish: Callable[[], None]
    give_up: Callable[[], None]
    result: Callable[[], Json]
    name: str = field(default_factory=lambda: str(uuid.uuid4()))
    status: str = ""

    def seen(self, now: datetime) -> None:
        """Ends it when its time has come."""
        if self.status or self.outcome == "never" or now < self.ends_at:
            return
        self.status = self.outcome
        (self.finish if self.outcome == "Succeeded" else self.give_up)()

    def as_json(self, path: str) -> Json:
        """How far it is."""
        told: Json = {
            "id": path,
            "name": self.name,
            "status": self.status or self.word,
            "startTime": _stamp(self.started_at),
            "endTime": _stamp(self.ends_at) if self.status else _NEVER_ENDED,
            "percentComplete": 100.0 if self.status else 0.0,
            "properties": {"resourceName": self.resource},
        }
        if self.status == "Failed":
            words = "An internal error occurred. Retry the operation."
            told["error"] = {"code": "InternalServerError", "message": words}
        return told


class Operations:
    """All that were begun; `outcomes` are those of the next ones, `takes` their length.

    `elsewhere` is the server that they are said to be at, where that is not this one.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.outcomes: list[Outcome] = []
        self.takes = _USUAL
        self.elsewhere = ""
        self._now = now
        self.all: dict[str, Operation] = {}

    def begin(
        self,
        about: tuple[str, str],
        finish: Callable[[], None],
        give_up: Callable[[], None],
        result: Callable[[], Json],
    ) -> Operation:
        """Accepts one; `about` is its word and the resource it works on."""
        now = self._now()
        outcome = self.outcomes.pop(0) if self.outcomes else "Succeeded"
        begun = Operation(*about, now, now + self.takes, outcome, finish, give_up, result)
        self.all[begun.name] = begun
        return begun

    def settle(self) -> None:
        """Ends those whose time has come."""
        for each in self.all.values():
            each.seen(self._now())

    def get(self, name: str) -> Operation:
        """One of them; ArmError where there is none."""
        if name not in self.all:
            raise missing("locations/operationResults", name)
        return self.all[name]


def _stamp(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
