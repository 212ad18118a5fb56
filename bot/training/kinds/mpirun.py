"""The command that starts a program on several nodes at once, for Open MPI."""

import re
from pathlib import PurePosixPath

from bot.training.kinds.launchers import (
    DEEPSPEED,
    MPIRUN,
    launchers_in,
    program_at,
    script_of,
)
from bot.training.spec import RunSpec

_USES_HOSTS = re.compile(r"\bQUARTERMASTER_HOST")
# Rank by slot, and no core binding: the cores of a container are not the node's.
_MPIRUN = ("mpirun", "--allow-run-as-root", "-bind-to", "none", "-map-by", "slot")
_HOSTS_OF_DEEPSPEED = ("--hostfile", "-H")
_PASSED_ON = ("LD_LIBRARY_PATH", "PATH")


def slots(spec: RunSpec) -> int:
    """The processes of a node: as asked, else one for each GPU."""
    return spec.processes or max(1, int(spec.gpus))


def launch_command(spec: RunSpec, hostfile: str) -> tuple[str, ...]:
    """What the launcher runs: the command under mpirun, unless it starts ranks by itself."""
    command = spec.command
    if not command or _uses_hosts(command):
        return command
    own = launchers_in(command) & {MPIRUN, DEEPSPEED}
    if own:
        return _with_hosts(command, hostfile) if own == {DEEPSPEED} else command
    names = (*_PASSED_ON, *(e.name for e in spec.env), *(s.name for s in spec.secrets))
    passed_on = (word for name in dict.fromkeys(names) for word in ("-x", name))
    count = str(spec.nodes * slots(spec))
    return (*_MPIRUN, "-hostfile", hostfile, "-np", count, *passed_on, *command)


def _uses_hosts(command: tuple[str, ...]) -> bool:
    """Whether it is a shell that is told to use the hosts."""
    text = script_of(command[program_at(command) :])
    return _USES_HOSTS.search(text) is not None


def _with_hosts(command: tuple[str, ...], hostfile: str) -> tuple[str, ...]:
    """DeepSpeed with the list of hosts, without which it stays on its own node."""
    at = program_at(command) + 1
    is_plain = PurePosixPath(command[at - 1]).name == DEEPSPEED
    if not is_plain or any(word.startswith(_HOSTS_OF_DEEPSPEED) for word in command[at:]):
        return command
    return (*command[:at], _HOSTS_OF_DEEPSPEED[0], hostfile, *command[at:])
