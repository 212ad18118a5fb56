"""How the pods of a run reach each other by ssh: keys of their own, and a server in each."""

import subprocess
from base64 import b64encode
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

from bot.cluster.resources import SECRETS
from bot.errors import OutsideError
from bot.training.kinds.indexed import host
from bot.training.kinds.kind import Companion, Manifest
from bot.training.kinds.mpirun import slots
from bot.training.kinds.security import HOME, NAME, is_housed, is_no_root
from bot.training.spec import RunSpec, Security, spec_of
from bot.training.tables import Run

PORT = 22122
# On the network of nodes, a port that is named keeps another such pod off the node.
SSH_PORT = {"name": "ssh", "containerPort": PORT}
FOLDER = "/etc/quartermaster"
HOSTFILE = f"{FOLDER}/hostfile"
_KEYGEN = "ssh-keygen"
_KEYGEN_SECONDS = 10
_OWNER_READS = 0o400
# Root owns what a Secret brings, and ssh minds who else may read only what is its user's own.
_ALL_READ = 0o444
_USERS = "passwd"
# All pods have one key, which is the servers' too: so each can tell that it speaks to another.
_SERVER = f"""\
Port {PORT}
HostKey {FOLDER}/key
AuthorizedKeysFile {FOLDER}/key.pub
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
PidFile none
"""
_CLIENT = f"""
Host NAMES
  Port {PORT}
  IdentityFile {FOLDER}/key
  UserKnownHostsFile {FOLDER}/known_hosts
  StrictHostKeyChecking yes
  ConnectTimeout 5
"""
# What every pod begins with.
_READY = """\
set -eu
sshd=$(command -v sshd || echo /usr/sbin/sshd)
if [ ! -x "$sshd" ] || ! command -v ssh > /dev/null; then
  echo "This image lacks ssh or sshd, by which the nodes of a run start each other's processes." >&2
  exit 127
fi
if [ "$(id -u)" = 0 ]; then
  mkdir -p /run/sshd
  ssh_config=/etc/ssh/ssh_config
else
  # ssh looks there, wherever HOME points.
  home=$(getent passwd "$(id -u)" | cut -d : -f 6)
  if [ -z "$home" ] || ! mkdir -p "$home/.ssh"; then
    echo "This image has no home for the user $(id -u), whom ssh and sshd have to know." >&2
    exit 1
  fi
  ssh_config=$home/.ssh/config
  touch "$ssh_config"
  chmod 600 "$ssh_config"
fi
"""
_KNOW_ALL = f'cat {FOLDER}/ssh_config >> "$ssh_config"\n'
_SERVE = f'exec "$sshd" -D -e -f {FOLDER}/sshd_config'
_LAUNCH = f"""\
"$sshd" -f {FOLDER}/sshd_config
deadline=$(($(date +%s) + 900))
while read -r host slots; do
  until ssh -q -n "$host" true; do
    if [ "$(date +%s)" -ge "$deadline" ]; then
      echo "$host does not answer after 15 minutes:" >&2
      ssh -n "$host" true
      exit 1
    fi
    sleep 2
  done
done < "$QUARTERMASTER_HOSTFILE"
program=$(command -v "$1" || echo "$1")
shift
exec "$program" "$@"
"""
# What an operator has launched or serving, where the operator's own way takes root.
_MPI_LAUNCHER = f'{_READY}{_KNOW_ALL}exec "$@"\n'
_MPI_WORKER = f"{_READY}{_SERVE}\n"
# The first pod launches once all others answer; those only serve.
_SCRIPT = f"""\
{_READY}{_KNOW_ALL}if [ "$JOB_COMPLETION_INDEX" != 0 ]; then {_SERVE}; fi
{_LAUNCH}"""
# Pods on the network of nodes have no names of their own: their Service tells their addresses.
_COLLECT = """\
collect() {
  found= deadline=$(($(date +%s) + $1))
  until [ "$(echo $found | wc -w)" -ge "$QUARTERMASTER_NODES" ]; do
    if [ "$(date +%s)" -ge "$deadline" ]; then
      echo "After 15 minutes $(echo $found | wc -w) of $QUARTERMASTER_NODES nodes are there." >&2
      exit 1
    fi
    sleep 2
    found=$(getent ahosts "$QUARTERMASTER_DOMAIN" | cut -d " " -f 1 | sort -u) || found=
  done
  found=$(echo $found)
  sed "s/^Host .*/Host $found/" FOLDER/ssh_config >> "$ssh_config"
}
""".replace("FOLDER", FOLDER)
# The launcher may get its node long after its workers got theirs.
_YEAR = 31536000
_WORKER = f"""\
{_READY}{_COLLECT}collect {_YEAR} &
{_SERVE}
"""
_LAUNCHER = f"""\
{_READY}{_COLLECT}collect 900
mkdir -p "$(dirname "$QUARTERMASTER_HOSTFILE")"
others=$(echo "$found" | tr " " "\\n" | grep -vxF "$QUARTERMASTER_ADDRESS" || true)
for host in "$QUARTERMASTER_ADDRESS" $others; do
  echo "$host slots=$QUARTERMASTER_SLOTS"
done > "$QUARTERMASTER_HOSTFILE"
QUARTERMASTER_HOSTS=$(cut -d " " -f 1 "$QUARTERMASTER_HOSTFILE" | paste -s -d ,)
export QUARTERMASTER_HOSTS
{_LAUNCH}"""


