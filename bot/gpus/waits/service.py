"""Starts, lists and ends waits for GPUs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from sqlalchemy import select
from sqlmodel import Session, col

from bot.config import Team
from bot.database.forgetting import forget_some
from bot.errors import LimitError, NotAllowedError, NotFoundError
from bot.gpus.amounts import WHOLE
from bot.gpus.waits.free import FreeGpuReader, FreeGpus, best_of
from bot.gpus.waits.tables import WAIT, GpuWait, WaitPhase
from bot.gpus.waits.wording import amount
from bot.people.access import Caller
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.slack.markup import FormatCommand
from bot.training.wording import gpus as gpus_words

MOST_OF_A_PERSON = 5
LASTS = timedelta(days=3)
SHORTEST, LONGEST = timedelta(minutes=10), timedelta(days=14)
_KEPT = timedelta(days=1)
_LIVE = col(GpuWait.ended_at).is_(None)


@dataclass(frozen=True)
class WaitRequest:
    """What a person waits for; any one type will do if `gpu_type` is empty."""

    gpus: Decimal
    gpu_type: str = ""
    length: timedelta = LASTS


@dataclass(frozen=True)
class WaitAnswer:
    """What is free now, and the wait for more; `row` is None if enough is free already."""

    free: FreeGpus
    row: GpuWait | None


class WaitService:
    """The operations that handlers call; each writes in the transaction of the caller."""

    def __init__(self, reader: FreeGpuReader, format_command: FormatCommand) -> None:
        self._reader = reader
        self._format_command = format_command

    def wait(
        self, session: Session, caller: Caller, team: Team, asked: WaitRequest, now: datetime
    ) -> WaitAnswer:
        """Notifies the caller once when their team has so many GPUs free.

        The same request again has one effect: it lasts longer. UserError if it can never be.
        """
        best = self._best(session, caller.team or "", team, asked)
        if best.fits(asked.gpus):
            return WaitAnswer(best, None)
        row = self._same(session, caller, team, asked)
        if row is None:
            self._refuse_many(session, caller)
            row = GpuWait(
                workspace_id=caller.workspace_id,
                team=caller.team or "",
                person=caller.person,
                cluster=team.cluster,
                gpu_type=asked.gpu_type,
                gpus=int(asked.gpus * WHOLE),
                asked_at=now,
                until=now + asked.length,
            )
        row.until = now + asked.length
        session.add(row)
        session.flush()
        wake(session, WAIT, row.id, cluster_lane(row.cluster), now)
        return WaitAnswer(best, row)

    def of(self, session: Session, person: str) -> list[GpuWait]:
        """What the person waits for, the oldest first."""
        mine = select(GpuWait).where(col(GpuWait.person) == person, _LIVE)
        return list(session.scalars(mine.order_by(col(GpuWait.id))))

    def get(self, session: Session, wait_id: str) -> GpuWait:
        """The wait of a button; NotFoundError when it no longer exists."""
        row = session.get(GpuWait, wait_id)
        if row is None:
            again = self._format_command("gpu wait list")
            raise NotFoundError(
                "This wait ended more than a day ago.", f"`{again}` shows what you wait for."
            )
        return row

    def cancel(
        self, session: Session, caller: Caller, rows: Sequence[GpuWait], now: datetime
    ) -> None:
        """Ends these waits of the caller, without a message."""
        for row in rows:
            if row.person != caller.person:
                raise NotAllowedError(f"<@{row.person}> asked for this, and only they can end it.")
            if not row.is_cleared:
                row.phase, row.ended_at = WaitPhase.CANCELLED, now
                session.add(row)

    def _best(self, session: Session, name: str, team: Team, asked: WaitRequest) -> FreeGpus:
        """What is free of the type that fits best; UserError if it can never be enough."""
        free = self._reader.free(session, team)
        if free is None:
            raise NotFoundError(
                self._reader.unseen(team),
                "Try again in a minute. If the problem persists, ask a platform admin.",
            )
        best = best_of(free, asked.gpu_type)
        if best is None:
            known = ", ".join(each.gpu_type for each in free if each.gpu_type)
            what = f"GPU type {asked.gpu_type}" if asked.gpu_type else "quota of GPUs"
            hint = f"It has: {known}." if known else "Leave `--type` out."
            raise NotFoundError(
                f"{name} has no {what} in cluster {team.cluster}.",
                hint if asked.gpu_type else "Ask a platform admin to add one.",
            )
        most = max(each.most for each in free if asked.gpu_type in {"", each.gpu_type})
        if most < asked.gpus:
            raise LimitError(*self._excess(name, team, asked, most))
        return best

    def _excess(self, name: str, team: Team, asked: WaitRequest, most: Decimal) -> tuple[str, str]:
        """That a team can never have so many, and what it could do instead."""
        hints = [f"Wait for {most.normalize():f} or fewer."] if most else []
        if self._reader.can_grow(team):
            short = (asked.gpus - most).normalize()
            more = self._format_command(f'quota request +{short:f} --for 1d --reason "..."')
            hints.append(f"`{more}` requests more quota.")
        said = (
            f"{amount(asked.gpus, asked.gpu_type)} can never be free for {name} in cluster"
            f" {team.cluster}: it can use {gpus_words(most)} at most, borrowed ones included."
        )
        return said, " ".join(hints) or "Ask a platform admin for more."

    def _same(
        self, session: Session, caller: Caller, team: Team, asked: WaitRequest
    ) -> GpuWait | None:
        same = (
            col(GpuWait.person) == caller.person,
            col(GpuWait.team) == caller.team,
            col(GpuWait.cluster) == team.cluster,
            col(GpuWait.gpu_type) == asked.gpu_type,
            col(GpuWait.gpus) == int(asked.gpus * WHOLE),
        )
        return session.scalars(select(GpuWait).where(*same, _LIVE)).first()

    def _refuse_many(self, session: Session, caller: Caller) -> None:
        if len(self.of(session, caller.person)) >= MOST_OF_A_PERSON:
            shown = self._format_command("gpu wait list")
            raise LimitError(
                f"You already wait for GPUs {MOST_OF_A_PERSON} times, the maximum.",
                f"`{shown}` shows them, with a button that ends each.",
            )


def forget(session: Session, now: datetime) -> None:
    """Deletes waits that ended a day ago."""
    forget_some(session, GpuWait, col(GpuWait.ended_at) < now - _KEPT)
