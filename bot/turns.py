"""Who goes first: people who wait for an answer, and the rest often enough to get on."""

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


class Courtesy:
    """How work that nobody waits for gives way to requests that people wait for.

    Such work says at its natural boundaries, between two steps or two messages, that it would
    give way. While people wait it then rests so long that all of it together takes a fifth of
    the time, and for 30 ms more, since people who asked one thing ask the next, and a step that
    began between two requests holds up the second. Spells of a millisecond or more begin 20 ms
    apart, as two of them at once hold up a request twice, and right after an answer, when the
    next request is farthest off. While there is a crowd, three who wait
    at once or ten that came within a second, all of them take a 25th, since then each spell holds
    up somebody, and can be caught up with once they are answered; but nobody rests longer than
    2 s, so that leases are kept and every card gets on however long the crowd stays. A spell of
    work counts by its processor time, and for 50 ms at most, so that whoever works long does not
    hold up the rest for long.
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
    def hurry(self) -> Iterator[None]:
        """Somebody waits for an answer while this lasts."""
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

    def give_way(self) -> None:
        """Returns at once when nobody waits, else when this thread's next spell is due."""
        spent = self._spent()
        with self._calm:
            if self._seconds_to_calm() > 0:
                self._rest(spent)
            else:
                self._free_at = -math.inf
        self._spell.began = self._worked()

    def _rest(self, spent: float) -> None:
        """Waits until the next spell is due, or until nobody waits if that comes before.

        Work that begins while somebody's answer is under way holds up just that one.
        """
        self._wait(self._seconds_to_rest(spent), lambda: False)
        # What takes longer would hold up the one who comes next, too.
        before = self._answers if spent >= _SHORT_SECONDS else None
        self._wait(_ANSWER_SECONDS, lambda: not self._waiting and self._answers != before)

    def _wait(self, seconds: float, is_time: Callable[[], bool]) -> None:
        due = self._monotonic() + seconds
        while not is_time() and (left := min(due - self._monotonic(), self._seconds_to_calm())) > 0:
            self._calm.wait(left)

    def _seconds_to_calm(self) -> float:
        return math.inf if self._waiting else self._calm_at - self._monotonic()

    def _spent(self) -> float:
        """The processor time of this thread's spell, which began when it gave way last."""
        spent = self._worked() - getattr(self._spell, "began", self._worked())
        return min(spent, _LONGEST_SPELL_SECONDS)

    def _seconds_to_rest(self, spent: float) -> float:
        """Each spell moves the moment at which the next may begin; threads queue by it."""
        now = self._monotonic()
        share = _SHARE_IN_CROWD if self._is_crowd(now) else _SHARE
        # Watches have hundreds of events a second, each too short to hold anybody up.
        apart = 0.0 if spent < _SHORT_SECONDS else _APART_SECONDS
        free_at = max(self._free_at, now - spent) + max(spent / share, apart)
        self._free_at = min(free_at, now + _LONGEST_REST_SECONDS)
        return self._free_at - now

    def _is_crowd(self, now: float) -> bool:
        came = self._came_at
        return self._waiting >= _CROWD or (len(came) == _CROWD_EACH_SECOND and now - came[0] < 1)


class Turns:
    """A lock with two queues: the hurried come first, and after eight of them one of the rest."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hurried = threading.Condition(self._lock)
        self._patient = threading.Condition(self._lock)
        self._is_taken = False
        self._hurried_waiting = self._patient_waiting = 0
        self._in_a_row = 0

    def take(self, seconds: float, *, hurried: bool) -> bool:
        """Waits for the turn; False when it did not come within so many seconds."""
        with self._lock:
            taken = self._wait_hurried(seconds) if hurried else self._wait_patient(seconds)
            if taken:
                self._is_taken = True
                self._in_a_row = self._in_a_row + 1 if hurried else 0
            else:
                self._wake_next()  # this one may have been woken while it gave up
            return taken

    def give_back(self) -> None:
        """Ends the turn."""
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
