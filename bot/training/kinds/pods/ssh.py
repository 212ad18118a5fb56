"""How the pods of a run reach each other by ssh: keys of their own, and a server in each."""

import subprocess
from base64 import b64encode
from functools import partial
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

from bot.cluster.resources import SECRETS
from bot.errors import OutsideError
from bot.slack.grammar.container_parameters import EnvironmentVariable
from bot.training.kinds.kind import Dependent, Manifest
from bot.training.kinds.pods.mpirun import slots
from bot.training.kinds.pods.names import host
from bot.training.kinds.pods.security import HOME, NAME, is_housed, is_no_root
from bot.training.kinds.pods.shell import FOLDER
from bot.training.spec import RunSpec, Security, spec_of
from bot.training.tables import Run

PORT = 22122
# On the network of nodes, a port that is named keeps another such pod off the node.
SSH_PORT = {"name": "ssh", "containerPort": PORT}
HOSTFILE = f"{FOLDER}/hostfile"
# The same as MPICH and Intel MPI have it.
_MACHINEFILE = f"{FOLDER}/machinefile"
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
_CLIENT = f"""\
Host NAMES
  Port {PORT}
  IdentityFile {FOLDER}/key
  UserKnownHostsFile {FOLDER}/known_hosts
  StrictHostKeyChecking yes
  ConnectTimeout 5
"""


def secret_name(run: Run) -> str:
    """The Secret with the keys; the MPI operator makes one of its own that ends in -ssh."""
    return f"{run.job_name}-{'ssh-keys' if _is_operated(run) else 'ssh'}"


def keys(run: Run) -> Dependent:
    """The Secret: keys made for this run alone, and the list of its hosts."""
    return Dependent(SECRETS, secret_name(run), partial(_secret, run))


def hosts_told(run: Run) -> tuple[EnvironmentVariable, ...]:
    """The hosts for programs that start ranks by themselves, also as MPICH and Intel MPI look."""
    told = {
        "QUARTERMASTER_HOSTS": ",".join(_hosts(run)),
        "QUARTERMASTER_HOSTFILE": HOSTFILE,
        "HYDRA_HOST_FILE": _MACHINEFILE,
        "I_MPI_HYDRA_HOST_FILE": _MACHINEFILE,
    }
    return tuple(EnvironmentVariable(*each) for each in told.items())


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


def _is_operated(run: Run) -> bool:
    """Whether the MPI operator names its pods."""
    return run.spec.get("kind") == "mpi"


def _hosts(run: Run) -> list[str]:
    """The names of those that take part."""
    numbers = range(spec_of(run).nodes)
    if _is_operated(run):
        domain = f"{run.job_name}.{run.namespace}.svc"
        return [f"{run.job_name}-worker-{index}.{domain}" for index in numbers]
    return [host(run, index) for index in numbers]


def _secret(run: Run) -> Manifest:
    private, public = _key_pair()
    spec = spec_of(run)
    hosts, count = _hosts(run), slots(spec)
    files = {
        "key": private,
        "key.pub": public,
        "known_hosts": f"* {public}",
        "sshd_config": _SERVER,
        "ssh_config": _CLIENT.replace("NAMES", f"{run.job_name}-*"),
        "hostfile": "".join(f"{name} slots={count}\n" for name in hosts),
        "machinefile": "".join(f"{name}:{count}\n" for name in hosts),
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
            "ssh-keygen is missing where Quartermaster runs, so no keys can be created.",
            "A platform admin has to install openssh-client there.",
        )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "key"
        options = ("-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path))
        subprocess.run(  # noqa: S603 - no word of it is anybody else's
            (program, *options), check=True, capture_output=True, timeout=_KEYGEN_SECONDS
        )
        return path.read_text(), path.with_suffix(".pub").read_text()
