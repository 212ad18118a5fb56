"""Settings of removing what costs and is not used."""

from typing import Annotated

from pydantic import Field

from bot.config.sections.section import Section


class Leftovers(Section):
    """When people need an approval to remove PVCs, snapshots, caches and leftover objects."""

    approve_above: Annotated[float, Field(ge=0)] | None = None
    """The monthly cost above which a removal needs approval of `approvals.removal`."""

    approve_above_gib: Annotated[float, Field(ge=0)] | None = None
    """The size in GiB above which a removal needs approval of `approvals.removal`. What has neither
    a known cost nor a known size for a limit that is set needs it too. Without either limit, none
    is needed."""

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
