"""Faults of GPUs, in words for a digest."""

from sqlmodel import Session

from bot.gpus.digests.figures import Faulty
from bot.gpus.minutes import Window, moment_of
from bot.gpus.samples.faults import faults_in
from bot.gpus.sources.source import FaultKind
from bot.gpus.tables import GpuFault

# The most common XIDs, as NVIDIA describes them; the application often causes the first four.
_XIDS = {
    13: "application error",
    31: "invalid memory access by an application",
    43: "an application was stopped",
    45: "an application was terminated",
    48: "uncorrectable memory error",
    63: "a memory row is remapped",
    64: "a memory row could not be remapped",
    74: "NVLink error",
    79: "the GPU has fallen off the bus",
    94: "contained memory error",
    95: "uncontained memory error",
    119: "the GPU firmware does not respond",
}


def hardware(session: Session, window: Window) -> tuple[Faulty, ...]:
    """The faults that began in a time, and those that still last."""
    return tuple(
        Faulty(_where(each), _words(each), moment_of(each.first))
        for each in faults_in(session, window)
    )


def _where(fault: GpuFault) -> str:
    return f"GPU {fault.gpu} of {fault.node or fault.cluster}"


def _words(fault: GpuFault) -> str:
    if fault.kind == FaultKind.REMAP_FAILED:
        return "memory rows could not be remapped; replace the GPU"
    if fault.kind == FaultKind.REMAPPED:
        return f"{fault.code} memory {'row' if fault.code == 1 else 'rows'} remapped"
    meaning = f" ({_XIDS[fault.code]})" if fault.code in _XIDS else ""
    return f"XID {fault.code}{meaning}"
