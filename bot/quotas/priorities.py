"""Priority classes by name, whichever engine goes by them."""

from collections.abc import Iterable

from bot.errors import UsageError


def refuse_priority(priority: str | None, known: Iterable[str]) -> None:
    """UsageError when a priority class is not among those of the cluster."""
    if priority is None:
        return
    names = sorted(known)
    if priority not in names:
        there = f"It has: {', '.join(names)}." if names else "It has none; leave out --priority."
        raise UsageError(f"The cluster has no priority class {priority}.", there)
