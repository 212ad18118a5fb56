"""Checks priority classes by name, for all engines."""

from collections.abc import Iterable

from bot.errors import UsageError


def refuse_priority(priority: str | None, known: Iterable[str]) -> None:
    """Raises UsageError if the cluster does not have this priority class."""
    if priority is None:
        return
    names = sorted(known)
    if priority not in names:
        there = f"It has: {', '.join(names)}." if names else "It has none; leave out --priority."
        raise UsageError(f"The cluster has no priority class {priority}.", there)
