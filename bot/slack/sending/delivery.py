"""Carries out one step of one message: renders it, sends it, and records the result."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import SystemRandom
from typing import TypeVar

import structlog

from bot.charts.picture import as_png
from bot.charts.values import Chart
from bot.errors import ChatError
from bot.slack.chart_blocks import alt_text, name_of
from bot.slack.client import Destination, Draft, MessageRef, SlackClient
from bot.slack.files import Attached
from bot.slack.messages import Message
from bot.slack.sending.budgets import FILES, Budgets, Call
from bot.slack.sending.delivery_rules import (
    BAD_BLOCKS,
    OUTAGE,
    SHARED_OUTSIDE,
    DeliveryContext,
    FindPosted,
    Post,
    Step,
    Update,
    after_failed_upload,
    after_failure,
    after_vain_look,
    call_of,
    is_of_token,
)
from bot.slack.sending.file_rules import (
    after_failed_file,
    after_untold,
    after_vain_look_for_file,
    is_unreachable,
    passes,
    unreachable,
)
from bot.slack.sending.outbox import Outbox
from bot.slack.sending.rendering import Rendered, missed
from bot.slack.web_api import RATE_LIMITED, TIMEOUT_SECONDS

log = structlog.get_logger()

T = TypeVar("T")

CALL_SECONDS = 2.0 * TIMEOUT_SECONDS
"""What one call may take at most: to connect, and to answer."""

_TOKEN_SECONDS = 60.0
_WITHDRAWN = "This channel is shared with another company, so this is no longer shown here."
_chance = SystemRandom()


@dataclass(frozen=True)
class Job:
    """A message and the step it is to take; decided at `world`."""

    row: Message
    step: Step
    world: DeliveryContext

    @property
    def call(self) -> Call:
        """The call to Slack that it makes."""
        return call_of(self.row, self.step)


class Delivery:
    """Carries out steps; `render` says what a message shows, `lease_seconds` how long we may.

    `refuse` raises ChatError for a channel in which nothing may be shown.
    """

    def __init__(
        self,
        outbox: Outbox,
        client: SlackClient,
        budgets: Budgets,
        render: Callable[[str], Rendered],
        lease_seconds: Callable[[], float],
        refuse: Callable[[str], None],
    ) -> None:
        self.trouble: str | None = None
        self._outbox = outbox
        self._client = client
        self._budgets = budgets
        self._render = render
        self._lease_seconds = lease_seconds
        self._refuse = refuse
        self._direct: dict[str, str] = {}

    def carry_out(self, job: Job) -> None:
        """Takes the step; a failure of Slack is recorded on the row."""
        rendered = self._render(job.row.id)
        try:
            if rendered.draft is None:
                self._outbox.shown(job.row.id, rendered)
            elif rendered.attached is not None:
                self._attach(job, rendered, rendered.attached)
            else:
                self._say(job, rendered, rendered.draft)
        except ChatError as error:
            self.failed(job, error)

    def _say(self, job: Job, rendered: Rendered, draft: Draft) -> None:
        match job.step:
            case Post() | Update() if rendered.missing:
                self._upload(job, rendered.missing[0])
            case Post() if rendered.card is not None:
                self._link(job, rendered.card)
            case Post(place):
                self._post(job, place, rendered, draft)
            case Update(spot):
                self._update(job, spot, rendered, draft)
            case FindPosted(place, since):
                self._look(job, place, since, rendered)

    def failed(self, job: Job, error: ChatError) -> None:
        """Records a failed step on its row and in the budgets."""
        world = self._counted(job, job.call, error)
        self._outbox.failed(job.row.id, after_failure(job.row, job.step, error, world))

    def _counted(self, job: Job, call: Call, error: ChatError) -> DeliveryContext:
        """The world for deciding about a failure, which the budgets know of from now on."""
        log.warning(
            "a message could not be sent",
            message=job.row.id,
            channel=call.channel,
            code=error.code,
            error=error.message,
        )
        if error.code == RATE_LIMITED:
            self._budgets.hold(call, error.retry_after_seconds)
        elif error.code in OUTAGE:
            self._budgets.failed()
        elif is_of_token(job.row, error):
            self._budgets.pause(_TOKEN_SECONDS)
            self.trouble = f"{error.message} {error.hint}"
        else:
            self._budgets.succeeded()
        return replace(job.world, jitter=_chance.random())

    def _post(self, job: Job, place: Destination, rendered: Rendered, draft: Draft) -> None:
        there = self._reachable(place)
        if not self._may_call(job):
            return
        since = self._outbox.begin_post(job.row.id, there.channel, rendered.digest)
        if since is None:
            return
        self._budgets.begins(job.call)  # noting the post may have taken a while
        try:
            spot = self._spoken(
                lambda said: self._client.post(there, said, mark=job.row.id), draft, rendered
            )
        finally:
            self._budgets.ends(job.call)
        self._outbox.posted(job.row.id, since, spot, rendered)

    def _update(self, job: Job, spot: MessageRef, rendered: Rendered, draft: Draft) -> None:
        if rendered.digest != job.row.digest:
            if not self._may_update(job, spot):
                return
            self._spoken(lambda said: self._client.update(spot, said), draft, rendered)
        self._outbox.shown(job.row.id, rendered)

    def _upload(self, job: Job, chart: Chart) -> None:
        """Uploads a picture to Slack, which is invisible until the message shows it.

        So a repeated upload, after a lost answer, is harmless.
        """
        call = Call(FILES, job.call.channel)
        if not self._may_bring(job, call):
            return
        name = name_of(chart)
        try:
            words = (chart.title, alt_text(chart))
            file_id = self._client.upload(f"{name}.png", words, as_png(chart))
        except ChatError as error:
            log.warning("a picture could not be uploaded", message=job.row.id, code=error.code)
            if error.code == RATE_LIMITED:
                self._budgets.hold(call, error.retry_after_seconds)
            elif error.code in OUTAGE:
                self._budgets.failed()
            world = replace(job.world, jitter=_chance.random())
            self._outbox.failed(job.row.id, after_failed_upload(job.row, error, world))
            return
        self._answered()
        self._outbox.uploaded(job.row.id, name, file_id)

    def _attach(self, job: Job, rendered: Rendered, file: Attached) -> None:
        """Uploads a file to Slack, shares it, or posts why it cannot; one step at a time."""
        call = Call(FILES, job.call.channel) if file.refused is None else job.call
        try:
            match job.step:
                case Post(place) if file.refused is None and file.file_id is None:
                    self._bring(job, call, file)
                case Post(place):
                    self._share(job, place, rendered, file)
                case FindPosted(place, since) if file.refused is None:
                    self._look_for_file(job, place, since, rendered)
                case FindPosted(place, since):
                    self._look(job, place, since, rendered)
                case Update():
                    self._outbox.shown(job.row.id, rendered)
        except ChatError as error:
            if file.refused is not None:
                raise
            world = self._counted(job, call, error)
            changes = after_failed_file(job.row, job.step, error, world)
            self._outbox.file_failed(job.row.id, *changes)

    def _bring(self, job: Job, call: Call, file: Attached) -> None:
        """Uploads the bytes to Slack; they are invisible until shared, so repeating is harmless."""
        if not self._may_bring(job, call):
            return
        file_id = self._client.bring(file.name, self._outbox.content_of(job.row.id))
        self._answered()
        self._outbox.brought(job.row.id, file_id)

    def _may_bring(self, job: Job, call: Call) -> bool:
        """Whether a file fits the lease and the budget of files; else its message waits for that.

        What shares only the budget of the message itself goes on meanwhile.
        """
        if self._lease_seconds() <= CALL_SECONDS:
            return False
        if self._budgets.take(call):
            return True
        wait = timedelta(seconds=self._budgets.wait_seconds(call))
        self._outbox.failed(job.row.id, {"not_before": job.world.real_now + wait})
        return False

    def _share(self, job: Job, place: Destination, rendered: Rendered, file: Attached) -> None:
        """Sends a person the file, or why there is none; notifies them if that is impossible.

        The file is private to this person and is posted nowhere else.
        """
        try:
            there = self._reachable(place)
            if file.refused is not None or file.file_id is None:
                self._post(job, there, rendered, Draft(rendered.text))
            else:
                self._share_once(job, there, rendered, (file.file_id, file.title))
        except ChatError as error:
            if not is_unreachable(job.row, error):
                raise
            self._tell_there(job, file, error)

    def _share_once(
        self, job: Job, there: Destination, rendered: Rendered, file: tuple[str, str]
    ) -> None:
        if not self._may_call(job):
            return
        if self._outbox.begin_post(job.row.id, there.channel, rendered.digest) is None:
            return
        self._budgets.begins(job.call)
        try:
            self._client.share(there, file, rendered.text)
        finally:
            self._budgets.ends(job.call)
        self._answered()
        self._outbox.shared(job.row.id, rendered)

    def _look_for_file(
        self, job: Job, place: Destination, since: datetime, rendered: Rendered
    ) -> None:
        attached = rendered.attached
        if not self._may_call(job) or attached is None:
            return
        ts = self._client.find_by_file(place, attached.file_id or "", since)
        self._answered()
        if ts is None:
            self._outbox.failed(job.row.id, after_vain_look_for_file(job.row, job.world))
        else:
            self._outbox.shared(job.row.id, rendered, ts)

    def _tell_there(self, job: Job, file: Attached, error: ChatError) -> None:
        """Notifies a person who cannot get direct messages in the channel, visible only to them."""
        untold = replace(file, refused=f"{unreachable(error)} {file.refused or ''}".rstrip())
        place = Destination(file.asked_in, file.asked_thread)
        try:
            self._client.post_ephemeral(place, job.row.channel, Draft(missed(untold)))
        except ChatError as second:
            if passes(job.row, second):
                raise
            log.warning("a person could not be notified", message=job.row.id, code=second.code)
        self._outbox.file_failed(job.row.id, after_untold(error), {})

    def _link(self, job: Job, card: MessageRef) -> None:
        """Asks where people find the card that a direct message is about, in a step of its own."""
        if self._lease_seconds() <= CALL_SECONDS:
            return
        try:
            link = self._client.permalink(card)
        except ChatError as error:
            if error.code == RATE_LIMITED or error.code in OUTAGE or is_of_token(job.row, error):
                raise
            link = ""
        self._answered()
        self._outbox.linked(job.row.id, link)

    def _look(self, job: Job, place: Destination, since: datetime, rendered: Rendered) -> None:
        if not self._may_call(job):
            return
        place = self._reachable(place)
        ts = self._client.find_by_metadata(place, job.row.id, since)
        self._answered()
        if ts is None:
            self._outbox.failed(job.row.id, after_vain_look(job.row, job.world))
        else:
            self._outbox.adopted(job.row.id, MessageRef(place.channel, ts), rendered)

    def _reachable(self, place: Destination) -> Destination:
        """The place with a channel; the direct messages of a person are opened first."""
        if not place.channel.startswith(("U", "W")):
            return place
        person = place.channel
        if person not in self._direct:
            self._direct[person] = self._client.open_dm(person)
        return replace(place, channel=self._direct[person])

    def _may_update(self, job: Job, spot: MessageRef) -> bool:
        """Like `_may_call`; replaces a message that another company could now read by one line."""
        try:
            return self._may_call(job)
        except ChatError as error:
            if error.code != SHARED_OUTSIDE:
                raise
            if self._lease_seconds() <= CALL_SECONDS or not self._budgets.take(job.call):
                return False
            self._withdraw(job, spot)
            raise

    def _withdraw(self, job: Job, spot: MessageRef) -> None:
        try:
            self._client.update(spot, Draft(_WITHDRAWN))
        except ChatError as error:  # else the message is gone, or can no longer be changed
            if error.code == RATE_LIMITED or error.code in OUTAGE or is_of_token(job.row, error):
                raise

    def _may_call(self, job: Job) -> bool:
        """Whether the call fits the budget, and what is left of the lease.

        ChatError where it would show something in a channel in which nothing may be shown.
        """
        if not isinstance(job.step, FindPosted):
            self._refuse(job.call.channel)
        return self._lease_seconds() > CALL_SECONDS and self._budgets.take(job.call)

    def _spoken(self, say: Callable[[Draft], T], draft: Draft, rendered: Rendered) -> T:
        """What Slack answered; blocks that it refuses are left out once.

        A message with charts or long tables is rendered more plainly first, in a step of its own.
        """
        try:
            answer = say(draft)
        except ChatError as error:
            if error.code not in BAD_BLOCKS or not draft.blocks or rendered.can_be_plainer:
                raise
            log.exception("Slack rejected the blocks; only the text is sent")
            answer = say(Draft(draft.text))
        self._answered()
        return answer

    def _answered(self) -> None:
        self._budgets.succeeded()
        self.trouble = None
