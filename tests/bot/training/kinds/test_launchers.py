"""Launchers are found as people type them."""

import shlex

import pytest

from bot.training.kinds.launchers import launchers_in, program_at, script_of

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
