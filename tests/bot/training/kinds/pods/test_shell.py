"""What containers begin with, run by the shell of this machine, with its sshd and its torchrun."""

import os
import shlex
import shutil
import subprocess
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bot.training.kinds.elastic import ElasticKind
from bot.training.kinds.mpi import MpiKind
from bot.training.kinds.nccl import NcclKind
from bot.training.kinds.pods.shell import (
    checked,
    launched_by_operator,
    launching,
    launching_without_ssh,
    meeting,
    plain,
    serving,
    serving_only,
    waiting_to_serve,
    with_own_workers,
)
from bot.training.kinds.pytorchjob import PyTorchJobKind
from bot.training.spec import RunSpec, Security, to_row
from playground.cluster.control.expansion import words_of
from tests.bot.ground import INSTALLATION
from tests.bot.training.objects import run
from tests.bot.training.rig import IMAGE

NAME = "lane-124a67dc90"
SPEC = RunSpec(
    kind="mpi", image=IMAGE, command=("mpirun", "a.out"), gpus=Decimal(1), cpu="8", memory="64Gi"
)
RESTRICTED = Security(restricted=True, user=1000, group=1000, fs_group=1000)
HAS_ROOM = ("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child")
# A machine of its own: what an image with openssh-server has, and nothing that starts sshd.
IMAGE_OF_ITS_OWN = """\
set -eu
mount --make-rprivate /
mount -t proc proc /proc
cp -a /etc "$ROOM/etc"
rm -f "$ROOM"/etc/ssh/ssh_host_*
mkdir "$ROOM/etc/quartermaster"
mount --bind "$ROOM/etc" /etc
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /home
mkdir -m 777 /home/runner
cp "$ROOM"/secret/* /etc/quartermaster
cp -r "$ROOM/text" /run/text
chmod "$MODE" /etc/quartermaster/*
if [ -f /etc/quartermaster/passwd ]; then cp /etc/quartermaster/passwd /etc/passwd; fi
echo "127.0.0.1 localhost $HOSTS" > /etc/hosts
ip link set lo up
"""


