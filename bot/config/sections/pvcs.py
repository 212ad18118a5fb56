"""Settings of teams' PVCs."""

from typing import Annotated

from pydantic import Field

from bot.config.sections.section import Section


class Pvcs(Section):
    """How teams' PVCs are changed."""

    approve_above: Annotated[float, Field(ge=0)] | None = None
    """The added monthly cost that `/pvc resize` allows without approval of
    `approvals.pvc_change`. Unknown prices then need approval too. Without it, none is needed."""
