"""Texts about waits that answers and messages share."""

from decimal import Decimal

from bot.gpus.waits.free import FreeGpus
from bot.gpus.waits.tables import GpuWait
from bot.training.wording import gpus


def amount(wanted: Decimal, gpu_type: str) -> str:
    """`4 GPUs of h100`, or `4 GPUs` of any type."""
    return f"{gpus(wanted)} of {gpu_type}" if gpu_type else gpus(wanted)


def usable(free: FreeGpus) -> str:
    """How many can be used now, and how many of them are borrowed."""
    if free.gpus is None:
        return "how many can be used now is unknown"
    number = f"{free.gpus.normalize():f}"
    borrowed = f", {free.borrowed.normalize():f} of them borrowed" if free.borrowed else ""
    return f"{number} can be used now{borrowed}"


def command_of(row: GpuWait) -> str:
    """The command that asks for the same wait in the team's channel."""
    chosen = f" --type {row.gpu_type}" if row.gpu_type else ""
    return f"gpu wait {row.wanted.normalize():f}{chosen}"


def submission(free: FreeGpus) -> str:
    """The command that starts a run on such GPUs, as far as it is known."""
    chosen = f" --gpu-type {free.gpu_type}" if free.gpu_type else ""
    return f"train submit lane{chosen} ..."
