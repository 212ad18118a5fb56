"""Answers that follow an acknowledgement: delivered from a bounded pool, lost without harm."""

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Event, Lock

import structlog

from bot.charts.values import described
from bot.errors import ChatError
from bot.slack import metrics
from bot.slack.blocks import has_new_blocks, reply_blocks, with_plain_tables
from bot.slack.card import Reply
from bot.slack.chart_blocks import Showing, chart_blocks
from bot.slack.client import Destination, Draft, SlackClient
from bot.slack.forms.form import Form
from bot.slack.forms.view import notice_of, view_of
from bot.slack.markup import plain, sentence
from bot.slack.receiving.incoming import Arrival, Incoming
from bot.slack.receiving.pool import BoundedPool
from bot.slack.sending.budgets import POST, Budgets, Call
from bot.slack.sending.delivery_rules import BAD_BLOCKS
from bot.slack.text import reply_text
from bot.slack.web_api import RATE_LIMITED, refused
from bot.threads import Workers

log = structlog.get_logger()

DEADLINE_SECONDS = 30.0
_LONGEST_ANSWER_SECONDS = 600.0
_MOST_FORMS = 1_000
_MOST_WAITING = 3

Answer = Callable[[Incoming], Reply | None]
_NOT_SHARED = sentence(
    "This may not have been shared. If it is not in the channel, click Share again."
)
_NOT_OPENED = sentence("Slack did not open your direct messages with the bot. Try again.")
_BUSY = sentence("Too many requests are in progress. Try again in a moment.")


class FormChanges:
    """The newest change of each open form, so that no older one is shown after it."""

    def __init__(self) -> None:
        self._newest: OrderedDict[str, float] = OrderedDict()
        self._lock = Lock()

    def note(self, view_id: str, received: float) -> None:
        """Notes a change."""
        with self._lock:
            self._newest[view_id] = max(received, self._newest.get(view_id, received))
            self._newest.move_to_end(view_id)
            if len(self._newest) > _MOST_FORMS:
                self._newest.popitem(last=False)

    def is_newest(self, view_id: str, received: float) -> bool:
        """Whether no newer change is known."""
        with self._lock:
            return received >= self._newest.get(view_id, received)