def serving(command: Sequence[str]) -> tuple[str, ...]:
    """The command of every pod: the first one runs `command` when it reaches all of them."""
    return ("/bin/sh", "-c", _SCRIPT, "sync", *command)


def launching(command: Sequence[str]) -> tuple[str, ...]:
    """The command of a launcher on the network of nodes: `command`, once it reaches all others."""
    return ("/bin/sh", "-c", _LAUNCHER, "sync", *command)


def waiting_to_serve() -> tuple[str, ...]:
    """The command of its workers."""
    return ("/bin/sh", "-c", _WORKER, "sync")


def launched_by_operator(command: Sequence[str]) -> tuple[str, ...]:
    """The command of a launcher that starts when its workers are there, as any user."""
    return ("/bin/sh", "-c", _MPI_LAUNCHER, "mpi", *command)


def serving_only() -> tuple[str, ...]:
    """The command of its workers."""
    return ("/bin/sh", "-c", _MPI_WORKER, "mpi")


def secret_name(run: Run) -> str:
    """The Secret with the keys; the MPI operator makes one of its own that ends in -ssh."""
    return f"{run.job_name}-{'ssh-keys' if run.spec.get('kind') == 'mpi' else 'ssh'}"


def keys(run: Run) -> Companion:
    """The Secret: keys made for this run alone, and the list of its hosts."""
    return Companion(SECRETS, secret_name(run), partial(_secret, run))


def add_keys(run: Run, pod: Manifest) -> None:
    """Lets the first container of a pod read them."""
    spec = spec_of(run)
    mode = _ALL_READ if is_no_root(spec) else _OWNER_READS
    source = {"secretName": secret_name(run), "defaultMode": mode}
    pod["volumes"].append({"name": "ssh", "secret": source})
    mounts = pod["containers"][0]["volumeMounts"]
    mounts.append({"name": "ssh", "mountPath": FOLDER, "readOnly": True})
    if is_housed(spec):
        users = {"mountPath": "/etc/passwd", "subPath": _USERS}
        mounts.append({"name": "ssh", "readOnly": True} | users)


def _secret(run: Run) -> Manifest:
    private, public = _key_pair()
    spec = spec_of(run)
    hosts = [host(run, index) for index in range(spec.nodes)]
    files = {
        "key": private,
        "key.pub": public,
        "known_hosts": f"* {public}",
        "sshd_config": _SERVER,
        "ssh_config": _CLIENT.replace("NAMES", f"{run.job_name}-*"),
        "hostfile": "".join(f"{name} slots={slots(spec)}\n" for name in hosts),
    }
    if is_housed(spec):
        files[_USERS] = _users(spec)
    data = {name: b64encode(text.encode()).decode() for name, text in files.items()}
    return {"type": "Opaque", "immutable": True, "data": data}


def _users(spec: RunSpec) -> str:
    """Whom the pods know: ssh and sshd refuse a user without a name."""
    security = spec.security or Security()
    ids = f"{security.user}:{security.group or 0}"
    return f"root:x:0:0:root:/root:/bin/sh\n{NAME}:x:{ids}::{HOME}:/bin/sh\n"


def _key_pair() -> tuple[str, str]:
    """A new private key and its public one, as OpenSSH writes them."""
    program = which(_KEYGEN)
    if program is None:
        raise OutsideError(
            "ssh-keygen is missing where Quartermaster runs, so no keys could be made.",
            "A platform admin has to install openssh-client there.",
        )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "key"
        options = ("-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path))
        subprocess.run(  # noqa: S603 - no word of it is anybody else's
            (program, *options), check=True, capture_output=True, timeout=_KEYGEN_SECONDS
        )
        return path.read_text(), path.with_suffix(".pub").read_text()
