"""The shell text that containers of runs begin with: what they need, and how they meet.

Each first says what its image lacks, by name, before anything starts.
"""

import re
import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath

from bot.training.pairs import LONGEST_ROUND, SLOW_PERCENT, Plan

# Where a run's Secret is mounted: keys, settings of ssh, and the list of hosts.
FOLDER = "/etc/quartermaster"
_SHELL = ("/bin/sh", "-c")
# EX_CONFIG of sysexits.h: another pod of the same image would end the same way. What is written to
# the termination log is the container's last word to Kubernetes.
LACKING = 78
_BEGIN = (
    f"""\
set -eu
unfit() {{
  echo "$1" >&2
  if [ -e /dev/termination-log ]; then echo "$1" > /dev/termination-log; fi
  exit {LACKING}
}}
"""
    """\
lacks() {
  unfit "This image has no $1: $2."
}
need() {
  case $1 in
    /*) [ -e "$1" ] || lacks "$1" "$2" ;;
    */*) ;;
    *) command -v "$1" > /dev/null || lacks "$1" "$2" ;;
  esac
}
"""
)
_COREUTILS = "install coreutils in it"
_HOW = {
    "all_reduce_perf": "install nccl-tests in it, or set training.network_test.program",
    "mktemp": _COREUTILS,
    "mpirun": "install Open MPI in it, for example Debian's openmpi-bin",
    "timeout": _COREUTILS,
    "torchrun": "install PyTorch in it, for example with pip install torch",
}
_CHECK = "check the command after --, and the image"
# What every pod begins with that is reached by ssh, or reaches others so.
_READY = """\
sshd=$(command -v sshd || command -v /usr/sbin/sshd) ||
  lacks sshd "install openssh-server in it"
need ssh "install openssh-client in it"
if [ "$(id -u)" = 0 ]; then
  mkdir -p /run/sshd
  ssh_config=/etc/ssh/ssh_config
else
  # ssh looks there, wherever HOME points.
  home=$(getent passwd "$(id -u)" | cut -d : -f 6)
  if [ -z "$home" ] || ! mkdir -p "$home/.ssh"; then
    unfit "This image has no home directory for user $(id -u), which ssh and sshd need."
  fi
  ssh_config=$home/.ssh/config
fi
# Of two settings ssh takes the first, and images have their own.
know() {
  touch "$ssh_config"
  before=$(cat "$ssh_config")
  { cat; echo "Host *"; echo "$before"; } > "$ssh_config"
  chmod go-w "$ssh_config"
}
"""
_KNOW_ALL = f"know < {FOLDER}/ssh_config\n"
_SERVE = f'exec "$sshd" -D -e -f {FOLDER}/sshd_config'
_AWAIT = """\
deadline=$(($(date +%s) + 60 * MINUTES))
while read -r host slots; do
  until ssh -q -n "$host" true; do
    if [ "$(date +%s)" -ge "$deadline" ]; then
      echo "$host does not answer after MINUTES minutes:" >&2
      ssh -n "$host" true
      exit 1
    fi
    sleep 2
  done
done < "$QUARTERMASTER_HOSTFILE"
"""
# By its whole path mpirun finds its like on the other nodes; it warns of what it cannot pass on.
_LAUNCH = """\
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}"
program=$(command -v "$1" || echo "$1")
shift
exec "$program" "$@"
"""
_TAKING_PART = f'"$sshd" -f {FOLDER}/sshd_config\n{_AWAIT}{_LAUNCH}'.replace("MINUTES", "15")
# The workers run when the operator makes it; one that does not answer by then never will.
_FROM_OUTSIDE = f"{_READY}{_KNOW_ALL}{_AWAIT}{_LAUNCH}".replace("MINUTES", "2")
# Pods on the network of nodes have no names of their own: their Service tells their addresses.
_COLLECT = """\
collect() {
  found= deadline=$(($(date +%s) + $1))
  until [ "$(echo $found | wc -w)" -ge "$QUARTERMASTER_NODES" ]; do
    if [ "$(date +%s)" -ge "$deadline" ]; then
      echo "After 15 minutes $(echo $found | wc -w) of $QUARTERMASTER_NODES nodes have joined." >&2
      exit 1
    fi
    sleep 2
    found=$(getent ahosts "$QUARTERMASTER_DOMAIN" | cut -d " " -f 1 | sort -u) || found=
  done
  found=$(echo $found)
}
"""
_KNOW_FOUND = f'sed "s/^Host .*/Host $found/" {FOLDER}/ssh_config | know\n'
# The launcher may get its node long after its workers got theirs.
_YEAR = 31536000
_WORKER = f"""\
{_READY}{_COLLECT}{{
collect {_YEAR}
{_KNOW_FOUND}}} &
{_SERVE}
"""
_LIST = """\
mkdir -p "$(dirname "$QUARTERMASTER_HOSTFILE")"
others=$(echo "$found" | tr " " "\\n" | grep -vxF "$QUARTERMASTER_ADDRESS" || true)
for host in "$QUARTERMASTER_ADDRESS" $others; do
  echo "$host slots=$QUARTERMASTER_SLOTS"
done > "$QUARTERMASTER_HOSTFILE"
sed "s/ slots=/:/" "$QUARTERMASTER_HOSTFILE" > "$HYDRA_HOST_FILE"
QUARTERMASTER_HOSTS=$(cut -d " " -f 1 "$QUARTERMASTER_HOSTFILE" | paste -s -d ,)
export QUARTERMASTER_HOSTS
"""
_FIND = f"{_COLLECT}collect 900\n"
_LAUNCHER = f"{_READY}{_FIND}{_KNOW_FOUND}{_LIST}{_TAKING_PART}"
# The first pod launches once all others answer; those only serve.
_NUMBERED = f"""\
{_READY}{_KNOW_ALL}if [ "$JOB_COMPLETION_INDEX" != 0 ]; then {_SERVE}; fi
{_TAKING_PART}"""
# The same where the other nodes have a server of their own, and the image's keys.
_NAMED = """\
deadline=$(($(date +%s) + 900))
while read -r host slots; do
  until getent hosts "$host" > /dev/null; do
    if [ "$(date +%s)" -ge "$deadline" ]; then
      echo "$host has not joined after 15 minutes." >&2
      exit 1
    fi
    sleep 2
  done
done < "$QUARTERMASTER_HOSTFILE"
"""
# An image may be pulled within the time that torchrun gives the first pod to be there, or not; and
# older ones know themselves neither by the name of a Service nor by its address.
_MEET = """\
if [ "${QUARTERMASTER_INDEX:-${JOB_COMPLETION_INDEX:-}}" = 0 ]; then
  met=is_host=true
else
  met=is_host=false,read_timeout=600
fi
export PET_RDZV_CONF="$met${PET_RDZV_CONF:+,$PET_RDZV_CONF}"
"""
_EXEC = 'exec "$@"\n'
# A number of ranks says as much of itself: only which network was used, or why the test failed.
_RUN = """\
code=0
"$@" || code=$?
"""
_NOTED = """\
said=$(cat /tmp/nccl-debug.* 2> /dev/null || true)
echo "$said" | grep -im1 -E 'NET/OFI Selected provider|NET/(Socket|IB) *: Using' || true
[ "$code" = 0 ] || echo "$said" | tail -50
exit "$code"
"""
_TEST = _RUN + _NOTED
# Speeds are compared in hundredths of GB/s, as the shell has no fractions. Pairs that were slow
# while others were measured are measured alone: they may share links with them.
_PAIRS = """\
code=0
timeout -k 10 1200 "$@" || code=$?
folder=$(mktemp -d)
measure() {
  hosts=$folder/$1-$2.hosts said=$folder/$1-$2.out speed=0
  sed -n "$(($1 + 1))p;$(($2 + 1))p" "$QUARTERMASTER_HOSTFILE" > "$hosts"
  timeout -k 10 SECONDS COMMAND > "$said" 2>&1 < /dev/null || true
  average=$(sed -n "s/.*# Avg bus bandwidth *: *\\([0-9.e+-]*\\).*/\\1/p" "$said")
  if [ -n "$average" ]; then
    speed=$(LC_ALL=C printf "%.2f" "$average")
    echo "Pair $1-$2$3: $speed GB/s"
    speed=$(LC_ALL=C printf "%.0f" "${speed}e2")
  else
    echo "Pair $1-$2$3: failed. $(tail -n 1 "$said")"
  fi
  echo "$speed $1 $2" > "$folder/$1-$2.speed"
}
echo "Pairs: PLANNED in ROUNDS rounds"
round=0
while read -r pairs; do
  for pair in $pairs; do measure "${pair%-*}" "${pair#*-}" "" & done
  wait
  round=$((round + 1))
  echo "Pairs: step $round/ROUNDS"
done << END
PLAN
END
sort -n "$folder"/*.speed > "$folder/speeds"
fastest=$(tail -n 1 "$folder/speeds" | cut -d " " -f 1)
head -n NODES "$folder/speeds" > "$folder/slowest"
while read -r speed one other; do
  [ "$((speed * 100))" -lt "$((fastest * PERCENT))" ] || break
  measure "$one" "$other" " alone"
done < "$folder/slowest"
"""
# Stands for the host file of a pair in the command that measures it.
PAIR_HOSTS = "PAIR-HOSTS"


