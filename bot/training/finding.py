"""Queries for runs by name or reference, and for their saved logs."""

from collections.abc import Sequence

from sqlalchemy import bindparam, func, select
from sqlmodel import Session, col

from bot.errors import NotFoundError
from bot.slack.grammar.parameters import Reference, short_name
from bot.slack.markup import FormatCommand
from bot.training.tables import KeptLog, Run

# Built once: that takes longer than to run it.
_BY_ID = select(Run).where(col(Run.id) == bindparam("id"))


def by_id(session: Session, run_id: str) -> Run | None:
    """The run of that id."""
    return session.scalars(_BY_ID, {"id": run_id}).first()


def newest(session: Session, team: str, name: str) -> Run | None:
    """The newest run of that name."""
    return session.scalars(
        select(Run)
        .where(col(Run.team) == team, col(Run.name) == name)
        .order_by(col(Run.number).desc())
        .limit(1)
    ).first()


def numbered(session: Session, team: str, reference: Reference) -> Run | None:
    """The run that `lane` or `lane#2` means; a long name finds the run that was shortened."""
    name = short_name(reference.name)
    if reference.number is None:
        return newest(session, team, name)
    return session.scalars(
        select(Run).where(
            col(Run.team) == team,
            col(Run.name) == name,
            col(Run.number) == reference.number,
        )
    ).first()


def unknown(
    session: Session, team: str, reference: Reference, format_command: FormatCommand
) -> NotFoundError:
    """The error for a run that does not exist, with the runs that do."""
    missing = f"{team} has no run {reference.spelled}"
    last = newest(session, team, short_name(reference.name))
    if last is not None:
        return NotFoundError(
            f"{missing}: the newest is {last.reference}.",
            f"`{format_command(f'train show {last.reference}')}` shows it.",
        )
    known = names(session, team)
    if known:
        return NotFoundError(f"{missing}.", f"It has: {', '.join(known[:10])}.")
    example = format_command("train submit lane --image ghcr.io/acme/lane:3.1 -- python train.py")
    return NotFoundError(f"{missing}.", f"Start one: `{example}`.")


def get(session: Session, run_id: str) -> Run:
    """The run of a card's button; NotFoundError when it no longer exists."""
    run = by_id(session, run_id)
    if run is None:
        raise NotFoundError("This run no longer exists.", "Submit it again.")
    return run


def names(session: Session, team: str) -> list[str]:
    """The names of the team's runs, newest first."""
    return list(
        session.scalars(
            select(col(Run.name))
            .where(col(Run.team) == team)
            .group_by(col(Run.name))
            .order_by(func.max(col(Run.id)).desc())
            .limit(200)
        )
    )


def count_live(session: Session, team: str) -> int:
    """How many of the team's runs have not ended."""
    return (
        session.scalar(
            select(func.count())
            .select_from(Run)
            .where(col(Run.team) == team, col(Run.ended_at).is_(None))
        )
        or 0
    )


def kept_logs(session: Session, run_id: str) -> list[KeptLog]:
    """The saved logs of its pods, newest last."""
    return list(
        session.scalars(
            select(KeptLog).where(col(KeptLog.run_id) == run_id).order_by(col(KeptLog.kept_at))
        )
    )


def of_jobs(session: Session, job_uids: Sequence[str]) -> list[Run]:
    """The runs with these Job uids; other Jobs are left out."""
    return list(session.scalars(select(Run).where(col(Run.job_uid).in_(job_uids))))
