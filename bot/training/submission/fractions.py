"""Translates an amount of GPUs into the resources of the cluster's way of sharing GPUs."""

from collections.abc import Mapping
from decimal import ROUND_DOWN, ROUND_UP, Decimal

from bot.config import Fractions
from bot.errors import ConflictError, UsageError

HAMI_MEMORY, HAMI_CORES = "nvidia.com/gpumem", "nvidia.com/gpucores"
_ONE, _PERCENT = Decimal(1), Decimal(100)


def gpu_requests(gpus: Decimal, gpu_resource: str, fractions: Fractions | None) -> dict[str, str]:
    """The resource requests of one pod for an amount of GPUs.

    Raises:
        UsageError: when the cluster has no such fraction of a GPU.
    """
    if not gpus:
        return {}
    if fractions is None:
        if gpus != gpus.to_integral_value():
            _refuse_mixed(gpus)
        return {gpu_resource: shown(gpus)}
    if fractions.units is not None:
        return {fractions.units.resource: _units(gpus, fractions.units.per_gpu)}
    if gpus == gpus.to_integral_value():
        return {gpu_resource: str(int(gpus))}
    _refuse_mixed(gpus)
    if fractions.hami is not None:
        memory = (gpus * fractions.hami.memory_mib).to_integral_value(ROUND_DOWN)
        return {
            gpu_resource: "1",
            HAMI_MEMORY: str(int(memory)),
            HAMI_CORES: str(int(gpus * _PERCENT)),
        }
    return {_sized(gpus, fractions.sizes): "1"}


def refuse_unavailable(
    requests: Mapping[str, str], offered: Mapping[str, Decimal], fractions: Fractions
) -> None:
    """ConflictError when no node offers a resource that a fraction of a GPU needs.

    `offered` is the most that one node offers of each resource; empty while none was read.
    """
    missing = next((name for name in requests if not offered.get(name)), None)
    if missing is None or not offered:
        return
    has_sizes = any(offered.get(resource) for resource in fractions.sizes.values())
    parts = f" {_parts(fractions.sizes, offered)}" if has_sizes else ""
    raise ConflictError(
        f"No node offers {missing}, so this run would never start.",
        f"Use a whole GPU: `--gpus 1`.{parts} Or ask a platform admin to offer it on a node.",
    )


def shown(gpus: Decimal) -> str:
    """GPUs as people write them: 2, 0.5."""
    return f"{gpus.normalize():f}"


def _units(gpus: Decimal, per_gpu: int) -> str:
    units = gpus * per_gpu
    if units == units.to_integral_value():
        return str(int(units))
    below = units.to_integral_value(ROUND_DOWN) / per_gpu
    above = units.to_integral_value(ROUND_UP) / per_gpu
    nearest = " or ".join(f"`--gpus {shown(each)}`" for each in (below, above) if each)
    raise UsageError(
        f"GPU amounts are multiples of {shown(_ONE / per_gpu)} here; {shown(gpus)} is not one.",
        f"Use {nearest}.",
    )


def _refuse_mixed(gpus: Decimal) -> None:
    whole = int(gpus)
    if whole:
        raise UsageError(
            f"A run can have whole GPUs or a fraction of one, not {shown(gpus)}.",
            f"Use `--gpus {whole}` or `--gpus {whole + 1}`.",
        )


def _sized(gpus: Decimal, sizes: Mapping[str, str]) -> str:
    found = next((resource for size, resource in sizes.items() if Decimal(size) == gpus), None)
    if found is not None:
        return found
    if sizes:
        raise UsageError(
            f"This cluster does not offer {shown(gpus)} of a GPU.",
            f"{_parts(sizes)} Or use a whole GPU: `--gpus 1`.",
        )
    raise UsageError(
        f"This cluster allocates whole GPUs only, not {shown(gpus)}.",
        "Use `--gpus 1`. A platform admin can allow fractions with `fractions` of the cluster in"
        " quartermaster.yaml: MIG, shared GPUs, HAMi, or a resource that counts tenths.",
    )


def _parts(sizes: Mapping[str, str], offered: Mapping[str, Decimal] | None = None) -> str:
    there = [size for size, resource in sizes.items() if offered is None or offered.get(resource)]
    return f"Fractions are: {', '.join(f'`--gpus {size}`' for size in sorted(there, key=Decimal))}."