def serving(command: Sequence[str], needs: Sequence[str] = ()) -> tuple[str, ...]:
    """The command of every pod: the first one runs `command` when it reaches all of them.

    `needs` are the programs that it starts in turn.
    """
    needed = "".join(f'need {shlex.quote(each)} "{_how(each)}"\n' for each in needs)
    return _beginning("sync", needed + _NUMBERED, command)


def launching(command: Sequence[str]) -> tuple[str, ...]:
    """The command of a launcher on the network of nodes: `command`, once it reaches all others."""
    return _beginning("sync", _LAUNCHER, command)


def waiting_to_serve() -> tuple[str, ...]:
    """The command of its workers."""
    return _beginning("sync", _WORKER)


def with_own_workers(command: Sequence[str], worker: Sequence[str]) -> tuple[str, ...]:
    """The command of every pod: the first one runs `command` when all have names, others `worker`.

    Nothing of ssh is set up: `worker` is a server of the image, with its own keys.
    """
    others = f'if [ "$JOB_COMPLETION_INDEX" != 0 ]; then exec {shlex.join(worker)}; fi\n'
    return _beginning("sync", f"{others}{_NAMED}{_LAUNCH}", command)


def launching_without_ssh(command: Sequence[str]) -> tuple[str, ...]:
    """The command of a launcher on the network of nodes: `command`, once all have addresses."""
    return _beginning("sync", f"{_FIND}{_LIST}{_LAUNCH}", command)


