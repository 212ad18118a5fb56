"""The due loop: takes due rows and runs one step of their controller for each."""

import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from random import SystemRandom

import structlog
from sqlmodel import Session

from bot.clock import Clock
from bot.database.database import Database
from bot.errors import DatabaseError, OutsideError
from bot.reconcile import due
from bot.reconcile.controller import Controller, Step, Trouble, nothing
from bot.threads import EssentialThread, Workers

log = structlog.get_logger()

_POLL_SECONDS = 1.0
_LONGEST_BACK_OFF_SECONDS = 300.0
_RESTS = 4.0
# No call lasts that long, and a row's lease ends long before.
_LONGEST_STEP_SECONDS = 600.0
_chance = SystemRandom()


class Loop:
    """Takes due rows one step at a time, in a few threads, until stopped.

    Any number of processes may run one against the same database. `workers` caps all steps
    of this process, `per_lane` those that wait for the same outside thing.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        controllers: Sequence[Controller],
        *,
        workers: int = 8,
        per_lane: int = 4,
    ) -> None:
        self._database = database
        self._clock = clock
        self._controllers: Mapping[str, Controller] = {c.kind: c for c in controllers}
        self._workers = workers
        self._per_lane = per_lane
        self._lanes: Counter[str] = Counter()
        self._changed = threading.Condition()
        self._nudged = True  # what waits from before is looked at at once
        self._steps = Workers("step", workers, limit_seconds=_LONGEST_STEP_SECONDS)
        self._thread = EssentialThread("due-loop", self._pass)
        database.on_commit(self._heard)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of rows that this loop handles."""
        return tuple(self._controllers)

    @property
    def threads(self) -> tuple[EssentialThread, ...]:
        """The essential threads of the loop."""
        return (self._thread, *self._steps.threads)

    def start(self) -> None:
        """Begins to take rows."""
        self._steps.start()
        self._thread.start()

    def stop(self, patience_seconds: float = 40.0) -> None:
        """Takes no more rows and waits for the steps in progress."""
        self._thread.stop()
        with self._changed:
            self._changed.notify_all()
        self._thread.join(patience_seconds)
        self._steps.shutdown(wait=True)

    def nudge(self) -> None:
        """Checks for due rows now instead of at the next poll."""
        with self._changed:
            self._nudged = True
            self._changed.notify_all()

    def is_idle(self) -> bool:
        """Whether no step is in progress in this process."""
        with self._changed:
            return not self._lanes

    def run_due(self) -> int:
        """Takes every row that is due now, one step each, in this thread; how many there were."""
        claims = self._claim(self._workers)
        for held in claims:
            self._step(held)
        return len(claims)

    def _heard(self, topics: frozenset[str]) -> None:
        if due.TOPIC in topics:
            self.nudge()

    def _pass(self) -> None:
        stopping = self._thread.stopping
        with self._changed:
            if not self._nudged and not stopping.is_set():
                self._changed.wait(_POLL_SECONDS)
            if stopping.is_set():
                return
            self._nudged = False
            free = self._workers - self._lanes.total()
        if free > 0:
            begun = time.perf_counter()
            self._take(free)
            # However many steps end, looking takes a fifth of the time, and finds more at once.
            # What changes meanwhile does not even wake this thread.
            rest = _RESTS * (time.perf_counter() - begun)
            stopping.wait(min(rest, _POLL_SECONDS))

    def _take(self, free: int) -> None:
        try:
            claims = self._claim(free)
        except DatabaseError as error:
            log.warning("due rows could not be read", error=error.message)
            return
        for held in claims:
            self._steps.begin(partial(self._step, held))
        if len(claims) == free:
            self.nudge()

    def _claim(self, most: int) -> list[due.Claim]:
        with self._changed:
            wanted = due.ClaimQuery(self.kinds, most, self._per_lane, dict(self._lanes))
        now = self._clock.now()

        def work(session: Session) -> list[due.Claim]:
            return due.claim(session, wanted, now, self._database.real_now(session))

        claims = self._database.transaction(work)
        taken = Counter(held.lane for held in claims)
        with self._changed:
            self._lanes += taken
            # Where a step ended meanwhile there is room that this look did not know of.
            filled = (lane for lane, many in taken.items() if many == wanted.room(lane))
            self._nudged |= any(self._lanes[lane] < self._per_lane for lane in filled)
        return claims

    def _step(self, held: due.Claim) -> None:
        controller = self._controllers[held.kind]
        try:
            self._database.gate.yield_to_foreground()
            self._save(held, controller.step(held.id))
        except due.LostClaimError:
            log.info("a step was overtaken", kind=held.kind, row=held.id)
        except OutsideError as error:
            log.warning("a step failed", kind=held.kind, row=held.id, error=error.message)
            self._back_off(held, controller, error.message)
        except Exception as error:  # noqa: BLE001  # logged, and said on its card
            self._back_off(held, controller, _broke("a step failed unexpectedly", held, error))
        finally:
            self._ended(held)

    def _ended(self, held: due.Claim) -> None:
        """Makes room for another step; only where there was none may a row wait for it."""
        with self._changed:
            is_full = self._lanes[held.lane] >= self._per_lane
            if is_full or self._lanes.total() >= self._workers:
                self._nudged = True
                self._changed.notify_all()
            self._lanes[held.lane] -= 1
            self._lanes += Counter()

    def _save(self, held: due.Claim, step: Step) -> None:
        def work(session: Session) -> None:
            due.settle(session, held, step.again, self._clock.now())
            step.save(session)

        self._database.transaction(work)

    def _back_off(self, held: due.Claim, controller: Controller, sentence: str) -> None:
        """Counts the failure and has the controller note it, or only counts it if that fails."""
        trouble = Trouble(sentence, held.attempts + 1)
        try:
            self._put_off(held, lambda session: controller.on_failure(session, held.id, trouble))
        except (DatabaseError, due.LostClaimError) as error:
            log.warning("a failed step could not be stored", row=held.id, error=str(error))
        except Exception as error:  # noqa: BLE001  # logged
            _broke("storing a failed step failed unexpectedly", held, error)
            self._put_off(held, nothing)

    def _put_off(self, held: due.Claim, note: Callable[[Session], None]) -> None:
        longest = min(_LONGEST_BACK_OFF_SECONDS, 2.0 ** min(held.attempts, 10))
        delay = timedelta(seconds=longest * _chance.uniform(0.5, 1.0))

        def work(session: Session) -> None:
            now = self._clock.now()
            due.back_off(session, held, now + delay, now)
            note(session)

        self._database.transaction(work)


def _broke(event: str, held: due.Claim, error: Exception) -> str:
    """Logs the error; a sentence with the reference under which it is found there."""
    reference = secrets.token_hex(3)
    log.error(event, kind=held.kind, row=held.id, reference=reference, exc_info=error)
    return f"Something went wrong on our side. Reference {reference}."
