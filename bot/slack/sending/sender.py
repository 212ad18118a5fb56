"""The sender: shows message rows in Slack, each once and in time."""

import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

import structlog
from sqlmodel import Session

from bot.config import Settings
from bot.database.database import Database
from bot.database.leases import Lease
from bot.errors import ChatError, DatabaseError
from bot.slack import metrics
from bot.slack.client import SlackClient
from bot.slack.messages import TOPIC, Message, Renderer
from bot.slack.sending.budgets import Budgets
from bot.slack.sending.delivery import Delivery, Job
from bot.slack.sending.delivery_rules import DeliveryContext, Step, decide
from bot.slack.sending.outbox import Outbox, PendingMessage
from bot.slack.sending.rendering import Rendered, broken, render
from bot.threads import EssentialThread, Workers

log = structlog.get_logger()

LEASE_SECONDS = 30.0
_POLL_SECONDS = 1.0
_SHORTEST_WAIT_SECONDS = 0.05
_STUCK_SECONDS = 60.0
_RESTS = 4.0
_WORKERS = 4
_HELD_SECONDS = 0.1
_BROKEN_SECONDS = 60.0
_LONGEST_SENDING_SECONDS = 300.0

MayRead = Callable[[Session, str, str], bool]
"""Whether a person may read the runs of a team at this moment."""