def plain(command: Sequence[str]) -> tuple[str, ...]:
    """The command of its workers: their own."""
    return _beginning("sync", _EXEC, command)


def tested(command: Sequence[str]) -> tuple[str, ...]:
    """A test of the network: `command`, and what it noted of that."""
    return (*_SHELL, _TEST, "nccl", *command)


def tested_in_pairs(command: Sequence[str], pair: Sequence[str], plan: Plan) -> tuple[str, ...]:
    """The same, followed by all pairs of its nodes: `pair` measures one, on PAIR_HOSTS."""
    words = {
        "SECONDS": f"{LONGEST_ROUND.seconds}",
        "COMMAND": shlex.join(pair).replace(PAIR_HOSTS, '"$hosts"'),
        "PLANNED": f"{plan.pairs}",
        "ROUNDS": f"{len(plan.rounds)}",
        "NODES": f"{plan.nodes}",
        "PERCENT": f"{SLOW_PERCENT}",
        "PLAN": "\n".join(" ".join(f"{a}-{b}" for a, b in pairs) for pairs in plan.rounds),
    }
    text = re.sub(rf"\b({'|'.join(words)})\b", lambda found: words[found[1]], _PAIRS)
    return (*_SHELL, text + _NOTED, "nccl", *command)


def launched_by_operator(command: Sequence[str]) -> tuple[str, ...]:
    """The command of a launcher that takes no part itself, as any user: `command`."""
    return _beginning("mpi", _FROM_OUTSIDE, command)


def serving_only() -> tuple[str, ...]:
    """The command of its workers."""
    return _beginning("mpi", f"{_READY}{_SERVE}\n")


def meeting(command: Sequence[str]) -> tuple[str, ...]:
    """The command of pods in which torchrun meets at the first one, by their number."""
    return _beginning("elastic", f"{_MEET}{_EXEC}", command)


def checked(command: Sequence[str]) -> tuple[str, ...]:
    """The command of pods of which an operator says where they meet."""
    return _beginning("elastic", _EXEC, command)


def _beginning(name: str, text: str, command: Sequence[str] = ()) -> tuple[str, ...]:
    """A shell that says what is missing, and goes on with the text."""
    if not command:
        return (*_SHELL, _BEGIN + text, name)
    return (*_SHELL, f'{_BEGIN}need "$1" "{_how(command[0])}"\n{text}', name, *command)


def _how(program: str) -> str:
    """What to do where a program is missing."""
    return _HOW.get(PurePosixPath(program).name, _CHECK)