class Waiting:
    """How many answers wait for Slack's limit, by channel."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._lock = Lock()

    def begins(self, channel: str) -> bool:
        """Counts one more; False if too many wait in this channel already."""
        with self._lock:
            if self._counts[channel] >= _MOST_WAITING:
                return False
            self._counts[channel] += 1
            return True

    def ends(self, channel: str) -> None:
        """Counts one less."""
        with self._lock:
            self._counts[channel] -= 1
            self._counts += Counter()  # without those at zero


class Answers:
    """Delivers the answers that do not fit into an acknowledgement."""

    def __init__(
        self, client: SlackClient, budgets: Budgets, *, workers: int = 8, most: int = 64
    ) -> None:
        self._client = client
        self._budgets = budgets
        self._workers = Workers("answer", workers, limit_seconds=_LONGEST_ANSWER_SECONDS)
        self.threads = self._workers.threads
        self._pool = BoundedPool(self._workers, most=most)
        self._changes = FormChanges()
        self._ends = Event()
        self._waiting = Waiting()

    def start(self) -> None:
        """Begins to bring answers."""
        self._workers.start()

    @property
    def is_idle(self) -> bool:
        """Whether no answer is being looked up or on its way."""
        return self._pool.is_idle

    def stop(self, patience_seconds: float = 10.0) -> None:
        """Delivers the answers in progress and stops."""
        self._pool.drain(patience_seconds)
        self._ends.set()
        self._pool.stop()

    def send(
        self, incoming: Incoming, reply: Reply, arrival: Arrival, draft: Draft | None = None
    ) -> bool:
        """Brings the reply itself after the acknowledgement; False if the bot is too busy.

        A `draft` of the reply saves making one.
        """
        if not _shows(reply):
            return True
        return self._follow(arrival, lambda: self._deliver(incoming, reply, draft))

    def open_form(self, incoming: Incoming, reply: Reply, arrival: Arrival) -> bool:
        """Opens the reply's form after the acknowledgement; False if the bot is too busy."""
        form, trigger = reply.form, incoming.trigger_id
        if form is None or trigger is None:
            return False
        return self._follow(arrival, lambda: self._open(incoming, reply, form, trigger))

    def _open(self, incoming: Incoming, reply: Reply, form: Form, trigger: str) -> None:
        try:
            self._client.open_view(trigger, view_of(form))
        except ChatError as error:
            # Slack gives three seconds, and takes a trigger once.
            log.warning("a form could not be opened", error=error.message)
            self._deliver(incoming, reply)

    def open_in_direct(self, incoming: Incoming, answer: Answer, arrival: Arrival) -> None:
        """Opens the form of what was started in no channel: its answers are direct messages.

        Slack gives three seconds to open something, so it says that it loads until the form or the
        reason against it is known.
        """
        self._follow(arrival, lambda: self._open_in_direct(incoming, answer))

    def _open_in_direct(self, incoming: Incoming, answer: Answer) -> None:
        view_id = incoming.delivery
        loading = notice_of("Quartermaster", (plain("Loading ..."),))
        with _logged():  # if only the answer was lost, it is open
            self._client.open_view(incoming.trigger_id or "", {**loading, "external_id": view_id})
        view = notice_of("Quartermaster", (_NOT_OPENED,))
        with _logged():
            channel = self._client.open_dm(incoming.person)
            received = time.monotonic()
            reply = answer(replace(incoming, channel=channel, received=received)) or Reply()
            view = view_of(reply.form) if reply.form else notice_of("Quartermaster", reply.lines)
        with _logged():
            self._client.update_own_view(view_id, view)

    def suggest(self, incoming: Incoming, answer: Answer, arrival: Arrival) -> None:
        """Suggests the reply's prompts, to a person who opened their direct messages."""
        self._follow(arrival, lambda: self._suggest(incoming, answer))

    def _suggest(self, incoming: Incoming, answer: Answer) -> None:
        if not self._client.has_agent_view():
            return
        reply = answer(incoming)
        if reply is None or not reply.prompts:
            return
        try:
            self._client.suggest_prompts(incoming.channel, reply.prompts)
        except ChatError as error:
            # Commands work without; the next opening suggests them again.
            log.warning("prompts were not suggested", error=error.message)

    def update_form(self, incoming: Incoming, reply: Reply, arrival: Arrival) -> None:
        """Shows the reply's form in place of the one that was changed."""
        form = reply.form
        if form is not None:
            self._changes.note(incoming.view_id, incoming.received)
            self._follow(arrival, lambda: self._update(incoming, form))

    def _update(self, incoming: Incoming, form: Form) -> None:
        # Slack's hash would refuse the later of two changes that come in quick succession.
        if not self._changes.is_newest(incoming.view_id, incoming.received):
            return
        try:
            self._client.update_view(incoming.view_id, view_of(form))
        except ChatError as error:
            # Most likely it was closed; else the next change brings another update.
            log.info("a form was not updated", error=error.message)

    def promise(self, incoming: Incoming, reply: Reply, arrival: Arrival) -> Reply:
        """The reply; what it looks up follows later, or it says that the bot is too busy."""
        read = reply.later
        if read is None or self._follow(arrival, lambda: self._look_up(incoming, read)):
            return reply
        return replace(reply, lines=(*reply.lines, _BUSY), later=None)

    def _follow(self, arrival: Arrival, work: Callable[[], None]) -> bool:
        slot = self._pool.reserve()
        if slot is None:
            metrics.REFUSED.inc()
            log.warning("too many answers are on their way to take another one")
            return False
        arrival.then.append(lambda: slot.run(work))
        return True

    def _look_up(self, incoming: Incoming, read: Callable[[], Reply]) -> None:
        if time.monotonic() - incoming.received > DEADLINE_SECONDS:
            metrics.LATE_ANSWERS.inc()
            self._deliver(incoming, Reply(lines=(_BUSY,)))
            return
        reply = read()
        if time.monotonic() - incoming.received > DEADLINE_SECONDS:
            metrics.LATE_ANSWERS.inc()
        self._deliver(incoming, reply)

    def _deliver(self, incoming: Incoming, reply: Reply, draft: Draft | None = None) -> None:
        draft = draft or draft_of(incoming, reply)
        try:
            self._say(incoming, draft, for_all=reply.for_all)
        except ChatError as error:
            if error.code in BAD_BLOCKS and has_new_blocks(draft.blocks):
                self._deliver(incoming, reply, plain_draft_of(incoming, reply, draft))
                return
            log.warning(
                "an answer could not be delivered",
                kind=incoming.kind,
                command=incoming.command,
                channel=incoming.channel,
                error=error.message,
            )
            if reply.for_all:
                self._deliver(replace(incoming, response_url=None), Reply((_NOT_SHARED,)))

    def _say(self, incoming: Incoming, draft: Draft, *, for_all: bool) -> None:
        place = Destination(incoming.channel, incoming.thread_ts)
        if incoming.response_url:
            thread = incoming.thread_ts
            self._client.respond(incoming.response_url, draft, thread, for_all=for_all)
        elif _is_elsewhere(incoming):
            self._post(place, draft, incoming.delivery)
        elif self._is_in_agent_view(incoming):
            # Slack shows an ephemeral message only in threads that have replies already.
            thread = incoming.thread_ts or incoming.message_ts
            self._post(replace(place, thread_ts=thread), draft, incoming.delivery)
        else:
            self._client.post_ephemeral(place, incoming.person, draft)

    def _is_in_agent_view(self, incoming: Incoming) -> bool:
        """Whether it is a direct message to the bot, in an app with the agent view."""
        is_direct = incoming.kind == "mention" and incoming.channel.startswith("D")
        return is_direct and self._client.has_agent_view()

    def _post(self, place: Destination, draft: Draft, mark: str) -> None:
        """Posts within Slack's limit, against which cards in the same channel count too."""
        call, latest = Call(POST, place.channel), time.monotonic() + DEADLINE_SECONDS
        while True:
            self._await_turn(call, latest)
            try:
                self._client.post(place, draft, mark=mark)
            except ChatError as error:
                if error.code != RATE_LIMITED:
                    raise
                self._budgets.hold(call, error.retry_after_seconds)
            else:
                return
            finally:
                self._budgets.ends(call)

    def _await_turn(self, call: Call, latest: float) -> None:
        """ChatError if it is not this call's turn by `latest`, of the monotonic clock."""
        if self._budgets.take(call):
            return
        # One person who clicks without end must not keep all workers waiting.
        if not self._waiting.begins(call.channel):
            raise refused(call.method, RATE_LIMITED)
        try:
            self._wait_turn(call, latest)
        finally:
            self._waiting.ends(call.channel)

    def _wait_turn(self, call: Call, latest: float) -> None:
        while not self._budgets.take(call):
            seconds = self._budgets.wait_seconds(call)
            if time.monotonic() + seconds > latest or self._ends.wait(seconds):
                raise refused(call.method, RATE_LIMITED)