class Sender:
    """Sends due messages while this process holds the lease `sender`.

    Any number of processes may run one. Nothing here uses the bot's shiftable clock: leases
    and back-off live on database time, budgets on `monotonic`. `refuse` raises ChatError for a
    channel in which nothing may be shown. `may_read` says whether a person may still read the runs
    of a team; without it, messages that depend on this are not posted.
    """

    def __init__(
        self,
        database: Database,
        client: SlackClient,
        renderers: Mapping[str, Renderer],
        settings: Callable[[], Settings],
        *,
        monotonic: Callable[[], float] = time.monotonic,
        refuse: Callable[[str], None] = lambda _channel: None,
        may_read: MayRead = lambda _session, _person, _team: False,
    ) -> None:
        self._database = database
        self._renderers = renderers
        self._settings = settings
        self._may_read = may_read
        self._monotonic = monotonic
        self._lease = Lease(database, "sender", LEASE_SECONDS, monotonic)
        self._outbox = Outbox(database, self._lease, renderers)
        self.budgets = Budgets(monotonic)
        """What the process may ask of Slack; others that write there take from the same."""
        self._delivery = Delivery(
            self._outbox, client, self.budgets, self._rendered, self._lease.remaining, refuse
        )
        self._changed = threading.Condition()
        self._busy: dict[str, str] = {}
        self._later: dict[str, float] = {}
        self._nudged = False
        self._pause = 0.0
        self._looked_at = monotonic()
        self._sending = Workers("send", _WORKERS, limit_seconds=_LONGEST_SENDING_SECONDS)
        self._keeper = EssentialThread("sender", self._turn)
        self.threads = (self._keeper, *self._sending.threads)
        database.on_commit(self._heard)

    def start(self) -> None:
        """Starts sending."""
        self._sending.start()
        self._keeper.start()

    def stop(self) -> None:
        """Finishes the requests in flight and releases the lease."""
        self._keeper.stop()
        self._nudge()
        self._keeper.join()
        self._sending.shutdown(wait=True)
        try:
            self._lease.release()
        except DatabaseError as error:
            log.warning("the sender's lease could not be released", error=error.message)

    def send_due(self) -> int:
        """Sends all that may be sent now, in this thread; how many steps that took."""
        taken = 0
        while self._lease.renew():
            jobs = list(self._sendable(self._jobs()))
            for job in jobs:
                self._work(job)
            if not jobs:
                break
            taken += len(jobs)
        return taken

    def is_quiet(self) -> bool:
        """Whether nothing is in flight and nothing waits that could be sent now.

        What Slack keeps back, or what failed and is tried again later, does not count.
        """
        # A message waits, is taken, is posted: asked in this order, none slips through between.
        waits = any(
            job.call.is_urgent or self.budgets.wait_seconds(job.call) == 0
            for job in self._jobs()
            if not self.budgets.is_held(job.call)
        )
        if waits or self._outbox.is_in_doubt():
            return False
        with self._changed:
            return not self._busy

    def lease_seconds(self) -> float:
        """How long this process may write to Slack for certain; 0 or less if it may not."""
        return self._lease.remaining()

    def depth(self) -> int:
        """The number of messages whose current state is not shown yet."""
        depth = self._outbox.depth()
        metrics.OUTBOX.set(depth)
        return depth

    def health(self) -> str | None:
        """What keeps messages from being sent, None when nothing does."""
        if self._monotonic() - self._looked_at > _STUCK_SECONDS:
            return "The sender has not checked for messages for a minute."
        return self._delivery.trouble

    def _heard(self, topics: frozenset[str]) -> None:
        if TOPIC in topics:
            self._nudge()

    def _nudge(self) -> None:
        with self._changed:
            self._nudged = True
            self._changed.notify_all()

    def _turn(self) -> None:
        stopping = self._keeper.stopping
        with self._changed:
            if not self._nudged and not stopping.is_set() and self._pause > 0:
                self._changed.wait(self._pause)
            if stopping.is_set():
                return
            self._nudged = False
        self._database.gate.yield_to_foreground()
        begun = time.perf_counter()
        try:
            pause, is_held = self._pass()
        except DatabaseError as error:
            log.warning("messages could not be read", error=error.message)
            pause, is_held = _POLL_SECONDS, False
        # However much changes, looking takes a fifth of the time: people are answered too.
        # What changes meanwhile does not even wake this thread.
        rest = _RESTS * (time.perf_counter() - begun)
        rest = max(rest, min(pause, _HELD_SECONDS)) if is_held else rest
        stopping.wait(rest)
        self._pause = max(pause - rest, 0)

    def _pass(self) -> tuple[float, bool]:
        """Hands out what may be sent now; how long to wait, and whether all that is left has to."""
        if not self._lease.renew():
            self._looked_at = self._monotonic()
            return _POLL_SECONDS, False
        jobs = list(self._jobs())
        for job in self._sendable(jobs):
            with self._changed:
                if len(self._busy) >= _WORKERS:
                    break
                self._busy[job.row.id] = job.call.channel
            self._sending.begin(partial(self._work, job))
        waits = [self.budgets.wait_seconds(job.call) for job in jobs]
        soonest = min((wait for wait in waits if wait > 0), default=_POLL_SECONDS)
        pause = min(max(soonest, _SHORTEST_WAIT_SECONDS), _POLL_SECONDS)
        return pause, bool(waits) and min(waits) > 0

    def _sendable(self, jobs: Iterable[Job]) -> Iterator[Job]:
        """Those within the budget, one for each channel that is not busy."""
        with self._changed:
            channels, later = set(self._busy.values()), dict(self._later)
        for job in jobs:
            call = job.call
            if later.get(job.row.id, 0.0) > self._monotonic():
                continue
            if call.channel not in channels and self.budgets.wait_seconds(call) == 0:
                channels.add(call.channel)
                yield job

    def _jobs(self) -> Iterator[Job]:
        """What waiting messages are to do next, most urgent first."""
        waiting, now = self._outbox.waiting()
        self._looked_at = self._monotonic()
        world = DeliveryContext(now, self._settings().slack.admin_channel)
        for each in waiting:
            step = self._decided(each, world)
            if step is not None:
                yield Job(each.row, step, world)

    def _decided(self, waiting: PendingMessage, world: DeliveryContext) -> Step | None:
        """What to do with a message; nothing with one that breaks, for the sake of the others."""
        try:
            return decide(waiting.row, waiting.parent, world)
        except Exception as error:  # noqa: BLE001  # logged
            if self._later.get(waiting.row.id, 0.0) <= self._monotonic():
                self._later[waiting.row.id] = self._monotonic() + _BROKEN_SECONDS
                _broke(waiting.row.id, error)
            return None

    def _work(self, job: Job) -> None:
        later = 0.0
        try:
            self._database.gate.yield_to_foreground()
            self._delivery.carry_out(job)
        except DatabaseError as error:
            log.warning(
                "the state of a message could not be stored",
                message=job.row.id,
                error=error.message,
            )
            later = self._monotonic() + _POLL_SECONDS
        except Exception as error:  # noqa: BLE001  # logged
            later = self._put_off(job, _broke(job.row.id, error))
        finally:
            with self._changed:
                self._busy.pop(job.row.id, None)
                self._later.pop(job.row.id, None)
                if later:
                    self._later[job.row.id] = later
                self._nudged = True
                self._changed.notify_all()

    def _put_off(self, job: Job, reference: str) -> float:
        """Has its row say when to try again; until when it rests if that cannot be, else 0."""
        sentence = f"Something went wrong on our side. Reference {reference}."
        try:
            self._delivery.failed(job, ChatError(sentence, code="broken"))
        except Exception as error:  # noqa: BLE001  # logged
            _broke(job.row.id, error)
            return self._monotonic() + _BROKEN_SECONDS
        return 0.0

    def _rendered(self, message_id: str) -> Rendered:
        """The content of a message; a card that cannot be rendered says so."""
        try:
            return self._database.read(lambda session: self._current(session, message_id))
        except DatabaseError:
            raise
        except Exception:
            reference = secrets.token_hex(3)
            log.exception("a card could not be rendered", message=message_id, reference=reference)
        return self._database.read(lambda session: broken(session, message_id, reference))

    def _current(self, session: Session, message_id: str) -> Rendered:
        """The content of a message; nothing of one whose reader may not have it any more."""
        row = session.get_one(Message, message_id)
        if row.team is not None and not self._may_read(session, row.channel, row.team):
            return Rendered(None, row.wants)
        return render(session, self._renderers, message_id)


def _broke(message_id: str, error: Exception) -> str:
    """Logs the error; the reference under which it is found there."""
    reference = secrets.token_hex(3)
    log.error(
        "a message failed unexpectedly", message=message_id, reference=reference, exc_info=error
    )
    return reference