def outcome(
    words: Sequence[str], path: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """What comes of a command where programs are only in that folder."""
    known = {"PATH": str(path) if path else os.defpath, **(env or {})}
    return subprocess.run(
        words, env=known, capture_output=True, text=True, timeout=120, check=False
    )


def image_with(folder: Path, *programs: str) -> Path:
    """A folder that has these programs and no other."""
    for each in programs:
        (folder / each).symlink_to(shutil.which(each) or "/bin/true")
    return folder


def without_sshd(words: Sequence[str]) -> list[str]:
    """The same where sshd is nowhere else than in PATH."""
    return [each.replace("/usr/sbin/sshd", "/nowhere/sshd") for each in words]


@pytest.mark.parametrize(
    "command",
    [
        serving(("sleep", "1")),
        launching(("sleep", "1")),
        launched_by_operator(("sleep", "1")),
        waiting_to_serve(),
        serving_only(),
    ],
)
def test_an_image_without_ssh_is_told(command: tuple[str, ...], tmp_path: Path) -> None:
    image_with(tmp_path, "sleep", "sshd")
    found = outcome(command, tmp_path)
    said = "This image has no ssh: install openssh-client in it.\n"
    assert (found.returncode, found.stderr) == (78, said)
    (tmp_path / "sshd").unlink()
    found = outcome(without_sshd(command), tmp_path)
    said = "This image has no sshd: install openssh-server in it.\n"
    assert (found.returncode, found.stderr) == (78, said)


@pytest.mark.parametrize("wrapped", [serving, launching, launched_by_operator])
def test_an_image_without_mpirun_is_told(
    wrapped: Callable[..., tuple[str, ...]], tmp_path: Path
) -> None:
    found = outcome(wrapped(("mpirun", "a.out")), image_with(tmp_path, "sshd", "ssh"))
    said = "This image has no mpirun: install Open MPI in it, for example Debian's openmpi-bin.\n"
    assert (found.returncode, found.stderr) == (78, said)


@pytest.mark.parametrize("program", ["all_reduce_perf", "/opt/nccl/all_reduce_perf"])
def test_an_image_without_the_network_test_is_told(program: str, tmp_path: Path) -> None:
    spec = replace(SPEC, kind="nccl", command=(program, "-g", "1"))
    job = NcclKind().manifest(run(spec=to_row(spec)), INSTALLATION)
    words = words_of(job["spec"]["template"]["spec"]["containers"][0])
    found = outcome(words, image_with(tmp_path, "mpirun"))
    how = "install nccl-tests in it, or set training.network_test.program"
    said = f"This image has no {program}: {how}.\n"
    assert (found.returncode, found.stderr) == (78, said)
    (tmp_path / "mpirun").unlink()
    assert outcome(words, tmp_path).stderr.startswith("This image has no mpirun: install Open MPI")


@pytest.mark.parametrize("wrapped", [meeting, checked])
def test_an_image_without_torchrun_is_told(
    wrapped: Callable[..., tuple[str, ...]], tmp_path: Path
) -> None:
    found = outcome(wrapped(("torchrun", "t.py")), tmp_path)
    said = (
        "This image has no torchrun: install PyTorch in it, for example with pip install torch.\n"
    )
    assert (found.returncode, found.stderr) == (78, said)
    found = outcome(wrapped(("trian", "t.py")), tmp_path)
    said = "This image has no trian: check the command after --, and the image.\n"
    assert (found.returncode, found.stderr) == (78, said)


def test_what_is_there_is_run_as_typed(tmp_path: Path) -> None:
    image_with(tmp_path, "printf")
    typed = ("printf", "%s|", "a b", "$HOME", "*", "")
    assert outcome(checked(typed), tmp_path).stdout == "a b|$HOME|*||"
    assert outcome(checked((str(tmp_path / "printf"), "x"))).stdout == "x"


WORKER = ("printf", "%s|", "it's", "$HOME")


def test_other_nodes_run_a_command_of_their_own(tmp_path: Path) -> None:
    begun = with_own_workers(("printf", "%s|", "first", "$HOME"), WORKER)
    (tmp_path / "hosts").write_text("localhost slots=1\nlocalhost slots=1\n")
    env = {"QUARTERMASTER_HOSTFILE": str(tmp_path / "hosts")}
    assert outcome(begun, env=env | {"JOB_COMPLETION_INDEX": "1"}).stdout == "it's|$HOME|"
    assert outcome(begun, env=env | {"JOB_COMPLETION_INDEX": "0"}).stdout == "first|$HOME|"
    assert outcome(plain(WORKER)).stdout == "it's|$HOME|"


def test_a_launcher_without_ssh_lists_its_nodes(tmp_path: Path) -> None:
    text = 'cat "$QUARTERMASTER_HOSTFILE" "$HYDRA_HOST_FILE"; echo $QUARTERMASTER_HOSTS'
    env = {
        "QUARTERMASTER_DOMAIN": "localhost",
        "QUARTERMASTER_NODES": "1",
        "QUARTERMASTER_SLOTS": "8",
        "QUARTERMASTER_ADDRESS": "127.0.0.1",
        "QUARTERMASTER_HOSTFILE": str(tmp_path / "made" / "hosts"),
        "HYDRA_HOST_FILE": str(tmp_path / "made" / "machines"),
    }
    said = outcome(launching_without_ssh(("sh", "-c", text)), env=env).stdout.splitlines()
    assert said[0] == "127.0.0.1 slots=8"
    assert "127.0.0.1:8" in said
    assert said[-1].startswith("127.0.0.1")


@pytest.mark.parametrize(
    ("env", "conf"),
    [
        ({"JOB_COMPLETION_INDEX": "0"}, "is_host=true"),
        ({"JOB_COMPLETION_INDEX": "10"}, "is_host=false,read_timeout=600"),
        ({"QUARTERMASTER_INDEX": "0"}, "is_host=true"),
        ({"QUARTERMASTER_INDEX": "1"}, "is_host=false,read_timeout=600"),
        (
            {"JOB_COMPLETION_INDEX": "1", "PET_RDZV_CONF": "read_timeout=9"},
            "is_host=false,read_timeout=600,read_timeout=9",
        ),
    ],
)
def test_the_first_pod_is_the_host(env: dict[str, str], conf: str) -> None:
    found = outcome(meeting(("printenv", "PET_RDZV_CONF")), env=env)
    assert found.stdout == f"{conf}\n"


@pytest.mark.parametrize(
    ("more", "is_met"),
    [
        ({}, True),
        ({"command": ("bash", "-c", "torchrun t.py")}, True),
        ({"command": ("torchrun", "--rdzv_endpoint=other:1", "t.py")}, False),
        ({"command": ("bash", "-c", "torchrun --standalone t.py")}, False),
    ],
)
def test_a_meeting_of_ones_own_stays(more: Mapping[str, Any], is_met: bool) -> None:  # noqa: FBT001 - one of two
    spec = replace(SPEC, kind="elastic", command=("python", "t.py"))
    row = run(spec=to_row(replace(spec, **more)))
    job = ElasticKind().manifest(row, INSTALLATION)["spec"]["template"]
    replicas = PyTorchJobKind().manifest(row, INSTALLATION)["spec"]["pytorchReplicaSpecs"]
    for pods in (job, replicas["Worker"]["template"]):
        text = words_of(pods["spec"]["containers"][0])[2]
        assert ("PET_RDZV_CONF" in text) is is_met


@cache
def has_room() -> bool:
    """Whether tests may make themselves a machine of their own here."""
    needed = ("unshare", "ip", "setpriv")
    if not all(map(shutil.which, needed)):
        return False
    probe = (*HAS_ROOM, "sh", "-c", "mount -t tmpfs tmpfs /run && ip link set lo up")
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


def in_a_room(room: Path, script: str, spec: RunSpec, hosts: str) -> str:
    """What a script says that two pods of a run are named for, in a machine of its own."""
    if not has_room():
        pytest.skip("needs root, and namespaces for mounts and network")
    (room / "secret").mkdir()
    for each in MpiKind().dependents(run(spec=to_row(spec))):
        for name, text in each.body()["data"].items():
            (room / "secret" / name).write_bytes(b64decode(text))
    env = {
        "ROOM": str(room),
        "HOSTS": hosts,
        "MODE": "444" if spec.security else "400",
        "HOME": "/root",
        "QUARTERMASTER_HOSTFILE": "/etc/quartermaster/hostfile",
    }
    found = outcome((*HAS_ROOM, "sh", "-c", IMAGE_OF_ITS_OWN + script), env=env)
    assert found.returncode == 0, found.stderr
    return found.stdout


def shell_of(job: Mapping[str, Any], role: str, folder: Path) -> str:
    """How a shell starts what the pods of a role run."""
    pods = job["spec"]["mpiReplicaSpecs"][role]["template"]["spec"]
    words = words_of(pods["containers"][0])
    (folder / role).write_text(words[2])
    return " ".join((words[0], f"/run/text/{role}", *words[4:]))


@pytest.mark.skipif(not Path("/usr/sbin/sshd").exists(), reason="needs openssh-server")
@pytest.mark.parametrize("security", [None, RESTRICTED], ids=["root", "restricted"])
def test_a_plain_image_lets_the_launcher_in(security: Security | None, tmp_path: Path) -> None:
    host = f"{NAME}-worker-0.{NAME}.team-a.svc"
    # Only what is looked for is there: what is called mpirun is ssh, which goes to the same host.
    spec = replace(SPEC, security=security, command=("mpirun", host, "id", "-un"))
    job = MpiKind().manifest(run(spec=to_row(spec)), INSTALLATION)
    (tmp_path / "text").mkdir()
    worker, launcher = (shell_of(job, role, tmp_path / "text") for role in ("Worker", "Launcher"))
    user = "setpriv --reuid 1000 --regid 1000 --clear-groups" if security else "env"
    # Images may have settings of their own, as those of the MPI operator do.
    script = f"""
printf '%s\\n' 'Host *' '  Port 2222' > /etc/ssh/ssh_config
mkdir /run/bin
ln -s /usr/bin/ssh /run/bin/mpirun
PATH=/run/bin:$PATH
{user} {worker} &
{user} timeout 30 {launcher}
"""
    said = in_a_room(tmp_path, script, spec, host)
    assert said == ("runner\n" if security else "root\n")


MET = """\
import os
import shlex
print("rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"], flush=True)
"""


@pytest.mark.skipif(shutil.which("torchrun", path=os.defpath) is None, reason="needs torchrun")
def test_nodes_meet_at_the_first_by_its_name(tmp_path: Path) -> None:
    # The host has another name than the one by which it is reached, as with headless Services.
    spec = replace(SPEC, kind="elastic", nodes=2, nodes_range=(2, 2), gpus=Decimal(0))
    row = run(spec=to_row(replace(spec, command=("bash", "-c", "exec python3 $MET"))))
    job = ElasticKind().manifest(row, INSTALLATION)
    (container,) = job["spec"]["template"]["spec"]["containers"]
    shell, option, text, *words = words_of(container)
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "sh").write_text(text)
    (tmp_path / "text" / "met.py").write_text(MET)
    told = " ".join(f"{each['name']}={each['value']}" for each in container["env"])
    # Debian's PyTorch on Python 3.11 stumbles over the usual ones: it finds no flag that is 0.
    told += " PET_REDIRECTS=1 PET_TEE=1"
    begun = f"env {told} MET=/run/text/met.py {shell} /run/text/sh {shlex.join(words[1:])}"
    script = f"""
JOB_COMPLETION_INDEX=1 {begun} &
JOB_COMPLETION_INDEX=0 {begun}
wait
"""
    assert option == "-c"
    said = in_a_room(tmp_path, script, spec, f"{NAME}-0.hosts-{NAME}")
    assert sorted(said.splitlines()) == ["[default0]:rank 0 of 2", "[default0]:rank 1 of 2"]
