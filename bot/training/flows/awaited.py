"""The runs that a run waits for: how far each is, and what follows from that."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, select
from sqlmodel import Session, col

from bot.database.prepared import Prepared
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.slack.grammar.parameters import Reference
from bot.slack.markup import FormatCommand, Markup, code, join, plain, when
from bot.training import finding
from bot.training.spec import Predecessor, asked_spec
from bot.training.state import State
from bot.training.tables import GOOD_ENDS, KIND, Run, RunPhase
from bot.training.wording import ENDED, listed, phase_words

# Built once: each change of a run asks this, and most teams have none.
_WAITING_IDS = Prepared(
    select(col(Run.id))
    .where(
        col(Run.team) == bindparam("team"),
        col(Run.ended_at).is_(None),
        col(Run.phase) == RunPhase.AFTER.value,
    )
    .order_by(col(Run.id))
)


@dataclass(frozen=True)
class Awaited:
    """A run that another one waits for, as it is now; `run` is None if its row is gone."""

    predecessor: Predecessor
    run: Run | None

    @property
    def reference(self) -> str:
        """The reference of the run, or of the one that continues it."""
        return self.run.reference if self.run else self.predecessor.run

    @property
    def is_live(self) -> bool:
        """Whether its end is still to come."""
        return self.run is not None and self.run.is_live

    @property
    def is_met(self) -> bool:
        """Whether it has ended as it had to."""
        if self.is_live:
            return False
        return self.predecessor.is_any or (self.run is not None and self.run.phase in GOOD_ENDS)

    @property
    def ended(self) -> str:
        """How it ended, after its reference."""
        return ENDED[RunPhase(self.run.phase)] if self.run else "no longer exists"

    @property
    def awaited(self) -> str:
        """What of it is waited for, as a part of a sentence."""
        end = "end" if self.predecessor.is_any else "succeed"
        now = f" ({phase_words(self.run)})" if self.run else ""
        return f"run {self.reference}{now} to {end}"


def awaited_of(session: Session, predecessors: Iterable[Predecessor]) -> tuple[Awaited, ...]:
    """These runs as they are now.

    A run that the bot itself stopped and started again counts as the run that continues it.
    """
    return tuple(Awaited(each, _current(session, each.run_id)) for each in predecessors)


def gate_of(session: Session, run: Run, format_command: FormatCommand) -> State | None:
    """The state of a run without objects that may not start; None if it may.

    It waits for other runs, or is stopped because one of them did not succeed.
    """
    if not run.spec.get("after") or not run.is_live or run.job_uid is not None:
        return None
    found = awaited_of(session, asked_spec(run).after)
    lost = next((each for each in found if not each.is_live and not each.is_met), None)
    if lost is not None:
        return _stopped(run, lost, format_command)
    waits = [each.awaited for each in found if each.is_live]
    return State(RunPhase.AFTER, reason=f"It waits for {listed(waits)}.") if waits else None


def note_successors(session: Session, run: Run, now: datetime) -> None:
    """Has the runs that wait for this one, or for one that it continues, look at it now."""
    for each, after in _waiting(session, run.team):
        if any(one.name == run.name for one in after):
            wake(session, KIND, each.id, cluster_lane(each.cluster), now)


def dependent_on(session: Session, run: Run) -> tuple[str, ...]:
    """The references of the runs that wait for the success of this one."""
    return tuple(
        each.reference
        for each, after in _waiting(session, run.team)
        if any(one.run == run for one in awaited_of(session, after) if not one.predecessor.is_any)
    )


def released_words(session: Session, run: Run) -> str:
    """Why a run that waited for others starts now."""
    found = awaited_of(session, asked_spec(run).after)
    return f"{listed([f'{each.reference} {each.ended}' for each in found])}, so it starts now."


def after_words(session: Session, run: Run) -> tuple[Markup, ...]:
    """The facts on a card about the runs that it waits for, or waited for."""
    if not run.spec.get("after"):
        return ()
    return tuple(map(_fact, awaited_of(session, asked_spec(run).after)))


def _waiting(session: Session, team: str) -> list[tuple[Run, tuple[Predecessor, ...]]]:
    """The runs of a team that wait for others, with those."""
    session.flush()  # one may have begun or stopped to wait a moment ago
    ids = [row[0] for row in _WAITING_IDS(session, {"team": team}).rows]
    if not ids:
        return []
    found = select(Run).where(col(Run.id).in_(ids)).order_by(col(Run.id))
    return [(run, asked_spec(run).after) for run in session.scalars(found)]


def _stopped(run: Run, lost: Awaited, format_command: FormatCommand) -> State:
    """The end of a run that waited in vain."""
    again = format_command(f"train resubmit {lost.reference}")
    own = format_command(f"train resubmit {run.reference}")
    advice = f"`{again}` starts {lost.reference} again; after that, `{own}` waits for it."
    return State(
        RunPhase.STOPPED,
        reason=f"Run {lost.reference}, which it waited for, {lost.ended}.",
        advice=advice if lost.run else "",
    )


def _current(session: Session, run_id: str) -> Run | None:
    """The run of that id, or the one as which the bot started it again."""
    run = finding.by_id(session, run_id)
    for each in _continuations(session, run) if run else ():
        run = each
    return run


def _continuations(session: Session, run: Run) -> Iterator[Run]:
    """The runs as which the bot started it again, one after the other."""
    following: Run | None = run
    while following and following.phase == RunPhase.STOPPED and following.again_on is not None:
        next_one = Reference(following.name, following.number + 1)
        following = finding.numbered(session, following.team, next_one)
        if following is not None:
            yield following


def _fact(each: Awaited) -> Markup:
    any_end = plain(", any end" if each.predecessor.is_any else "")
    if each.run is None:
        return join(code(each.reference), any_end)
    since = (" since ", when(each.run.since)) if each.is_live else ()
    return join(code(each.reference), any_end, plain(f": {phase_words(each.run)}"), *since)
