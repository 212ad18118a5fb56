"""Launchers are found as people type them."""

import shlex
from decimal import Decimal

import pytest
from msgspec.structs import replace

from bot.cluster.view import View
from bot.config import ClusterSettings, Team
from bot.errors import UsageError
from bot.training.kinds import KINDS, elastic
from bot.training.kinds.kind import Site
from bot.training.kinds.pods import mpirun
from bot.training.kinds.pods.launchers import launchers_in, program_at, runnable, script_of
from bot.training.spec import RunSpec
from tests.bot.training.rig import IMAGE

FOUND = [
    ("torchrun train.py", "torchrun"),
    ("/opt/conda/bin/torchrun --nproc_per_node 2 train.py", "torchrun"),
    ("python -m torch.distributed.run train.py", "torchrun"),
    ("python3 -u -m torch.distributed.launch train.py", "torchrun"),
    ("python -X dev /opt/conda/bin/torchrun train.py", "torchrun"),
    ("accelerate launch --num_processes 8 train.py", "torchrun"),
    ("python -m accelerate.commands.launch train.py", "torchrun"),
    ("deepspeed --num_gpus 8 train.py", "deepspeed"),
    ("mpirun -np 2 a.out", "mpirun"),
    ("/usr/bin/mpiexec a.out", "mpirun"),
    ("mpiexec.hydra -n 2 a.out", "mpirun"),
    ("horovodrun -np 2 python train.py", "mpirun"),
    ("mpirun -np 2 torchrun train.py", "mpirun"),
    ("env A=1 torchrun train.py", "torchrun"),
    ("env -u A -i B=2 torchrun train.py", "torchrun"),
    ("A=1 B=2 torchrun train.py", "torchrun"),
    ("time -p torchrun train.py", "torchrun"),
    ("exec mpirun a.out", "mpirun"),
    ("nice -n 5 mpirun a.out", "mpirun"),
    ("timeout -k 5 2h mpirun a.out", "mpirun"),
    ("uv run torchrun train.py", "torchrun"),
    ("uv run --with torch --extra gpu -- torchrun train.py", "torchrun"),
    ("uv run -m torch.distributed.run train.py", "torchrun"),
    ("conda run --no-capture-output -n lane torchrun train.py", "torchrun"),
    ("poetry run accelerate launch train.py", "torchrun"),
    ("env A=1 uv run time mpirun a.out", "mpirun"),
    ("bash -c 'cd /netapp && mpirun -np 2 a.out'", "mpirun"),
    ("sh -lc 'exec torchrun train.py'", "torchrun"),
    ("bash -euo pipefail -c 'pip install x; torchrun train.py'", "torchrun"),
    ("bash -euxo pipefail -lc 'torchrun train.py'", "torchrun"),
    ("env A=1 bash -c 'A=2 uv run torchrun train.py'", "torchrun"),
    ("bash -c 'if true; then torchrun train.py; fi'", "torchrun"),
    ("bash -c 'pip install x &&\\\n  torchrun train.py'", "torchrun"),
    ("bash -c 'pip install x\ntorchrun train.py'", "torchrun"),
    ("bash -c '(torchrun train.py) 2>&1 | tee log'", "torchrun"),
    ("bash -c '$(which torchrun) train.py'", "torchrun"),
    ("bash -c 'python `which torchrun` train.py'", "torchrun"),
    ("bash -c '\"$MPI_HOME\"/bin/mpirun a.out'", "mpirun"),
    ("bash -c \"bash -c 'torchrun train.py'\"", "torchrun"),
    ("bash -c 'echo \"it; torchrun train.py'", "torchrun"),
]
NOT_FOUND = [
    "",
    "python train.py",
    "python -c 'import torch'",
    "python train.py torchrun",
    "train mpirun",
    "accelerate config",
    "uv pip install torchrun",
    "uv run train.py",
    "bash run.sh",
    "bash -c 'which torchrun && python train.py'",
    "bash -c 'echo torchrun; python train.py'",
    "bash -c '# torchrun train.py\npython train.py'",
    "bash -c 'grep mpirun log | head'",
    "env",
    "bash -c",
    "timeout",
    "conda run -n",
]


