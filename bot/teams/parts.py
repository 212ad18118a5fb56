"""What the area of teams brings: its service, controller and renderer."""

from collections.abc import Callable, Sequence

from typing_extensions import override

from bot.approvals.context import ApprovalContext
from bot.areas import Area, Foundations
from bot.config import Settings
from bot.quotas.engines.registry import Engines
from bot.quotas.service import QuotaService
from bot.reconcile.controller import Controller
from bot.slack.messages import Renderer
from bot.teams.card import ChangeRenderer
from bot.teams.controller import TeamController
from bot.teams.reads import TeamReads
from bot.teams.service import TeamService
from bot.teams.stores import TeamStores
from bot.teams.uses import TeamUses


class TeamsArea(Area):
    """Teams that are created and removed from Slack; `uses` are what areas keep for a team."""

    def __init__(
        self,
        on: Foundations,
        engines: Engines,
        quotas: QuotaService,
        in_file: Callable[[], Settings],
        uses: Sequence[TeamUses],
    ) -> None:
        super().__init__(on)
        self._uses, self._stores = uses, TeamStores(engines)
        self.service = TeamService(on.settings, in_file, on.access, on.approvals, engines, uses)
        self.reads = TeamReads(
            on.settings, on.access, on.clusters, quotas, self.service, self._stores
        )

    @override
    def controllers(self, deciding: ApprovalContext) -> Sequence[Controller]:
        return (TeamController(self.on.reconciling, deciding, self._stores, self._uses),)

    @override
    def renderers(self) -> Sequence[Renderer]:
        return (ChangeRenderer(self.on.settings, self.on.approvals),)
