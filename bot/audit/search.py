"""Finds lines of the audit log: by person, verb, object, team and time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.sql.elements import ColumnElement
from sqlmodel import Session, col, or_

from bot.audit import AuditLine

MOST_LINES = 10_000
"""As many lines are found at most, for a file."""

NAMES = ("name", "job", "pvc", "dataset", "target", "queue")
"""The facts that name the object of a line; the first one that is there is shown."""


@dataclass(frozen=True)
class AuditQuery:
    """What is searched for; None and empty texts search for everything.

    `verb` is a verb or its first part, `run` for `run.submit` and `run.stop`. `about` is the name
    of an object, or its id.
    """

    workspace_id: str
    since: datetime
    until: datetime
    team: str | None = None
    person: str | None = None
    verb: str = ""
    about: str = ""


def search(session: Session, query: AuditQuery, most: int = MOST_LINES) -> Sequence[AuditLine]:
    """The lines that fit, the newest first, `most` at most."""
    statement = (
        select(AuditLine)
        .where(*_conditions(query))
        .order_by(col(AuditLine.at).desc(), col(AuditLine.id).desc())
        .limit(most)
    )
    return session.scalars(statement).all()


def _conditions(query: AuditQuery) -> list[ColumnElement[bool]]:
    conditions = [
        col(AuditLine.workspace_id) == query.workspace_id,
        col(AuditLine.at) >= query.since,
    ]
    if query.team is not None:
        conditions.append(col(AuditLine.team) == query.team)
    if query.person is not None:
        conditions.append(col(AuditLine.person) == query.person)
    if query.verb:
        verb = col(AuditLine.verb)
        begins = verb.startswith(f"{query.verb}.", autoescape=True)
        conditions.append(or_(verb == query.verb, begins))
    if query.about:
        facts = col(AuditLine.facts)
        named = [facts[name].as_string() == query.about for name in NAMES]
        conditions.append(or_(col(AuditLine.subject_id) == query.about, *named))
    return conditions