@pytest.mark.parametrize(("command", "family"), FOUND)
def test_a_launcher_is_found_behind_anything(command: str, family: str) -> None:
    words = shlex.split(command) if "it;" not in command else ["bash", "-c", command[9:-1]]
    assert launchers_in(words) == {family}


@pytest.mark.parametrize("command", NOT_FOUND)
def test_other_commands_start_no_launcher(command: str) -> None:
    assert launchers_in(shlex.split(command)) == frozenset()


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("env A=1 python train.py", "python train.py"),
        ("uv run --extra gpu train.py", "train.py"),
        ("uv run -m acme.train", "-m acme.train"),
        ("conda run -n lane python train.py", "python train.py"),
        ("timeout 2h python train.py", "python train.py"),
        ("python env", "python env"),
    ],
)
def test_the_program_stands_behind_its_wrappers(command: str, program: str) -> None:
    words = command.split()
    assert words[program_at(words) :] == program.split()


def test_the_text_of_a_shell_is_known() -> None:
    assert script_of(("bash", "-euo", "pipefail", "-c", "a b", "c")) == "a b"
    assert script_of(("bash", "run.sh", "-c")) == ""


SPEC = RunSpec(
    kind="sync", nodes=2, image=IMAGE, command=("python", "t.py"), gpus=Decimal(2), cpu="8",
    memory="64Gi",
)  # fmt: skip
SITE = Site(
    Team.model_validate({"namespace": "team-a", "queue": "team-a", "channels": ["C0TEAMA"]}),
    View(()),
    ClusterSettings(),
    "team-a",
)
ELASTIC = "`--kind elastic`, for example `--kind elastic --nodes 2 -- torchrun train.py`"
SYNC = "`--kind sync`, for example `--kind sync --nodes 2 -- mpirun python train.py`"
FOR_MPIRUN = [("sync", ""), ("mpi", "")]
FOR_TORCHRUN = [("elastic", ""), ("elastic", "pytorchjob"), ("elastic", "trainjob")]


def refused(kind: str, form: str, command: str, launcher: str = "") -> tuple[str, str]:
    """The words and the hint with which a kind refuses a command; empty where it takes it."""
    words = tuple(shlex.split(command))
    spec = replace(SPEC, kind=kind, form=form, launcher=launcher, command=words)
    try:
        KINDS[kind, form].refuse(spec, SITE)
    except UsageError as error:
        return error.message, error.hint
    return "", ""


@pytest.mark.parametrize(("kind", "form"), FOR_MPIRUN)
def test_torchrun_is_refused_where_mpirun_starts(kind: str, form: str) -> None:
    assert refused(kind, form, "python t.py", "torchrun") == (
        (
            f"`--launcher torchrun` does not apply to `--kind {kind}`, which starts programs with"
            " mpirun."
        ),
        f"Leave it out, or use {ELASTIC}.",
    )
    assert refused(kind, form, "bash -c 'cd /app; torchrun t.py'") == (
        (
            f"torchrun starts the processes of a node itself, and `--kind {kind}` would start it"
            " once for each of them."
        ),
        (
            f"Use {ELASTIC}. Or choose one: `--launcher mpirun --processes 1` starts it"
            " once on each node, `--launcher none` once in all."
        ),
    )
    assert refused(kind, form, "torchrun t.py", "mpirun") == ("", "")
    assert refused(kind, form, "torchrun t.py", "none") == ("", "")
    assert refused(kind, form, "mpirun torchrun t.py") == ("", "")
    assert refused(kind, form, "sh -c 'torchrun --nnodes $QUARTERMASTER_HOSTS t.py'") == ("", "")


