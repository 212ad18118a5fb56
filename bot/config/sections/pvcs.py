"""Settings of teams' PVCs."""

from typing import Annotated

from pydantic import Field, StringConstraints

from bot.config.kinds import Name
from bot.config.sections.section import Section


class PvcCopies(Section):
    """The Jobs of `/pvc copy`. They run as root in the team's namespace, to keep owners."""

    image: Annotated[str, StringConstraints(min_length=1, max_length=255)] | None = None
    """The bot's own image, which they run; without it, `datasets.image`."""

    pull_secrets: tuple[Name, ...] = ()
    """Secrets in every team's namespace for pulling the image."""


class Pvcs(Section):
    """How teams' PVCs are changed."""

    copies: PvcCopies = PvcCopies()

    approve_above: Annotated[float, Field(ge=0)] | None = None
    """The added monthly cost that `/pvc resize` and `/pvc copy` allow without approval of
    `approvals.pvc_change`. Unknown prices then need approval too. Without it, none is needed."""
