"""What a transaction touched, for those who want to hear of it once it is committed."""

from sqlmodel import Session

TOPICS = "topics"
"""The key of a session's info under which its topics stand."""


def touch(session: Session, topic: str) -> None:
    """Marks the transaction as one that listeners of `topic` want to hear of."""
    session.info.setdefault(TOPICS, set()).add(topic)
