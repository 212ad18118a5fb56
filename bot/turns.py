"""Priorities: requests of people go first, background work often enough to make progress."""

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_MOST_IN_A_ROW = 8
_SHARE = 0.2
_CROWD, _SHARE_IN_CROWD = 3, 0.04
_CROWD_EACH_SECOND = 10
_APART_SECONDS, _SHORT_SECONDS = 0.02, 0.001
_LONGEST_SPELL_SECONDS = 0.05
_LONGEST_REST_SECONDS = 2.0
_LINGER_SECONDS = 0.03
_ANSWER_SECONDS = 0.03


class ForegroundGate:
    """Makes background work yield to requests that people wait for.

    Background work calls `give_way` at its natural boundaries, between two steps or two messages.
    While requests are in progress, and for 30 ms after the last one, it then pauses so long that
    all background work together takes a fifth of the time. (A request is often followed by the
    next, and a step that starts between the two delays the second.)

    Slices of 1 ms or more start at least 20 ms apart, since two at once delay a request twice, and
    right after a response, when the next request is farthest off.

    Under high load (three requests waiting at once, or ten within a second) background work takes
    a 25th of the time: each slice then delays a request, and the work can be caught up with later.
    No pause is longer than 2 s, so that leases are renewed and cards make progress under any load.

    A slice counts by its processor time, and for 50 ms at most, so that a long one does not pause
    the other threads for long.
    """

    def __init__(
        self,
        monotonic: Callable[[], float] = time.monotonic,
        worked: Callable[[], float] = time.thread_time,
    ) -> None:
        self._monotonic = monotonic
        self._worked = worked
        self._spell = threading.local()
        self._calm = threading.Condition()
        self._waiting = self._answers = 0
        self._calm_at = self._free_at = -math.inf
        self._came_at = deque[float](maxlen=_CROWD_EACH_SECOND)

    @contextmanager
    def foreground(self) -> Iterator[None]:
        """Marks a request in progress, for which background work yields, while this lasts."""
        with self._calm:
            self._waiting += 1
            self._came_at.append(self._monotonic())
        try:
            yield
        finally:
            with self._calm:
                self._waiting -= 1
                if not self._waiting:
                    self._answers += 1
                    self._calm_at = self._monotonic() + _LINGER_SECONDS
                    self._calm.notify_all()

    def yield_to_foreground(self) -> None:
        """Returns at once if no request waits, else when this thread's next slice is due."""
        spent = self._spent()
        with self._calm:
            if self._seconds_to_calm() > 0:
                self._rest(spent)
            else:
                self._free_at = -math.inf
        self._spell.began = self._worked()

    def _rest(self, spent: float) -> None:
        """Waits until the next slice is due, or until no request waits if that comes first.

        Work that starts while a request is being answered delays only that request.
        """
        self._wait(self._seconds_to_rest(spent), lambda: False)
        # A longer slice would delay the next request, too.
        before = self._answers if spent >= _SHORT_SECONDS else None
        self._wait(_ANSWER_SECONDS, lambda: not self._waiting and self._answers != before)

    def _wait(self, seconds: float, is_time: Callable[[], bool]) -> None:
        due = self._monotonic() + seconds
        while not is_time() and (left := min(due - self._monotonic(), self._seconds_to_calm())) > 0:
            self._calm.wait(left)

    def _seconds_to_calm(self) -> float:
        return math.inf if self._waiting else self._calm_at - self._monotonic()

    def _spent(self) -> float:
        """The processor time of this thread's slice, since it last gave way."""
        spent = self._worked() - getattr(self._spell, "began", self._worked())
        return min(spent, _LONGEST_SPELL_SECONDS)

    def _seconds_to_rest(self, spent: float) -> float:
        """Each slice moves the time at which the next may start; threads queue by it."""
        now = self._monotonic()
        share = _SHARE_IN_CROWD if self._is_crowd(now) else _SHARE
        # Watches have hundreds of events a second, each too short to delay a request.
        apart = 0.0 if spent < _SHORT_SECONDS else _APART_SECONDS
        free_at = max(self._free_at, now - spent) + max(spent / share, apart)
        self._free_at = min(free_at, now + _LONGEST_REST_SECONDS)
        return self._free_at - now

    def _is_crowd(self, now: float) -> bool:
        came = self._came_at
        return self._waiting >= _CROWD or (len(came) == _CROWD_EACH_SECOND and now - came[0] < 1)


class PriorityLock:
    """A lock with two queues: hurried callers first, and after eight of them a patient one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hurried = threading.Condition(self._lock)
        self._patient = threading.Condition(self._lock)
        self._is_taken = False
        self._hurried_waiting = self._patient_waiting = 0
        self._in_a_row = 0

    def take(self, seconds: float, *, hurried: bool) -> bool:
        """Acquires the lock; False if that did not succeed within `seconds`."""
        with self._lock:
            taken = self._wait_hurried(seconds) if hurried else self._wait_patient(seconds)
            if taken:
                self._is_taken = True
                self._in_a_row = self._in_a_row + 1 if hurried else 0
            else:
                self._wake_next()  # this one may have been woken while it gave up
            return taken

    def give_back(self) -> None:
        """Releases the lock."""
        with self._lock:
            self._is_taken = False
            self._wake_next()

    def _wait_hurried(self, seconds: float) -> bool:
        self._hurried_waiting += 1
        try:
            return self._hurried.wait_for(
                lambda: not self._is_taken and not self._is_turn_of_patient(), seconds
            )
        finally:
            self._hurried_waiting -= 1

    def _wait_patient(self, seconds: float) -> bool:
        self._patient_waiting += 1
        try:
            return self._patient.wait_for(
                lambda: (
                    not self._is_taken and (not self._hurried_waiting or self._is_turn_of_patient())
                ),
                seconds,
            )
        finally:
            self._patient_waiting -= 1

    def _is_turn_of_patient(self) -> bool:
        return self._in_a_row >= _MOST_IN_A_ROW and self._patient_waiting > 0

    def _wake_next(self) -> None:
        if self._is_taken:
            return
        if self._hurried_waiting and not self._is_turn_of_patient():
            self._hurried.notify()
        else:
            self._patient.notify()
