"""Every request the bot makes of the outside world, numbered, with faults set by number or name."""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum


class Fault(StrEnum):
    """What happens to one request instead of a plain answer."""

    KILL_BEFORE = "kill-before"  # the bot dies, the request has no effect
    KILL_AFTER = "kill-after"  # the effect happens, then the bot dies without the answer
    LOSE_ANSWER = "lose-answer"  # the effect happens, the connection closes, the bot lives
    REFUSE = "refuse"  # the connection closes before any effect, the bot lives


@dataclass(frozen=True)
class Request:
    """One request of the bot; only those with an effect carry a number (counted from 1)."""

    service: str
    name: str
    about: str
    number: int | None


@dataclass
class Ledger:
    """The record of requests, and the faults that wait for them.

    A server asks `arrived` before it acts, and `answered` once the effect has happened; each
    returns True when the connection is to be closed without an answer. `by_turn` has faults for the
    second request of a name, or the fifth (counted from 1); a name may be followed by what the
    request is about. `struck` has the requests that met one.
    """

    kill: Callable[[], Awaitable[None]] | None = None
    requests: list[Request] = field(default_factory=list)
    by_number: dict[int, Fault] = field(default_factory=dict)
    by_name: dict[str, list[Fault]] = field(default_factory=dict)
    by_turn: dict[tuple[str, int], Fault] = field(default_factory=dict)
    struck: list[Request] = field(default_factory=list)
    _numbered: int = 0
    _turns: Counter[str] = field(default_factory=Counter)

    def open(self, service: str, name: str, about: str, *, effect: bool) -> Request:
        """Records a request and numbers it if it changes something outside the bot."""
        self._numbered += effect
        request = Request(service, name, about, self._numbered if effect else None)
        self.requests.append(request)
        for called in (name, f"{name} {about}"):
            self._turns[called] += 1
            fault = self.by_turn.get((called, self._turns[called]))
            if fault is not None and request.number is not None:
                self.by_number[request.number] = fault
        return request

    async def arrived(self, request: Request) -> bool:
        """Whether the request is to die before it has any effect."""
        fault = self._fault(request)
        if fault is Fault.KILL_BEFORE:
            await self._kill(request)
            return True
        if fault is Fault.REFUSE:
            self._spend(request)
            return True
        return False

    async def answered(self, request: Request) -> bool:
        """Whether the answer is to be lost, now that the effect has happened."""
        fault = self._fault(request)
        if fault is Fault.KILL_AFTER:
            await self._kill(request)
            return True
        if fault is Fault.LOSE_ANSWER:
            self._spend(request)
            return True
        return False

    def _fault(self, request: Request) -> Fault | None:
        if request.number is not None and request.number in self.by_number:
            return self.by_number[request.number]
        waiting = self.by_name.get(request.name)
        return waiting[0] if waiting else None

    def _spend(self, request: Request) -> None:
        self.struck.append(request)
        if request.number is not None and request.number in self.by_number:
            del self.by_number[request.number]
        else:
            self.by_name[request.name].pop(0)

    async def _kill(self, request: Request) -> None:
        self._spend(request)
        if self.kill is not None:
            await self.kill()
