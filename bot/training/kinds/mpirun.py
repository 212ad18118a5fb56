"""The command that starts a program on several nodes at once, for Open MPI."""

import re
from pathlib import PurePosixPath

from bot.training.spec import RunSpec

_OWN_LAUNCHERS = frozenset({"mpirun", "mpiexec", "orterun", "horovodrun"})
_SHELLS = frozenset({"sh", "bash"})
_STARTS_RANKS = re.compile(rf"\b(?:{'|'.join(sorted(_OWN_LAUNCHERS))})\b|\bQUARTERMASTER_HOST")
# Rank by slot, and no core binding: the cores of a container are not the node's.
_MPIRUN = ("mpirun", "--allow-run-as-root", "-bind-to", "none", "-map-by", "slot")
_PASSED_ON = ("LD_LIBRARY_PATH", "PATH")


def slots(spec: RunSpec) -> int:
    """The processes of a node: as asked, else one for each GPU."""
    return spec.processes or max(1, int(spec.gpus))


def launch_command(spec: RunSpec, *more: str) -> tuple[str, ...]:
    """What the launcher runs: the command under mpirun, unless it starts ranks by itself.

    `more` are words for mpirun.
    """
    command = spec.command
    if not command or _starts_ranks(command):
        return command
    names = (*_PASSED_ON, *(e.name for e in spec.env), *(s.name for s in spec.secrets))
    passed_on = (word for name in dict.fromkeys(names) for word in ("-x", name))
    count = str(spec.nodes * slots(spec))
    return (*_MPIRUN, *more, "-np", count, *passed_on, *command)


def _starts_ranks(command: tuple[str, ...]) -> bool:
    """Whether it is a launcher, or a shell that is told to start one or to use the hosts."""
    program = PurePosixPath(command[0]).name
    return program in _OWN_LAUNCHERS or (
        program in _SHELLS and any(_STARTS_RANKS.search(word) for word in command[1:])
    )
