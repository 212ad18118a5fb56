"""Finds the runs that wrote to a folder of a PVC, from their records."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, String, cast, or_
from sqlmodel import Session, col, select

from bot.datasets.pushes.versions import Maker, Written
from bot.training.kinds.pods.volumes import mounts_of, root_of
from bot.training.spec import asked_spec
from bot.training.submission.artifacts import artifacts_of
from bot.training.tables import KIND, Run

_MOST_RUNS, _MOST_MAKERS = 200, 10


def makers_of(session: Session, written: Written) -> list[Maker]:
    """The runs started by then that have an artifact there, newest first.

    If no run declares one with --artifact, the runs that mount the PVC writable. At most 10, out
    of the newest 200 runs that name the PVC.
    """
    found = [each for each in _candidates(session, written) if _mounts(each, written)]
    sure = [each for each in found if _keeps(each, written)]
    return [
        Maker(KIND, each.id, f"run {each.reference} of {each.team}")
        for each in (sure or found)[:_MOST_MAKERS]
    ]


def _candidates(session: Session, written: Written) -> Sequence[Run]:
    # A PVC that was made for a run is called after its root.
    after = root_of(written.claim)
    return session.exec(
        select(Run)
        .where(
            col(Run.cluster) == written.cluster,
            col(Run.namespace) == written.namespace,
            col(Run.started_at) <= written.until,
            or_(_names(written.claim), col(Run.job_name) == after),
        )
        .order_by(col(Run.id).desc())
        .limit(_MOST_RUNS)
    ).all()


def _names(claim: str) -> ColumnElement[bool]:
    """Whether the name of the PVC occurs in a spec; how it is used is checked afterwards."""
    return cast(col(Run.spec), String).contains(f'"{claim}"', autoescape=True)


def _mounts(run: Run, written: Written) -> bool:
    return any(
        each.claim == written.claim and not each.read_only
        for each in mounts_of(run.job_name, asked_spec(run))
    )


def _keeps(run: Run, written: Written) -> bool:
    """Whether one of its artifacts is in the folder, or contains it."""
    folder = _parts(written.folder)
    for kept in artifacts_of(run.job_name, asked_spec(run)):
        within = _parts(kept.within)
        shorter = min(len(folder), len(within))
        if kept.claim == written.claim and folder[:shorter] == within[:shorter]:
            return True
    return False


def _parts(path: str) -> list[str]:
    return [each for each in path.split("/") if each]
