"""Essential threads: they survive exceptions of a pass, and their liveness is checked."""

import secrets
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future
from functools import partial
from queue import Empty, Queue
from typing import Any, ParamSpec, TypeVar

import structlog
from typing_extensions import override

log = structlog.get_logger()

P = ParamSpec("P")
T = TypeVar("T")
Work = Callable[[], object]

_LIMIT_SECONDS = 120.0
_IDLE_SECONDS = 5.0
_FIRST_BACK_OFF_SECONDS = 0.5
_LONGEST_BACK_OFF_SECONDS = 30.0


class EssentialThread:
    """Makes passes until it is stopped; one that raises is logged, and the next follows.

    A pass does what there is to do, or waits a moment for it, and returns False when there will be
    no more. It takes no longer than `limit_seconds` of real time, or calls `beat` meanwhile. After
    one that raised comes a pause, and it does not count as made: a thread all of whose passes
    raise is in trouble, too.
    """

    def __init__(
        self, name: str, make_pass: Work, *, limit_seconds: float = _LIMIT_SECONDS
    ) -> None:
        self.name = name
        self.limit_seconds = limit_seconds
        self.stopping = threading.Event()
        self._make_pass = make_pass
        self.passed_at: float | None = None
        """When it last made a pass (monotonic); None before its start."""
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begins to make passes."""
        self._thread.start()
        self.beat()

    def stop(self) -> None:
        """Makes no pass after the one under way, which may wait for `stopping`."""
        self.stopping.set()

    def join(self, seconds: float | None = None) -> None:
        """Waits until it has ended, or as long; one that was never started has ended."""
        if self._thread.is_alive():
            self._thread.join(seconds)

    @property
    def is_alive(self) -> bool:
        """Whether it was started and has not ended."""
        return self._thread.is_alive()

    def beat(self) -> None:
        """Counts as a pass; for one that takes longer than the limit but gets on."""
        self.passed_at = time.monotonic()

    def trouble(self) -> str | None:
        """That the thread died or is stuck in a pass; None while it works, and once stopped."""
        if self.passed_at is None or self.stopping.is_set():
            return None
        if not self._thread.is_alive():
            return "It has ended unexpectedly."
        seconds = time.monotonic() - self.passed_at
        if seconds <= self.limit_seconds:
            return None
        limit = f"its limit is {self.limit_seconds:.0f} s"
        return f"It has completed no pass for {seconds:.0f} s; {limit}."

    def _run(self) -> None:
        try:
            self._make_passes()
        except BaseException:
            log.exception("a thread ended unexpectedly", thread=self.name)

    def _make_passes(self) -> None:
        failures = 0
        while not self.stopping.is_set():
            try:
                if self._make_pass() is False:
                    self.stopping.set()
                self.beat()
                failures = 0
            except Exception:
                failures += 1
                reference = secrets.token_hex(3)
                log.exception("a pass failed unexpectedly", thread=self.name, reference=reference)
                self.stopping.wait(_back_off_seconds(failures))


class Workers(Executor):
    """Essential threads that share what there is to do, each piece once, in order.

    They all begin with `start`, so that none is missing when there is work.
    """

    def __init__(
        self, name: str, many: int, *, limit_seconds: float, idle_seconds: float = _IDLE_SECONDS
    ) -> None:
        self._idle_seconds = idle_seconds
        # Not SimpleQueue: where another thread is quicker at the end of the time-out, its `get`
        # computes a negative one, and waits for good (seen with Python 3.10 to 3.12).
        self._waiting: Queue[Work | None] = Queue()
        self._stopped = threading.Event()
        self.threads = tuple(
            EssentialThread(f"{name}-{number}", self._pass, limit_seconds=limit_seconds)
            for number in range(many)
        )

    def start(self) -> None:
        """Begins to do what is handed over."""
        for thread in self.threads:
            thread.start()

    def begin(self, work: Work) -> None:
        """Queues it; exceptions are logged. It waits for `start`, and is dropped after a stop."""
        self._waiting.put(work)

    @override
    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Queues it and returns a future of its result; RuntimeError after a shutdown."""
        if self._stopped.is_set():
            raise RuntimeError("it was stopped")
        future: Future[T] = Future()
        self.begin(partial(_into, future, partial(fn, *args, **kwargs)))
        # The last thread may have ended before this was queued.
        if self._stopped.is_set() and future.cancel():
            raise RuntimeError("it was stopped")
        return future

    @override
    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the threads once what waits is done, or dropped with `cancel_futures`."""
        self._stopped.set()
        while cancel_futures and self._dropped():
            pass
        self._waiting.put(None)
        for thread in self.threads if wait else ():
            thread.join()

    def _dropped(self) -> bool:
        try:
            work = self._waiting.get_nowait()
        except Empty:
            return False
        if isinstance(work, partial) and work.func is _into:
            work.args[0].cancel()
        return True

    def _pass(self) -> bool:
        try:
            work = self._waiting.get(timeout=self._idle_seconds)
        except Empty:
            return True
        if work is None:
            self._waiting.put(None)  # for the next of the threads
            return False
        try:
            work()
        except Exception:
            log.exception("work in a thread failed unexpectedly", reference=secrets.token_hex(3))
        return True


def troubles(threads: Iterable[EssentialThread]) -> dict[str, str]:
    """The problems of threads, by name."""
    told = ((thread.name, thread.trouble()) for thread in threads)
    return {name: trouble for name, trouble in told if trouble is not None}


def in_thread(work: Callable[[], T]) -> "Future[T]":
    """The future of this work, done in a thread of its own that delays no end of the process."""
    future: Future[T] = Future()
    threading.Thread(target=_into, args=(future, work), daemon=True).start()
    return future


def _into(future: "Future[Any]", work: Work) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:  # noqa: BLE001  # told to whoever asks the future
        future.set_exception(error)
    else:
        future.set_result(result)


def _back_off_seconds(failures: int) -> float:
    return float(
        min(_FIRST_BACK_OFF_SECONDS * 2 ** min(failures - 1, 10), _LONGEST_BACK_OFF_SECONDS)
    )
