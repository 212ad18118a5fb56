"""The current quotas of the teams of a cluster, and what they borrow."""

from collections import Counter
from collections.abc import Mapping
from decimal import Decimal

from bot.config import Settings
from bot.gpus.amounts import WHOLE
from bot.gpus.samples.owners import Owner
from bot.gpus.tables import What
from bot.quotas import Engine, Queue

_FRESH_SECONDS = 150.0


def quota_of_teams(settings: Settings, cluster: str, engine: Engine) -> dict[Owner, int]:
    """Quota and borrowing by team and GPU type, in thousandths of a GPU; unknown ones are absent.

    Queues shared by several teams are left out: it is unknown which team borrows.
    """
    queues = engine.queues
    if queues.is_absent or queues.age_seconds > _FRESH_SECONDS:
        return {}
    found: dict[str, Queue] = {}
    for name, team in settings.teams.items():
        queue = queues.behind(team.namespace, team.queue) if cluster in team.reach else None
        if queue is not None:
            found[name] = queue
    shared = Counter(queue.name for queue in found.values())
    amounts: dict[Owner, int] = {}
    for name, queue in found.items():
        if shared[queue.name] == 1:
            amounts |= _of(cluster, name, queue)
    return amounts


def _of(cluster: str, team: str, queue: Queue) -> Mapping[Owner, int]:
    found: dict[Owner, int] = {}
    for figures in queue.figures:
        said = {What.BORROWED: figures.borrowed}
        if not figures.is_unlimited:
            said[What.QUOTA] = figures.nominal
        for what, gpus in said.items():
            if gpus is not None:
                owner = Owner(what, cluster, team=team, gpu_type=figures.flavor)
                found[owner] = found.get(owner, 0) + _thousandths(gpus)
    return found


def _thousandths(gpus: Decimal) -> int:
    return max(int(gpus * WHOLE), 0)
