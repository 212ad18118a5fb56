"""What was wrong with GPUs themselves, in words for a digest."""

from sqlmodel import Session

from bot.gpus.digests.figures import Faulty
from bot.gpus.faults import faults_in
from bot.gpus.minutes import Window, moment_of
from bot.gpus.sources.source import FaultKind
from bot.gpus.tables import GpuFault

# What NVIDIA says of those that are met most; the first four are often the program's own doing.
_XIDS = {
    13: "a program's error",
    31: "a program's access to memory that is not its own",
    43: "a program was stopped",
    45: "a program was ended",
    48: "an error in memory that could not be corrected",
    63: "a row of memory is remapped",
    64: "a row of memory could not be remapped",
    74: "an error of NVLink",
    79: "it has fallen off the bus",
    94: "an error in memory, contained",
    95: "an error in memory, not contained",
    119: "its firmware does not answer",
}


def hardware(session: Session, window: Window) -> tuple[Faulty, ...]:
    """What began in a time, and what is still broken."""
    return tuple(
        Faulty(_where(each), _words(each), moment_of(each.first))
        for each in faults_in(session, window)
    )


def _where(fault: GpuFault) -> str:
    return f"GPU {fault.gpu} of {fault.node or fault.cluster}"


def _words(fault: GpuFault) -> str:
    if fault.kind == FaultKind.REMAP_FAILED:
        return "rows of its memory could not be remapped; it should be replaced"
    if fault.kind == FaultKind.REMAPPED:
        return f"{fault.code} {'row' if fault.code == 1 else 'rows'} of its memory remapped"
    meaning = f" ({_XIDS[fault.code]})" if fault.code in _XIDS else ""
    return f"XID {fault.code}{meaning}"
