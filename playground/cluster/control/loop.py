"""The loop that moves the cluster: controllers, what they have to look at, and when again."""

import heapq
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Protocol

from playground.cluster.objects.store import Change, Key

LIMIT = 50_000


class Controller(Protocol):
    """Moves objects of one sort towards what they ask for."""

    def wants(self, change: Change) -> Iterable[Key]:
        """What has to be looked at after a change."""
        ...

    def reconcile(self, key: Key) -> None:
        """Takes all steps that can be taken now; doing it twice does nothing more."""
        ...


class Loop:
    """Runs controllers until nothing changes, event after event up to the present.

    Time inside the loop lags behind the clock and is moved from one event to the next, so
    that a day jumped over is lived through slot by slot with right timestamps.
    """

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self.present = clock()
        self._clock = clock
        self._controllers: list[Controller] = []
        self._awake: list[Callable[[], bool]] = []
        self._dirty: list[dict[Key, None]] = []
        self._agenda: list[tuple[datetime, int, int, Key]] = []
        self._wakes: dict[tuple[int, Key], datetime] = {}
        self._order = count()
        self._running = False

    def add(self, controller: Controller, awake: Callable[[], bool] = lambda: True) -> None:
        """Puts a controller to work while it is awake; earlier ones run before later ones."""
        self._controllers.append(controller)
        self._awake.append(awake)
        self._dirty.append({})

    def heard(self, change: Change) -> None:
        """Notes who has to look because of a change."""
        for index, controller in enumerate(self._controllers):
            for key in controller.wants(change) if self._awake[index]() else ():
                self._dirty[index][key] = None

    def mark(self, controller: Controller, key: Key) -> None:
        """Has a controller look at something at the next opportunity."""
        self._dirty[self._controllers.index(controller)][key] = None

    def wake(self, controller: Controller, key: Key, moment: datetime | None) -> None:
        """Has a controller look again at a moment; None takes the wish back."""
        index = self._controllers.index(controller)
        if moment is None:
            self._wakes.pop((index, key), None)
        elif self._wakes.get((index, key)) != moment:
            self._wakes[index, key] = moment
            heapq.heappush(self._agenda, (moment, next(self._order), index, key))

    def next_event(self) -> datetime | None:
        """When the world will change by itself next."""
        while self._agenda:
            moment, _, index, key = self._agenda[0]
            if self._wakes.get((index, key)) == moment:
                return moment
            heapq.heappop(self._agenda)
        return None

    def due(self) -> bool:
        """Whether something has to be done before the world may be looked at."""
        upcoming = self.next_event()
        return any(self._dirty) or (upcoming is not None and upcoming <= self._clock())

    def settle(self) -> None:
        """Brings the cluster to the present."""
        if self._running:
            return
        self._running = True
        try:
            self._catch_up(self._clock())
        finally:
            self._running = False

    def _catch_up(self, target: datetime) -> None:
        self._run()
        while (upcoming := self.next_event()) is not None and upcoming <= target:
            self.present = max(self.present, upcoming)
            self._take_due()
            self._run()
        self.present = max(self.present, target)

    def _take_due(self) -> None:
        while (upcoming := self.next_event()) is not None and upcoming <= self.present:
            _, _, index, key = heapq.heappop(self._agenda)
            del self._wakes[index, key]
            self._dirty[index][key] = None

    def _run(self) -> None:
        for _ in range(LIMIT):
            index = next((i for i, dirty in enumerate(self._dirty) if dirty), None)
            if index is None:
                return
            key = next(iter(self._dirty[index]))
            del self._dirty[index][key]
            if self._awake[index]():
                self._controllers[index].reconcile(key)
        raise RuntimeError("the cluster does not settle")


def moment_of(text: str) -> datetime:
    """The moment a Kubernetes timestamp names."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def seconds(number: float) -> timedelta:
    """That many seconds."""
    return timedelta(seconds=number)
