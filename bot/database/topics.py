"""Topics of a transaction, whose listeners are called after its commit."""

from sqlmodel import Session

TOPICS = "topics"
"""The key of a session's info under which its topics stand."""


def touch(session: Session, topic: str) -> None:
    """Marks the transaction with `topic`, so that its listeners are called after the commit."""
    session.info.setdefault(TOPICS, set()).add(topic)
