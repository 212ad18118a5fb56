"""The snapshot of the end of a run, and the runs started from it."""

from dataclasses import dataclass

from sqlmodel import Session

from bot.slack.markup import Markup, code, join, plain
from bot.snapshots import finding
from bot.snapshots.tables import Snapshot, SnapshotIntent, SnapshotPhase
from bot.training.flows.awaited import after_words
from bot.training.spec import RunSpec, asked_spec
from bot.training.submission.end_snapshots import ALWAYS, began, claim_kept
from bot.training.tables import Run

_STATES = {
    SnapshotPhase.ASKED: "being taken",
    SnapshotPhase.TAKING: "being taken",
    SnapshotPhase.READY: "ready",
    SnapshotPhase.DELETING: "being deleted",
    SnapshotPhase.DELETED: "deleted",
    SnapshotPhase.FAILED: "not taken",
}


@dataclass(frozen=True)
class Lineage:
    """The snapshot of the end of a run with its state, and the runs that were started from it.

    `after` are the runs that it waits for, or waited for.
    """

    snapshot: str = ""
    state: str = ""
    successors: tuple[str, ...] = ()
    after: tuple[Markup, ...] = ()


NOTHING = Lineage()


def lineage_of(session: Session, run: Run) -> Lineage:
    """The runs before a run, the snapshot of its end, and the runs started from that."""
    before = Lineage(after=after_words(session, run))
    if run.is_live or not run.spec.get("snapshot"):
        return before
    row = finding.of_run(session, run.id)
    if row is None:
        return before
    successors = (each.run for each in finding.made_from(session, row.id) if each.run)
    return Lineage(row.name, _state(row), tuple(dict.fromkeys(successors)), before.after)


def end_words(run: Run, lineage: Lineage) -> Markup | None:
    """The fact on a card about the snapshot of the end of a run."""
    spec = asked_spec(run)
    if spec.snapshot is None:
        return None
    if lineage.snapshot:
        return join(code(lineage.snapshot), f", {lineage.state}")
    return _without(run, spec)


def origin_words(spec: RunSpec) -> Markup | None:
    """The fact on a card about the snapshot from which a run starts."""
    if spec.origin is None:
        return None
    of_run = join(" of run ", code(spec.origin.run)) if spec.origin.run else plain("")
    return join("snapshot ", code(spec.origin.snapshot), of_run)


def _without(run: Run, spec: RunSpec) -> Markup:
    claim = claim_kept(run.job_name, spec)
    if run.is_live:
        is_always = spec.snapshot is not None and spec.snapshot.on == ALWAYS
        return join("of ", code(claim), " when it ends" if is_always else " when it succeeds")
    why = "it did not succeed" if began(run) else "it never started"
    return join("not taken of ", code(claim), plain(f": {why}"))


def _state(row: Snapshot) -> str:
    if row.is_live and row.wanted == SnapshotIntent.DELETED:
        return _STATES[SnapshotPhase.DELETING]
    return _STATES[SnapshotPhase(row.phase)]
