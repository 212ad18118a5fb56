"""Throughput and prices of the service levels of Azure NetApp Files, for estimates."""

from bot.config import Anf
from bot.volumes.resources import Pool
from bot.volumes.wording import GIB

# MiB/s for each TiB of a volume; the throughput of Flexible pools is set manually.
RATES = {"Standard": 16, "Premium": 64, "Ultra": 128}
_GIB_OF_A_TIB = 1000  # as Azure itself counts: 262.144 MiB/s for 4 TiB of Premium


def estimated_throughput(level: str, size_bytes: int) -> float | None:
    """MiB/s of a size on a level with automatic QoS, as Azure counts it; None for Flexible."""
    rate = RATES.get(level)
    return None if rate is None else rate * (size_bytes / GIB) / _GIB_OF_A_TIB


def monthly_price(anf: Anf, level: str, size_bytes: int) -> float | None:
    """What so much of a pool costs a month; None where the configuration has no price for it."""
    price = next((each for name, each in anf.price_per_gib_month.items() if name == level), None)
    return None if price is None else price * size_bytes / GIB


def pool_price(anf: Anf, pool: Pool) -> float | None:
    """What a pool costs a month: Azure bills all of it, however little is in it."""
    return monthly_price(anf, pool.level, pool.size_bytes)
