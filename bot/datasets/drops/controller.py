"""Controller of files from Slack: finds them, reads their checksums, and sends what is missing."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from sqlmodel import Session
from typing_extensions import override

from bot.datasets.drops.copying import Copying, NoGrantError, Sent
from bot.datasets.drops.finding import SlackFiles, find
from bot.datasets.drops.tables import DROP, ENDS_WITHIN, Drop, DroppedFile, DropPhase, kept
from bot.datasets.location import Location
from bot.datasets.tables import PUSH, Push
from bot.datasets.worker.failures import WorkError
from bot.durations import format_duration
from bot.errors import StorageError
from bot.reconcile.controller import Step
from bot.reconcile.due import wake
from bot.reconcile.frame import SOON, ControllerContext, RowController
from bot.reconcile.wakeups import cluster_lane
from bot.slack.messages import refresh_cards

Change = Callable[[Drop], None]

_SENT_AGAIN = timedelta(minutes=1)
_MOST_IDLE = 5
_KEPT_COPYING = "Files that have arrived stay. Save the files again to copy the rest."


@dataclass(frozen=True)
class DropRows:
    """The files of a message, and the push that they are part of."""

    drop: Drop
    push: Push


class DropController(RowController[DropRows]):
    """Copies the files of messages; the only part of the bot that reads files in Slack."""

    kind = DROP
    table, phases = Drop, DropPhase

    def __init__(self, context: ControllerContext, slack: SlackFiles) -> None:
        super().__init__(context)
        self._slack: Final = slack
        self._copying: Final = Copying(slack, context.settings)

    @override
    def load(self, session: Session, row_id: str) -> DropRows | None:
        """The files and their push."""
        drop = self.known(session, row_id)
        return None if drop is None else DropRows(drop, session.get_one(Push, row_id))

    @override
    def reconcile(self, row: DropRows, now: datetime) -> Step:
        """The next step; a failure that no retry mends ends it, and its push."""
        drop, push = row.drop, row.push
        if not push.is_live or push.stopped_by is not None:
            return self._saved(drop, None, now, _ended)
        try:
            if now - drop.asked_at > ENDS_WITHIN:
                raise _late()
            match DropPhase(drop.phase):
                case DropPhase.FINDING:
                    return self._saved(drop, now, now, self._found(row))
                case DropPhase.READING:
                    return self._saved(drop, now, now, self._read(drop))
                case _:
                    return self._send(row, now)
        except NoGrantError:
            return self._waits(drop, now)
        except WorkError as error:
            if error.reason == "store_down":
                raise
            return self._saved(drop, None, now, partial(_failed, error=error))

    def _found(self, row: DropRows) -> Change:
        datasets = self._context.settings().datasets
        if datasets is None:
            raise StorageError(
                "datasets is no longer in quartermaster.yaml.", "A platform admin must add it."
            )
        prefix = Location.of(row.push.target).prefix
        files = find(self._slack, row.drop, datasets.slack_files, prefix)
        return partial(_keep, files=files, phase=DropPhase.READING)

    def _read(self, drop: Drop) -> Change:
        files = self._copying.read(drop.found)
        is_read = all(each.is_read for each in files)
        phase = DropPhase.SENDING if is_read else DropPhase.READING
        return partial(_keep, files=files, phase=phase)

    def _send(self, row: DropRows, now: datetime) -> Step:
        drop, push = row.drop, row.push
        if not push.takes_files:
            return self._waits(drop, now)
        sent = self._copying.send(push, drop) if drop.turns else None
        is_recent = drop.listed_at is not None and now - drop.listed_at < _SENT_AGAIN
        if sent is None and is_recent:
            return self._waits(drop, now)
        if sent is not None and sent.is_done:
            return self._saved(drop, None, now, _ended)
        if sent is not None:
            drop.turns = sent.turn
        self._copying.list_files(push, drop)
        turns = drop.turns + 1
        return self._saved(drop, now + SOON, now, partial(_listed, sent=sent, turns=turns, now=now))

    def _waits(self, drop: Drop, now: datetime) -> Step:
        """Looks again soon; what hindered steps before is over."""
        if not drop.trouble:
            return Step(now + SOON)
        return self._saved(drop, now + SOON, now, lambda _: None)

    def _saved(self, drop: Drop, again: datetime | None, now: datetime, change: Change) -> Step:
        """Saves a change, shows it on the push's card, and lets the push go on."""

        def save(session: Session) -> None:
            row = session.get(Drop, drop.id)
            if row is None:
                return
            push, before = session.get_one(Push, drop.id), row.phase
            row.trouble = ""
            change(row)
            session.add(row)
            refresh_cards(session, row.subject, live=push.is_live)
            if row.phase != before:
                wake(session, PUSH, push.id, cluster_lane(push.cluster), now)

        return Step(again, save)


def _keep(drop: Drop, files: tuple[DroppedFile, ...], phase: DropPhase) -> None:
    drop.files, drop.phase = kept(files), phase


def _listed(drop: Drop, sent: Sent | None, turns: int, now: datetime) -> None:
    drop.turns, drop.listed_at = turns, now
    if sent is None:
        return
    has_moved = drop.missing is None or sent.missing < drop.missing
    drop.idle = 0 if has_moved else drop.idle + 1
    drop.missing = sent.missing
    if drop.idle >= _MOST_IDLE:
        _failed(drop, _stuck(sent.missing))


def _failed(drop: Drop, error: WorkError) -> None:
    drop.reason, drop.unblock, drop.keys = error.message, error.hint, list(error.keys)
    _ended(drop)


def _ended(drop: Drop) -> None:
    drop.phase, drop.is_cleared = DropPhase.ENDED, True


def _late() -> WorkError:
    within = format_duration(ENDS_WITHIN)
    return WorkError("expired", f"Not all files were copied within {within}.", _KEPT_COPYING)


def _stuck(missing: int) -> WorkError:
    return WorkError(
        "corrupt",
        f"{missing:,} parts of the files do not arrive in the store.",
        f"A platform admin can check the clocks of the bot and of the store. {_KEPT_COPYING}",
    )
