"""Settings of what costs and is not used, and of removing it."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field, field_validator

from bot.config.kinds import Duration
from bot.config.sections.section import Section

_SHORTEST, _LONGEST = timedelta(hours=1), timedelta(days=30)


class Leftovers(Section):
    """When a GPU node counts as unused, and which removals need an approval."""

    approve_above: Annotated[float, Field(ge=0)] | None = None
    """The monthly cost above which a removal needs approval of `approvals.removal`."""

    approve_above_gib: Annotated[float, Field(ge=0)] | None = None
    """The size in GiB above which a removal needs approval of `approvals.removal`. What has neither
    a known cost nor a known size for a limit that is set needs it too. Without either limit, none
    is needed."""

    idle_nodes_after: Duration = timedelta(days=1)
    """How long no pod has held a GPU of a node, before `/qm leftovers` reports the node: from 1h to
    30d, and not longer than `gpus.keep_five_minutes`."""

    @field_validator("idle_nodes_after")
    @classmethod
    def _is_known_for_so_long(cls, value: timedelta) -> timedelta:
        """Shorter is a pause between two runs; who used a node is known for 90 days."""
        if not _SHORTEST <= value <= _LONGEST:
            raise ValueError("it must be from 1h to 30d")
        return value

    @property
    def has_limit(self) -> bool:
        """Whether any removal needs an approval."""
        return self.approve_above is not None or self.approve_above_gib is not None

    def needs_approval(self, size_bytes: int | None, monthly_cost: float | None) -> bool:
        """Whether removing something of that size and cost needs an approval; None is unknown."""
        measured = [
            (self.approve_above, monthly_cost),
            (self.approve_above_gib, None if size_bytes is None else size_bytes / 2**30),
        ]
        known = [(most, has) for most, has in measured if most is not None and has is not None]
        return self.has_limit and (not known or any(has > most for most, has in known))