@pytest.mark.parametrize(("kind", "form"), FOR_TORCHRUN)
def test_mpirun_is_refused_where_torchrun_starts(kind: str, form: str) -> None:
    assert refused(kind, form, "python t.py", "mpirun") == (
        "`--launcher mpirun` does not apply to `--kind elastic`, which uses torchrun.",
        f"Leave it out, or use {SYNC}.",
    )
    assert refused(kind, form, "bash -c 'deepspeed t.py'") == (
        "deepspeed reaches other nodes by ssh, which `--kind elastic` does not set up.",
        f"Use {SYNC}. Or let every node run the command itself: `--launcher none`.",
    )
    assert refused(kind, form, "mpirun t.py", "none") == ("", "")


@pytest.mark.parametrize(("kind", "form"), FOR_MPIRUN)
def test_hosts_outside_of_a_shell_are_refused(kind: str, form: str) -> None:
    said = (
        "`$QUARTERMASTER_HOSTS` is expanded only by a shell, and this command starts none.",
        "Run it in a shell: `-- sh -c 'python run.py --nodes=$QUARTERMASTER_HOSTS'`.",
    )
    assert refused(kind, form, "python run.py '--nodes=$QUARTERMASTER_HOSTS'") == said
    assert refused(kind, form, "sh -c 'python run.py --nodes=$QUARTERMASTER_HOSTS'") == ("", "")


@pytest.mark.parametrize(("kind", "form"), FOR_MPIRUN)
def test_addresses_of_nodes_are_refused(kind: str, form: str) -> None:
    told = "10.61.218.152,10.61.218.154"
    said = (
        f"`{told}` are the addresses of 2 nodes, but a run gets its nodes when it starts.",
        (
            "Write `-- sh -c 'python run.py --port=22122 --nodes=$QUARTERMASTER_HOSTS'`. If they"
            " are other servers, pass them in a variable: `--env SERVERS=...`."
        ),
    )
    plain = f"python run.py --port=22122 --nodes={told}"
    assert refused(kind, form, plain) == said
    assert refused(kind, form, f"sh -c '{plain}'") == said
    assert refused(kind, form, f"{plain},10.61.218.156") == ("", "")
    assert refused(kind, form, "mpirun -H 10.61.218.152:1,10.61.218.154:1 a.out") == ("", "")


@pytest.mark.parametrize(
    ("launcher", "command", "begins"),
    [
        ("none", "python run.py --num_devices=16", "python"),
        ("none", "mpirun a.out", "mpirun"),
        ("mpirun", "bash -c 'mpirun --version; python t.py'", "mpirun --allow-run-as-root"),
        ("mpirun", "torchrun t.py", "mpirun --allow-run-as-root"),
        ("", "sh -c 'python run.py --nodes=$QUARTERMASTER_HOSTS'", "sh -c"),
        ("", "torchrun t.py", "mpirun --allow-run-as-root"),
    ],
)
def test_people_say_what_mpirun_starts(launcher: str, command: str, begins: str) -> None:
    spec = replace(SPEC, launcher=launcher, command=tuple(shlex.split(command)))
    assert " ".join(mpirun.launch_command(spec, "/hosts")).startswith(begins)


@pytest.mark.parametrize(
    ("launcher", "command", "begins"),
    [
        ("none", "python t.py", "python"),
        ("none", "bash run.sh", "bash"),
        ("torchrun", "bash -c 'torchrun --help; python t.py'", "torchrun --no_python bash"),
        ("", "bash -c 'torchrun t.py'", "bash"),
    ],
)
def test_people_say_what_torchrun_starts(launcher: str, command: str, begins: str) -> None:
    spec = replace(SPEC, launcher=launcher, command=tuple(shlex.split(command)))
    assert " ".join(elastic.launch_command(spec)).startswith(begins)


@pytest.mark.parametrize(
    ("typed", "run"),
    [
        ("A=1 B=2 python t.py", "env A=1 B=2 python t.py"),
        ("exec python t.py", "python t.py"),
        ("exec A=1 python t.py", "env A=1 python t.py"),
        ("env A=1 python t.py", "env A=1 python t.py"),
        ("python t.py A=1", "python t.py A=1"),
        ("", ""),
    ],
)
def test_words_of_a_shell_are_no_program(typed: str, run: str) -> None:
    assert runnable(typed.split()) == tuple(run.split())
