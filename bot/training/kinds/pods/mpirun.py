"""The command that starts a program on several nodes at once, for Open MPI."""

import re
from pathlib import PurePosixPath

from bot.errors import UsageError
from bot.training.kinds.pods.launchers import (
    DEEPSPEED,
    MPIRUN,
    NONE,
    TORCHRUN,
    launchers_in,
    program_at,
    script_of,
)
from bot.training.spec import RunSpec

_USES_HOSTS = re.compile(r"\$\{?QUARTERMASTER_HOST(?:S|FILE)\b\}?|\bQUARTERMASTER_HOST")
_ADDRESS = r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}"
_ADDRESSES = re.compile(rf"{_ADDRESS}(?:,{_ADDRESS})+(?![.:\d])")
# Rank by slot, and no core binding: the cores of a container are not the node's.
_MPIRUN = ("mpirun", "--allow-run-as-root", "-bind-to", "none", "-map-by", "slot")
_ELASTIC = "`--kind elastic`, for example `--kind elastic --nodes 2 -- torchrun train.py`"
_HOSTS_OF_DEEPSPEED = ("--hostfile", "-H")
_PASSED_ON = ("LD_LIBRARY_PATH", "PATH")


def slots(spec: RunSpec) -> int:
    """The processes of a node: as asked, else one for each GPU."""
    return spec.processes or max(1, int(spec.gpus))


def launch_command(spec: RunSpec, hostfile: str) -> tuple[str, ...]:
    """What the launcher runs: the command under mpirun, unless it starts ranks by itself."""
    command, own = spec.command, _starts_ranks(spec)
    if not command or own:
        return _with_hosts(command, hostfile) if own == {DEEPSPEED} else command
    names = (*_PASSED_ON, *(e.name for e in spec.env), *(s.name for s in spec.secrets))
    passed_on = (word for name in dict.fromkeys(names) for word in ("-x", name))
    count = str(spec.nodes * slots(spec))
    return (*_MPIRUN, "-hostfile", hostfile, "-np", count, *passed_on, *command)


def refuse_launcher(spec: RunSpec) -> None:
    """UsageError where the command is for torchrun, or has words that only a shell reads."""
    kind = f"`--kind {spec.kind}`"
    if spec.launcher == TORCHRUN:
        raise UsageError(
            f"`--launcher torchrun` does not apply to {kind}, which starts programs with mpirun.",
            f"Leave it out, or use {_ELASTIC}.",
        )
    if not spec.launcher and launchers_in(spec.command) == {TORCHRUN} and not _starts_ranks(spec):
        raise UsageError(
            f"torchrun starts the processes of a node itself, and {kind} would start it once for"
            " each of them.",
            f"Use {_ELASTIC}. Or choose one: `--launcher mpirun --processes 1` starts it"
            " once on each node, `--launcher none` once in all.",
        )
    _refuse_addresses(spec)
    found = next(filter(None, map(_USES_HOSTS.search, spec.command)), None)
    if found is not None and not _text_of(spec.command):
        raise UsageError(
            f"`{found[0]}` is expanded only by a shell, and this command starts none.",
            "Run it in a shell: `-- sh -c 'python run.py --nodes=$QUARTERMASTER_HOSTS'`.",
        )


def _refuse_addresses(spec: RunSpec) -> None:
    """UsageError where the command has the addresses of as many nodes as the run will get."""
    told = next(filter(None, map(_ADDRESSES.search, spec.command)), None)
    if told is None or told[0].count(",") + 1 != spec.nodes:
        return
    text = _text_of(spec.command) or " ".join(spec.command)
    text = f"python run.py --nodes={told[0]}" if "'" in text else text
    raise UsageError(
        f"`{told[0]}` are the addresses of {spec.nodes} nodes, but a run gets its nodes when it"
        " starts.",
        f"Write `-- sh -c '{text.replace(told[0], '$QUARTERMASTER_HOSTS')}'`. If they are other"
        " servers, pass them in a variable: `--env SERVERS=...`.",
    )


def _starts_ranks(spec: RunSpec) -> frozenset[str]:
    """By what the command starts ranks on all nodes itself; empty where mpirun does it for it."""
    if spec.launcher:
        return frozenset({NONE}) if spec.launcher == NONE else frozenset()
    is_told = _USES_HOSTS.search(_text_of(spec.command)) is not None
    return frozenset({NONE}) if is_told else launchers_in(spec.command) & {MPIRUN, DEEPSPEED}


def _text_of(command: tuple[str, ...]) -> str:
    """What a shell is told, where the command is one."""
    return script_of(command[program_at(command) :])


def _with_hosts(command: tuple[str, ...], hostfile: str) -> tuple[str, ...]:
    """DeepSpeed with the list of hosts, without which it stays on its own node."""
    at = program_at(command) + 1
    is_plain = PurePosixPath(command[at - 1]).name == DEEPSPEED
    if not is_plain or any(word.startswith(_HOSTS_OF_DEEPSPEED) for word in command[at:]):
        return command
    return (*command[:at], _HOSTS_OF_DEEPSPEED[0], hostfile, *command[at:])