def _is_elsewhere(incoming: Incoming) -> bool:
    """Whether the person may look at another tab, so that an ephemeral message goes unseen."""
    is_form = incoming.kind == "form" and incoming.channel.startswith("D")
    return incoming.in_home or is_form


@contextmanager
def _logged() -> Iterator[None]:
    """Logs that a step of opening a form failed."""
    try:
        yield
    except ChatError as error:
        log.warning("a form could not be opened", error=error.message)


def draft_of(incoming: Incoming, reply: Reply) -> Draft:
    """The reply in Slack's format; an empty draft for an empty reply."""
    if not _shows(reply):
        return Draft("")
    charts = chart_blocks(reply.card.charts, Showing()) if reply.card else []
    return Draft(reply_text(reply), reply_blocks(reply, key=incoming.delivery, charts=charts))


def plain_draft_of(incoming: Incoming, reply: Reply, draft: Draft) -> Draft:
    """The reply, of which `draft` is made, with blocks that each workspace has.

    Text has the figures of its charts: no picture is uploaded for what one person sees once.
    """
    card = reply.card
    if card is not None and card.charts:
        told = tuple(plain(described(chart)) for chart in card.charts)
        reply = replace(reply, card=replace(card, charts=()), lines=(*reply.lines, *told))
        draft = draft_of(incoming, reply)
    return replace(draft, blocks=with_plain_tables(draft.blocks))


def _shows(reply: Reply) -> bool:
    return bool(reply.lines or reply.card or reply.buttons)
