"""Plans the boost of a volume during a fill. Pure: no I/O."""

import math

from bot.config import Anf
from bot.errors import ConflictError, LimitError, UserError
from bot.volumes.changes.plan import (
    MANUAL,
    MOST_MIBPS,
    ChangePlan,
    ChangeRequest,
    VolumeState,
    make_plan,
)
from bot.volumes.changes.tables import ChangeKind
from bot.volumes.changes.targets import throughput_left
from bot.volumes.levels import RATES
from bot.volumes.resources import AnfVolume, Estate, Pool
from bot.volumes.wording import throughput

_WITHOUT = "Without --boost it is filled at its current throughput."


def boosted(standing: VolumeState, anf: Anf) -> tuple[ChangeRequest, ChangePlan]:
    """The best boost of a volume, and its plan.

    With manual QoS it is half of the throughput left in the volume's pool, so that some is left for
    others. With automatic QoS it is the fastest higher level with free capacity in a pool, else the
    lowest of the levels whose pools have to grow least. Raises UserError if there is none.
    """
    estate, volume = standing.estate, standing.found.volume
    source = next((each for each in estate.pools if volume in estate.inside(each)), None)
    if source is None:
        raise ConflictError(
            f"The bot cannot see the pool of volume {volume.place.name} in Azure.", ""
        )
    if source.qos == MANUAL:
        wish = ChangeRequest(ChangeKind.THROUGHPUT, mibps=_more(estate, volume, source))
        return wish, make_plan(standing, wish, anf)
    if standing.named.id or volume.maker:
        raise ConflictError(
            f"Pool {source.name} has automatic QoS, so only a move to another pool would make the"
            " volume faster. A move changes its Azure id, and Trident, which created it, would not"
            " learn the new id.",
            f"{_WITHOUT} Volumes in pools with manual QoS can be boosted.",
        )
    return _higher(standing, source, anf)


def _more(estate: Estate, volume: AnfVolume, pool: Pool) -> float:
    left, own = throughput_left(estate, pool, volume), volume.throughput_mibps or 0
    if left is None:
        raise ConflictError(f"Azure does not report the throughput of pool {pool.name}.", _WITHOUT)
    wanted = float(math.floor(min((own + left) / 2, MOST_MIBPS)))
    if wanted <= own:
        raise LimitError(
            f"Pool {pool.name} has no throughput left for a boost: {throughput(left)} for this"
            f" volume, of {throughput(pool.throughput_mibps)}.",
            f"{_WITHOUT} `/anf pools` shows the throughput of pools.",
        )
    return wanted


def _higher(standing: VolumeState, source: Pool, anf: Anf) -> tuple[ChangeRequest, ChangePlan]:
    rate = RATES.get(source.level, max(RATES.values()))
    found: list[tuple[int, int, ChangeRequest, ChangePlan]] = []
    refusal: UserError | None = None
    for level, higher in RATES.items():
        if higher <= rate:
            continue
        wish = ChangeRequest(ChangeKind.LEVEL, level)
        try:
            plan = make_plan(standing, wish, anf)
        except UserError as error:
            refusal = refusal or error
            continue
        if plan.target.qos != MANUAL:
            growth = plan.growth_bytes
            found.append((growth, higher if growth else -higher, wish, plan))
    if not found:
        raise refusal or ConflictError(
            f"Pool {source.name} is {source.level}, and there is no higher level to boost to.",
            _WITHOUT,
        )
    return min(found, key=lambda each: each[:2])[2:]
